//! What a server keeps to with each connection.

use caddy_config as model;

use crate::http::frames::FrameLimits;
use crate::http::server::HttpSettings;
use crate::http::sweep::ConnLimits;

/// The smallest limit of a request head, in bytes.
pub(super) const MIN_HEAD: u32 = 8 * 1024;

/// The protocols on offer at one address of a server; empty for the default.
pub(super) fn protocols_at(server: &model::Server, index: usize) -> &[model::Protocol] {
    let own = server.listen_protocols.get(index).and_then(Option::as_ref);
    own.unwrap_or(&server.protocols)
}

pub(super) fn http(server: &model::Server, protocols: &[model::Protocol]) -> HttpSettings {
    let mut settings = HttpSettings::default();
    if let Some(bytes) = server.max_header_bytes {
        // hyper needs at least 8 KiB for its buffer; see the warning.
        settings.max_head = u32::try_from(bytes).unwrap_or(u32::MAX).max(MIN_HEAD);
    }
    settings.max_streams = server.max_streams.unwrap_or(settings.max_streams);
    settings.frames = frame_limits(server);
    if !protocols.is_empty() {
        let speaks = |wanted: model::Protocol| protocols.contains(&wanted);
        settings.http1 = speaks(model::Protocol::H1);
        settings.http2 = speaks(model::Protocol::H2);
        settings.h2c = speaks(model::Protocol::H2c);
    }
    settings
}

fn frame_limits(server: &model::Server) -> FrameLimits {
    let defaults = FrameLimits::default();
    let burst = server.max_control_frames_burst;
    FrameLimits {
        per_second: server.max_control_frames.unwrap_or(defaults.per_second),
        burst: burst
            .or_else(|| Some(server.max_control_frames?.saturating_mul(2)))
            .unwrap_or(defaults.burst),
        faults: server.max_stream_errors.unwrap_or(defaults.faults),
    }
}

pub(super) fn connections(server: &model::Server) -> ConnLimits {
    let defaults = ConnLimits::default();
    ConnLimits {
        head: server.read_header_timeout.unwrap_or(defaults.head),
        idle: server.idle_timeout.unwrap_or(defaults.idle),
        body: server.read_idle_timeout.unwrap_or(defaults.body),
        body_rate: server.read_min_rate.map_or(defaults.body_rate, u64::from),
        stalled_write: server.write_idle_timeout.unwrap_or(defaults.stalled_write),
    }
}
