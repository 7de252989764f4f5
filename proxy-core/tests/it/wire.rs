//! Hostile and odd traffic on the client's side that is no table of bytes: HTTP/2, time, and what needs both ends.

mod body;
mod http2;
mod timeouts;

use std::net::Ipv4Addr;

use crate::support::origin::Recorder;
use crate::support::rig::Rig;
use crate::support::wire::Wire;

/// A proxy with an upstream that records.
struct Bench {
    rig: Rig,
    origin: Recorder,
}

// === impl Bench ===

impl Bench {
    async fn start() -> Self {
        let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
        let rig = Rig::to(origin.addr());
        rig.canary().await;
        Self { rig, origin }
    }
}

/// The statuses of all answers up to the end of the connection.
async fn answers(wire: &mut Wire, what: &str) -> Vec<u16> {
    let (bytes, _) = wire.rest_after(what).await;
    let text = String::from_utf8_lossy(&bytes);
    let heads = text
        .match_indices("HTTP/1.")
        .filter(|(at, _)| *at == 0 || !text[..*at].ends_with(' '));
    heads
        .map(|(at, _)| text[at + 9..at + 12].parse().expect("a status"))
        .collect()
}
