//! Filters that panic.

use std::net::Ipv4Addr;

use crate::support::origin::Recorder;
use crate::support::rig::get;
use crate::support::wait::eventually;

use super::filters::Seen;
use super::{backend, directives, site, told};

#[tokio::test]
async fn a_filter_that_panics_gives_500_and_lets_go_of_what_the_request_held() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let seen = Seen::new();
    let to = backend(origin.addr());
    let mut routes = format!("ok: Path(\"/ok\") -> {to};");
    let phases = ["request", "wait", "resume", "response", "response wait"];
    for (number, phase) in phases.iter().enumerate() {
        routes.push_str(&format!(
            "p{number}: Path(\"/p{number}\") -> mark(\"a\") -> markErrors(\"e\") -> holds() -> panics(\"{phase}\") -> mark(\"b\") -> {to};"
        ));
    }
    let rig = site(&seen.options(), &directives("", &routes));
    let mut wire = rig.wire().await;
    for round in 0..3 {
        for (number, phase) in phases.iter().enumerate() {
            let answer = wire.ask(get(&format!("/p{number}"))).await;
            assert_eq!(
                told(&answer),
                (500, "Internal Server Error\n".to_owned()),
                "{phase}"
            );
            assert_eq!(answer.head.all("x-order"), ["e"], "{phase}, round {round}");
            eventually("all is released", async || (seen.held() == 0).then_some(())).await;
            assert_eq!(
                told(&wire.ask(get("/ok")).await),
                (200, "ok".to_owned()),
                "after {phase}"
            );
        }
    }
    // Two phases end before the backend, three behind it... of which one waits before it.
    let panicked = origin
        .requests()
        .iter()
        .filter(|request| request.head.target() != "/ok")
        .count();
    assert_eq!(
        panicked, 6,
        "the backend is asked only where the second phase fails"
    );
}
