//! Hostile and odd traffic on the client's side that is no table of bytes: HTTP/2 and time.

mod clients;
mod floods;
mod frames;
mod from_caddy;
mod http2;
mod lax;
mod lengths;
mod timeouts;

use std::net::Ipv4Addr;

use crate::support::origin::Recorder;
use crate::support::rig::Rig;

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
