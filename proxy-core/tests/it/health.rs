//! Upstreams that die, hang, answer badly and come back: who notices, what clients get, and what is told of it.

mod active;
mod breaker;
mod passive;

use std::net::SocketAddr;

use proxy_core::UpstreamState;

use crate::support::rig::Rig;
use crate::support::wait::eventually;

/// Global options of every configuration here.
const GLOBAL: &str = "{\n\tadmin off\n\tauto_https disable_redirects\n\tgrace_period 5s\n}\n";

/// Where [`Rig::reload`] finds the site again: a whole configuration for the address that `rig` listens on.
fn again(rig: &Rig, directives: &str) -> String {
    let port = rig.addr().port();
    format!("{GLOBAL}http://app.test:{port} {{\n\tbind 127.0.0.1\n{directives}\n}}\n")
}

/// A site on any port whose configuration can be loaded [`again`].
fn site(directives: &str) -> Rig {
    Rig::site(directives)
}

/// What is told of the upstream at `address`.
fn state(rig: &Rig, address: SocketAddr) -> UpstreamState {
    let address = address.to_string();
    let all = rig.control().upstreams();
    let found = all.iter().find(|upstream| upstream.address == address);
    found.expect("it is configured").clone()
}

/// Waits until the upstream at `address` is healthy, or is not.
async fn until_healthy(rig: &Rig, address: SocketAddr, healthy: bool) {
    let what = format!("{address} is healthy: {healthy}");
    eventually(&what, async || {
        (state(rig, address).healthy == healthy).then_some(())
    })
    .await;
}

/// The value of a metric.
fn metric(rig: &Rig, series: &str) -> Option<String> {
    let (_, page) = rig.control().metrics(None);
    let line = page.lines().find(|line| line.starts_with(series))?;
    line.rsplit(' ').next().map(str::to_owned)
}
