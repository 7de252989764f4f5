//! What stands between a socket and HTTP: who may name the client, and how silent ones are probed.

use std::sync::Arc;
use std::time::Duration;

use caddy_config as model;
use model::{ListenerWrapper, ProxyProtocolFallback};
use socket2::TcpKeepalive;

use super::compile::Compiler;
use crate::forward::view::Proxied;
use crate::http::proxy_protocol::{Policy, ProxyProtocol};
use crate::ip_set::IpSet;
use crate::keepalive;

/// How long a PROXY protocol header may take. Caddy would wait for ever.
const HEADER: Duration = Duration::from_secs(5);

/// What listeners of the server do with a PROXY protocol header.
pub(super) fn proxied(
    compiler: &mut Compiler<'_>,
    server: &model::Server,
    tls: bool,
) -> Option<Arc<Proxied>> {
    let wrappers = &server.listener_wrappers;
    let mut found = wrappers
        .iter()
        .enumerate()
        .filter_map(|(place, wrapper)| match wrapper {
            ListenerWrapper::ProxyProtocol(protocol) => Some((place, protocol)),
            _ => None,
        });
    let (place, protocol) = found.next()?;
    if found.next().is_some() {
        compiler.unsupported::<()>(
            "two PROXY protocol headers on one connection",
            "write `proxy_protocol` once in `listener_wrappers`",
        );
    }
    let handshake = wrappers
        .iter()
        .position(|wrapper| matches!(wrapper, ListenerWrapper::Tls {}))
        .unwrap_or_default();
    Some(Arc::new(Proxied {
        protocol: ProxyProtocol {
            timeout: protocol
                .timeout
                .filter(|timeout| !timeout.is_zero())
                .unwrap_or(HEADER),
            allow: networks(&protocol.allow),
            deny: networks(&protocol.deny),
            fallback: policy(protocol.fallback_policy),
        },
        behind_tls: tls && place >= handshake,
    }))
}

fn networks(ranges: &[model::IpRange]) -> IpSet {
    let networks: Vec<_> = ranges.iter().map(model::IpRange::net).collect();
    IpSet::new(&networks)
}

fn policy(fallback: Option<ProxyProtocolFallback>) -> Policy {
    match fallback {
        Some(ProxyProtocolFallback::Use) => Policy::Use,
        Some(ProxyProtocolFallback::Reject) => Policy::Reject,
        Some(ProxyProtocolFallback::Require) => Policy::Require,
        Some(ProxyProtocolFallback::Skip) => Policy::Skip,
        _ => Policy::Ignore,
    }
}

/// How clients of the server are probed; `None`: as all others are.
pub(super) fn keepalive(server: &model::Server) -> Option<TcpKeepalive> {
    // As in Caddy, none at all is as good as not said.
    let (idle, interval, count) = (
        server.keepalive_idle.filter(|idle| !idle.is_zero()),
        server.keepalive_interval.filter(|interval| !interval.is_zero()),
        server.keepalive_count.filter(|count| *count > 0),
    );
    if idle.is_none() && interval.is_none() && count.is_none() {
        return None;
    }
    let mut probes = keepalive::keepalive();
    if let Some(idle) = idle {
        probes = probes.with_time(idle);
    }
    if let Some(interval) = interval {
        probes = probes.with_interval(interval);
    }
    if let Some(count) = count {
        probes = probes.with_retries(count);
    }
    Some(probes)
}
