//! What becomes of requests tells how upstreams are.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{again, metric, site, state, until_healthy};
use crate::support::logs;
use crate::support::net::Net;
use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::rig::get;
use crate::support::wait::eventually;

/// An answer without a body.
fn status(code: u16) -> Reply {
    Reply::keep(format!("HTTP/1.1 {code} Said\r\nContent-Length: 0\r\n\r\n"))
}

#[tokio::test]
async fn an_upstream_that_refuses_is_left_alone_and_clients_are_told_when_to_come_back() {
    logs::capture();
    let gone = Origin::bind(Net::fresh().pod(1)).await;
    let address = gone.addr();
    drop(gone);
    let rig = site(&format!(
        "\treverse_proxy {address} {{\n\t\tfail_duration 30s\n\t\tmax_fails 2\n\t}}"
    ));
    assert_eq!(rig.get("/").await.head.status(), 502);
    assert_eq!(
        (state(&rig, address).fails, state(&rig, address).healthy),
        (1, true)
    );
    for _ in 0..5 {
        let answer = rig.get("/").await;
        assert_eq!(answer.head.status(), 503);
        assert_eq!(answer.body, b"no upstream is available\n");
        let after: u32 = answer.head.field("retry-after").unwrap().parse().unwrap();
        assert!((1..=30).contains(&after), "{after}");
    }
    let told = state(&rig, address);
    assert_eq!(
        (told.fails, told.healthy),
        (2, false),
        "nobody asked it after that"
    );
    let series = format!("caddy_reverse_proxy_upstreams_healthy{{upstream=\"{address}\"}}");
    assert_eq!(metric(&rig, &series).as_deref(), Some("0"));
    let said = logs::lines_with(&["the upstream is unhealthy", &address.to_string()]);
    assert_eq!(said.len(), 1, "once, not per request: {said:?}");
    assert!(said[0].contains("refuses connections"), "{}", said[0]);

    // It is back, but nobody looks before the failures are forgotten.
    let back = Recorder::start_at(address, |_| Reply::ok("back")).await;
    assert_eq!(rig.get("/").await.head.status(), 503);
    assert_eq!(back.accepted(), 0);
    let mut wire = rig.wire().await;
    wire.send("HEAD / HTTP/1.1\r\nHost: app.test\r\n\r\n").await;
    assert_eq!(wire.head().await.status(), 503);
    assert_eq!(
        wire.ask(get("/")).await.head.status(),
        503,
        "no body was in between"
    );
}

#[tokio::test]
async fn routes_for_errors_decide_about_the_answer() {
    let gone = Origin::bind(Net::fresh().pod(1)).await;
    let address = gone.addr();
    drop(gone);
    let rig = site(&format!(
        "\treverse_proxy {address} {{\n\t\tfail_duration 30s\n\t}}\n\thandle_errors {{\n\t\trespond \"sorry: {{err.message}}\"\n\t}}"
    ));
    let answer = rig.get("/").await;
    assert_eq!(answer.head.status(), 503);
    assert_eq!(answer.body, b"sorry: no upstream is available");
    assert!(!answer.head.has("retry-after"));
}

#[tokio::test]
async fn failures_end_with_their_time() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| Reply::Close(Vec::new())).await;
    let rig = site(&format!(
        "\treverse_proxy {} {{\n\t\tfail_duration 50ms\n\t}}",
        origin.addr()
    ));
    for round in 1..=3 {
        let answer = eventually("it is asked again", async || {
            let answer = rig.get("/").await;
            (origin.accepted() == round).then_some(answer)
        });
        assert_eq!(answer.await.head.status(), 503, "the only one failed");
    }
    until_healthy(&rig, origin.addr(), true).await;
    assert_eq!(state(&rig, origin.addr()).fails, 0);
}

