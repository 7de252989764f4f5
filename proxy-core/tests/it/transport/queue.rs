//! `max_conns_per_host`: so many connections and no more, and those who wait for one.

use std::net::Ipv4Addr;

use crate::support::origin::Origin;
use crate::support::rig::{Rig, get};
use crate::support::secure::{Authority, Secure};
use crate::support::wire::Wire;
use crate::transport::{proxy, to};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

async fn asking(rig: &Rig, path: &str) -> Wire {
    let mut wire = rig.wire().await;
    wire.send(get(path)).await;
    wire
}

#[tokio::test]
async fn requests_beyond_the_limit_wait_and_have_the_connection_one_after_the_other() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = to(origin.addr(), "max_conns_per_host 1");
    let mut first = asking(&rig, "/1").await;
    let mut upstream = origin.accept().await;
    assert_eq!(upstream.head().await.target(), "/1");
    let mut second = asking(&rig, "/2").await;
    upstream.send(OK).await;
    assert_eq!(first.answer().await.body, b"ok");
    assert_eq!(upstream.head().await.target(), "/2");
    upstream.send(OK).await;
    assert_eq!(second.answer().await.body, b"ok");
    assert!(origin.is_idle().await, "there was no second connection");
}

#[tokio::test]
async fn a_client_that_leaves_frees_its_place() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = to(origin.addr(), "max_conns_per_host 1");
    let first = asking(&rig, "/1").await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    let mut second = asking(&rig, "/2").await;
    drop(first);
    upstream.rest().await;
    let mut upstream = origin.accept().await;
    assert_eq!(upstream.head().await.target(), "/2");
    upstream.send(OK).await;
    assert_eq!(second.answer().await.body, b"ok");
}

#[tokio::test]
async fn a_queue_that_is_full_is_a_503_and_the_request_goes_elsewhere_if_it_can() {
    let (busy, free) = (
        Origin::bind(Ipv4Addr::LOCALHOST).await,
        Origin::bind(Ipv4Addr::LOCALHOST).await,
    );
    let one = proxy(busy.addr(), "max_conns_per_host 1");
    let both = format!(
        "\treverse_proxy {} {} {{\n\t\tlb_policy first\n\t\ttransport http {{\n\t\t\tmax_conns_per_host 1\n\t\t}}\n\t}}",
        busy.addr(),
        free.addr()
    );
    for (directives, status) in [(one, 503), (both, 200)] {
        let rig = Rig::site(&directives);
        let _first = asking(&rig, "/").await;
        let mut upstream = busy.accept().await;
        upstream.head().await;
        let mut waiting = Vec::new();
        for _ in 0..100 {
            waiting.push(asking(&rig, "/").await);
        }
        let mut late = asking(&rig, "/late").await;
        if status == 200 {
            let mut other = free.accept().await;
            other.head().await;
            other.send(OK).await;
        }
        assert_eq!(late.answer().await.head.status(), status);
    }
}

#[tokio::test]
async fn all_workers_share_the_limit_and_an_idle_connection_of_another_makes_room() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let site = proxy(origin.addr(), "max_conns_per_host 1");
    let rig = Rig::with_workers(
        4,
        &format!("{{\n\tadmin off\n}}\nhttp://app.test:0 {{\n\tbind 127.0.0.1\n{site}\n}}\n"),
    );
    let answering = async {
        loop {
            let mut upstream = origin.accept().await;
            while upstream.try_request().await.is_ok() {
                upstream.send(OK).await;
            }
        }
    };
    let asking = async {
        for _ in 0..20 {
            assert_eq!(rig.get("/").await.body, b"ok");
        }
    };
    tokio::select! {
        () = asking => {}
        () = answering => unreachable!("it never ends"),
    }
}

#[tokio::test]
async fn streams_of_one_connection_serve_more_than_it_has_requests() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["127.0.0.1"])).await;
    let options = format!("max_conns_per_host 1\ntls_trust_pool file {}", authority.file());
    let rig = to(format!("https://{}", upstream.addr()), &options);
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(asking(&rig, "/").await);
    }
    for client in &mut clients {
        assert_eq!(client.answer().await.body, b"ok");
    }
    assert_eq!(upstream.accepted(), 1);
}

#[tokio::test]
async fn connections_from_before_a_reload_count() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let text = |most: usize, more: &str| {
        let site = proxy(origin.addr(), &format!("max_conns_per_host {most}"));
        format!("{{\n\tadmin off\n}}\nhttp://app.test:0 {{\n\tbind 127.0.0.1\n{more}{site}\n}}\n")
    };
    let rig = Rig::caddyfile(&text(2, ""));
    let mut first = asking(&rig, "/1").await;
    let mut one = origin.accept().await;
    assert_eq!(one.head().await.target(), "/1");
    let mut second = asking(&rig, "/2").await;
    let mut two = origin.accept().await;
    assert_eq!(two.head().await.target(), "/2");
    rig.reload(&text(2, "\theader X-A b\n")).await;
    let mut third = asking(&rig, "/3").await;
    assert!(origin.is_idle().await, "there are two");
    rig.reload(&text(1, "")).await;
    one.send(OK).await;
    assert_eq!(first.answer().await.body, b"ok");
    one.rest().await;
    assert!(origin.is_idle().await, "the other one is as many as may be");
    two.send(OK).await;
    assert_eq!(second.answer().await.body, b"ok");
    assert_eq!(two.head().await.target(), "/3");
    two.send(OK).await;
    assert_eq!(third.answer().await.body, b"ok");
}
