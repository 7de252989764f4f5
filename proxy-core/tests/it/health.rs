//! Upstreams that die, hang, answer badly and come back: who notices, what clients get, and what is told of it.

mod active;
mod breaker;
mod passive;

use std::net::SocketAddr;

use proxy_core::UpstreamState;

use proxy_core::Proxy;

use crate::support::rig::{Rig, options};
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

#[tokio::test]
async fn what_is_said_and_changes_nothing_is_a_warning_and_what_cannot_be_asked_for_an_error() {
    let rig = site("\trespond nothing");
    for (options, expected) in [
        (
            "max_fails 3",
            Some("failures are counted only with `fail_duration`"),
        ),
        ("max_fails 3\n\t\tfail_duration 3s", None),
        (
            "health_tcp\n\t\thealth_status 200",
            Some("with `health_tcp` nothing is asked for"),
        ),
    ] {
        let text = again(
            &rig,
            &format!("\treverse_proxy 127.0.0.1:1 {{\n\t\t{options}\n\t}}"),
        );
        let warnings = rig.reload(&text).await.warnings;
        assert_eq!(warnings.len(), usize::from(expected.is_some()), "{warnings:?}");
        assert!(
            expected.is_none_or(|expected| warnings[0].contains(expected)),
            "{warnings:?}"
        );
    }
    for (active, expected) in [
        (r#"{"uri":"health"}"#, "health_uri"),
        (r#"{"upstream":"{env.NOWHERE}:80"}"#, "health_upstream"),
    ] {
        let text = format!(
            r#"{{"apps":{{"http":{{"servers":{{"s":{{"listen":["127.0.0.1:0"],"routes":[{{"handle":[{{"handler":"reverse_proxy",
            "upstreams":[{{"dial":"127.0.0.1:1"}}],"health_checks":{{"active":{active}}}}}]}}]}}}}}}}}}}"#
        );
        let config = caddy_config::from_json("config.json", &text).unwrap();
        let error = Proxy::check(&config, &options()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// The value of a metric.
fn metric(rig: &Rig, series: &str) -> Option<String> {
    let (_, page) = rig.control().metrics(None);
    let line = page.lines().find(|line| line.starts_with(series))?;
    line.rsplit(' ').next().map(str::to_owned)
}
