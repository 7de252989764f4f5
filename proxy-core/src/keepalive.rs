//! Probes of TCP for connections on which nothing is sent.

use std::time::Duration;

use socket2::TcpKeepalive;

/// As Caddy: finds a peer that vanished without a word within two and a half minutes.
pub(crate) fn keepalive() -> TcpKeepalive {
    TcpKeepalive::new()
        .with_time(Duration::from_secs(15))
        .with_interval(Duration::from_secs(15))
        .with_retries(9)
}
