//! Probes of TCP for connections on which nothing is sent.

use std::time::Duration;

use socket2::TcpKeepalive;

/// Finds a peer that vanished without a word within a few minutes.
pub(crate) fn keepalive() -> TcpKeepalive {
    TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(15))
}
