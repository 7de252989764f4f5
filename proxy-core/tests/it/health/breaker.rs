//! Circuit breakers.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proxy_core::BreakerState;

use super::{again, metric, site, state};
use crate::support::logs;
use crate::support::origin::{Recorder, Reply};
use crate::support::rig::Rig;
use crate::support::wait::eventually;

/// An upstream that answers 500 as long as the flag is set.
async fn failing() -> (Recorder, Arc<AtomicBool>) {
    let fails = Arc::new(AtomicBool::new(true));
    let failing = Arc::clone(&fails);
    let recorder = Recorder::start(Ipv4Addr::LOCALHOST, move |_| {
        if failing.load(Ordering::Relaxed) {
            Reply::keep("HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n")
        } else {
            Reply::ok("fine")
        }
    });
    (recorder.await, fails)
}

async fn statuses(rig: &Rig, count: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..count {
        statuses.push(rig.get("/").await.head.status());
    }
    statuses
}

#[tokio::test]
async fn a_breaker_opens_after_failures_and_a_reload_does_not_close_it() {
    logs::capture();
    let (origin, fails) = failing().await;
    let address = origin.addr();
    let proxy = format!(
        "\treverse_proxy {address} {{\n\t\tbreaker consecutive 3 {{\n\t\t\ttimeout 40s\n\t\t}}\n\t}}\n"
    );
    let rig = site(&proxy);
    assert_eq!(statuses(&rig, 2).await, [500, 500]);
    fails.store(false, Ordering::Relaxed);
    assert_eq!(statuses(&rig, 1).await, [200]);
    fails.store(true, Ordering::Relaxed);
    assert_eq!(statuses(&rig, 5).await, [500, 500, 500, 503, 503]);
    assert_eq!(origin.requests().len(), 6);
    rig.reload(&again(&rig, &format!("{proxy}\trespond /new new\n")))
        .await;
    let answer = rig.get("/").await;
    assert_eq!((answer.head.status(), origin.requests().len()), (503, 6));
    let after: u32 = answer.head.field("retry-after").unwrap().parse().unwrap();
    assert!((1..=40).contains(&after), "{after}");

    let told = state(&rig, address);
    assert_eq!(
        (told.healthy, told.breaker, told.fails),
        (false, Some(BreakerState::Open), 0)
    );
    let series = format!("doorway_upstream_breaker_state{{state=\"open\",upstream=\"{address}\"}}");
    assert_eq!(metric(&rig, &series).as_deref(), Some("1"));
    assert_eq!(
        logs::lines_with(&["the circuit breaker opens", &address.to_string()]).len(),
        1
    );
}

#[tokio::test]
async fn a_breaker_lets_a_request_try_the_upstream_and_closes() {
    let (origin, fails) = failing().await;
    let rig = site(&format!(
        "\treverse_proxy {} {{\n\t\tbreaker rate 2 of 10 {{\n\t\t\ttimeout 50ms\n\t\t}}\n\t}}",
        origin.addr()
    ));
    assert_eq!(statuses(&rig, 2).await, [500, 500]);
    // The probe fails, and it opens again.
    let tried = eventually("a probe", async || {
        let status = rig.get("/").await.head.status();
        (status != 503).then_some(status)
    });
    assert_eq!(tried.await, 500);
    fails.store(false, Ordering::Relaxed);
    let tried = eventually("another probe", async || {
        let status = rig.get("/").await.head.status();
        (status != 503).then_some(status)
    });
    assert_eq!(tried.await, 200);
    assert_eq!(state(&rig, origin.addr()).breaker, Some(BreakerState::Closed));
    assert_eq!(statuses(&rig, 5).await, [200; 5]);
}

#[tokio::test]
async fn another_upstream_takes_over_while_a_breaker_is_open_and_panic_uses_all() {
    let (bad, _) = failing().await;
    let (good, fails) = failing().await;
    fails.store(false, Ordering::Relaxed);
    let proxy = |more: &str| {
        format!(
            "\treverse_proxy {} {} {{\n\t\tlb_policy first\n\t\tbreaker consecutive 1\n{more}\t}}",
            bad.addr(),
            good.addr()
        )
    };
    let rig = site(&proxy(""));
    assert_eq!(statuses(&rig, 4).await, [500, 200, 200, 200]);
    assert_eq!(bad.requests().len(), 1);
    rig.reload(&again(&rig, &proxy("\t\tlb_panic_threshold 60\n")))
        .await;
    assert_eq!(statuses(&rig, 2).await, [500, 500], "one of two is too few");
    let told = state(&rig, bad.addr());
    assert_eq!((told.panic, told.breaker), (true, Some(BreakerState::Open)));
    let series = format!("doorway_upstream_panic{{upstream=\"{}\"}}", good.addr());
    assert_eq!(metric(&rig, &series).as_deref(), Some("1"));
}
