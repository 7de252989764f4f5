//! Which requests are sent again.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::origin::{Origin, Recorder, Reply, ok};
use crate::support::rig::{get, post};

use super::{backend, nobody, rig, told};

#[tokio::test]
async fn another_endpoint_takes_what_one_refused_whatever_the_method() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "lives").await;
    let (gone, lives) = (backend(nobody().await), backend(origin.addr()));
    for algorithm in [
        "roundRobin",
        "random",
        "powerOfRandomNChoices",
        "leastRequests",
        "consistentHash",
    ] {
        let rig = rig(&format!("any: * -> <{algorithm}, {gone}, {lives}>;"));
        for method in ["GET", "POST", "DELETE", "PATCH"] {
            let request = format!("{method} / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n");
            let answer = rig.wire().await.ask(request).await;
            assert_eq!(told(&answer), (200, "lives".to_owned()), "{algorithm} {method}");
        }
        // Nothing of a body was sent where nobody listened.
        let answer = rig.wire().await.ask(post("/", "whole body")).await;
        assert_eq!(answer.head.status(), 200);
        assert_eq!(
            origin.take_requests().last().expect("the last one").body,
            b"whole body"
        );
    }
}

#[tokio::test]
async fn one_backend_is_asked_once() {
    let gone = nobody().await;
    let rig = rig(&format!(
        "one: Path(\"/one\") -> {to}; list: Path(\"/list\") -> <{to}>;",
        to = backend(gone)
    ));
    for path in ["/one", "/list"] {
        assert_eq!(rig.get(path).await.head.status(), 502, "{path}");
    }
}

#[tokio::test]
async fn what_was_sent_over_a_new_connection_is_not_sent_again() {
    for method in ["GET", "POST", "DELETE"] {
        let asked = Arc::new(AtomicUsize::new(0));
        let script = || {
            let asked = Arc::clone(&asked);
            move |_: &_| {
                asked.fetch_add(1, Ordering::Relaxed);
                Reply::Close(Vec::new())
            }
        };
        let a = Recorder::start(Ipv4Addr::LOCALHOST, script()).await;
        let b = Recorder::start(Ipv4Addr::LOCALHOST, script()).await;
        let rig = rig(&format!(
            "any: * -> <roundRobin, {}, {}>;",
            backend(a.addr()),
            backend(b.addr())
        ));
        let request = format!("{method} / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n");
        let answer = rig.wire().await.ask(request).await;
        assert_eq!(answer.head.status(), 503, "{method}");
        assert_eq!(asked.load(Ordering::Relaxed), 1, "{method}");
    }
}

#[tokio::test]
async fn a_kept_connection_that_turns_out_dead_costs_the_client_nothing() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(&format!("any: * -> {};", backend(origin.addr())));
    let mut client = rig.wire().await;
    client.send(get("/first")).await;
    let mut first = origin.accept().await;
    first.head().await;
    first.send(ok("1")).await;
    assert_eq!(client.answer().await.body, b"1");
    client.send(get("/second")).await;
    // It comes over the kept connection, which ends without an answer: a GET is sent again over another one.
    assert_eq!(first.head().await.target(), "/second");
    drop(first);
    let mut second = origin.accept().await;
    assert_eq!(second.head().await.target(), "/second");
    second.send(ok("2")).await;
    assert_eq!(client.answer().await.body, b"2");
}

#[tokio::test]
async fn a_post_that_may_have_arrived_over_a_kept_connection_is_not_sent_again() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(&format!("any: * -> {};", backend(origin.addr())));
    let mut client = rig.wire().await;
    client.send(get("/first")).await;
    let mut first = origin.accept().await;
    first.head().await;
    first.send(ok("1")).await;
    assert_eq!(client.answer().await.body, b"1");
    client.send(post("/second", "x")).await;
    assert_eq!(first.head().await.target(), "/second");
    drop(first);
    assert_eq!(client.answer().await.head.status(), 503);
    assert!(origin.is_idle().await);
}

#[tokio::test]
async fn an_answer_with_an_error_is_no_reason_to_ask_another_endpoint() {
    let bad = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::keep("HTTP/1.1 503 Bad\r\nContent-Length: 0\r\n\r\n")
    })
    .await;
    let good = Recorder::saying(Ipv4Addr::LOCALHOST, "good").await;
    let rig = rig(&format!(
        "any: * -> <roundRobin, {}, {}>;",
        backend(bad.addr()),
        backend(good.addr())
    ));
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(rig.get("/").await.head.status());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 503, 503]);
}