#[tokio::test]
async fn statuses_and_latencies_count_once_each_and_other_upstreams_take_over() {
    for settings in [
        "unhealthy_status 5xx 500 500",
        "unhealthy_status 500",
        "unhealthy_latency 1ns",
    ] {
        let bad = Recorder::start(Ipv4Addr::LOCALHOST, |_| status(500)).await;
        let good = Recorder::saying(Ipv4Addr::LOCALHOST, "good").await;
        let upstreams = format!("{} {}", bad.addr(), good.addr());
        let rig = site(&format!(
            "\treverse_proxy {upstreams} {{\n\t\tlb_policy first\n\t\tfail_duration 1h\n\t\tmax_fails 2\n\t\t{settings}\n\t}}"
        ));
        assert_eq!(rig.get("/").await.head.status(), 500);
        assert_eq!(state(&rig, bad.addr()).fails, 1, "{settings}");
        assert_eq!(rig.get("/").await.head.status(), 500);
        assert_eq!(rig.get("/").await.body, b"good");
        assert_eq!(bad.requests().len(), 2, "{settings}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_is_no_failure_of_the_upstream() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = site(&format!(
        "\treverse_proxy {} {{\n\t\tfail_duration 1h\n\t\tbreaker consecutive 1\n\t}}",
        origin.addr()
    ));
    let mut client = rig.wire().await;
    client.send(get("/slow")).await;
    let mut upstream = origin.accept().await;
    upstream.try_request().await.unwrap();
    drop(client);
    assert_eq!(upstream.rest().await.0, b"", "the proxy gives the request up");
    let told = state(&rig, origin.addr());
    assert_eq!((told.fails, told.healthy), (0, true));
}

#[tokio::test]
async fn an_answer_that_is_replaced_by_a_better_one_is_no_failure() {
    let bad = Recorder::start(Ipv4Addr::LOCALHOST, |_| status(503)).await;
    let good = Recorder::saying(Ipv4Addr::LOCALHOST, "good").await;
    let proxy = |upstreams: &str| {
        format!(
            "\treverse_proxy {upstreams} {{\n\t\tlb_policy first\n\t\tlb_retries 1\n\t\tlb_retry_match {{\n\t\t\t\
             expression `{{rp.status_code}} == 503`\n\t\t}}\n\t\tfail_duration 1h\n\t\tmax_fails 3\n\t\t\
             unhealthy_status 503\n\t}}"
        )
    };
    let rig = site(&proxy(&format!("{} {}", bad.addr(), good.addr())));
    assert_eq!(rig.get("/").await.body, b"good");
    assert_eq!((bad.requests().len(), state(&rig, bad.addr()).fails), (1, 0));

    // Where no better one comes, it is the client's, and counts.
    rig.reload(&again(&rig, &proxy(&bad.addr().to_string()))).await;
    assert_eq!(rig.get("/").await.head.status(), 503);
    assert_eq!((bad.requests().len(), state(&rig, bad.addr()).fails), (3, 1));
}

#[tokio::test]
async fn a_reload_forgets_no_failure_and_proxies_of_one_upstream_share_them() {
    let fails = Arc::new(AtomicBool::new(true));
    let failing = Arc::clone(&fails);
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| {
        if failing.load(Ordering::Relaxed) {
            status(500)
        } else {
            Reply::ok("fine")
        }
    })
    .await;
    let address = origin.addr();
    let proxy = |path: &str, limit: u32| {
        format!(
            "\treverse_proxy {path} {address} {{\n\t\tfail_duration 1h\n\t\tmax_fails {limit}\n\t\tunhealthy_status 5xx\n\t}}\n"
        )
    };
    let both = proxy("/a", 2) + &proxy("/b", 3);
    let rig = site(&both);
    for _ in 0..2 {
        assert_eq!(rig.get("/a").await.head.status(), 500);
    }
    fails.store(false, Ordering::Relaxed);
    for _ in 0..2 {
        assert_eq!(rig.get("/a").await.head.status(), 503);
        assert_eq!(rig.get("/b").await.body, b"fine", "its own limit is higher");
        rig.reload(&again(&rig, &format!("{both}\trespond /new new\n")))
            .await;
        assert_eq!(state(&rig, address).fails, 2);
    }
    rig.reload(&again(&rig, &proxy("/a", 9))).await;
    assert_eq!(rig.get("/a").await.body, b"fine");
}
