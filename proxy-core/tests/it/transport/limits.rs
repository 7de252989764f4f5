//! How long upstreams may take, and how much they may say.

use std::net::Ipv4Addr;

use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::rig::{HOST, get};
use crate::transport::to;

#[tokio::test]
async fn an_upstream_that_falls_silent_is_a_504_and_its_connection_is_closed() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = to(origin.addr(), "read_timeout 50ms");
    let mut client = rig.wire().await;
    client.send(get("/")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    assert_eq!(client.answer().await.head.status(), 504);
    upstream.rest().await;
}

#[tokio::test]
async fn an_upstream_that_stops_in_the_middle_of_an_answer_is_cut_off() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = to(origin.addr(), "read_timeout 50ms");
    let mut client = rig.wire().await;
    client.send(get("/")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart")
        .await;
    assert_eq!(client.head().await.status(), 200);
    let (rest, _) = client.rest().await;
    assert_eq!(rest, b"part", "and nothing that would make it look whole");
}

#[tokio::test]
async fn an_upstream_that_takes_nothing_is_a_504() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = to(origin.addr(), "write_timeout 50ms");
    let mut client = rig.wire().await;
    let length = 64 << 20;
    client
        .send(format!(
            "POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {length}\r\n\r\n"
        ))
        .await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    let flood = async {
        while client.try_send(vec![0; 1 << 20]).await.is_ok() {}
        client
    };
    let mut client = crate::support::wait::within("the end of the upload", flood).await;
    let answer = client.head().await;
    assert_eq!(answer.status(), 504);
}

/// An answer whose head has so many bytes.
fn head_of(size: usize) -> Vec<u8> {
    let frame = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Fill: \r\n\r\n";
    let fill = "x".repeat(size - frame.len());
    format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Fill: {fill}\r\n\r\nok").into_bytes()
}

#[tokio::test]
async fn the_head_of_an_answer_may_be_exactly_as_long_as_configured() {
    for (options, most) in [("max_response_header 2KiB", 2048), ("", 64 * 1024)] {
        for (size, status) in [(most, 200), (most + 1, 502)] {
            let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| Reply::Keep(head_of(size))).await;
            let rig = to(origin.addr(), options);
            assert_eq!(rig.get("/").await.head.status(), status, "{options}: {size}");
        }
    }
}

#[tokio::test]
async fn two_sites_with_other_limits_do_not_share_a_connection_and_the_limit_of_each_holds() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| Reply::Keep(head_of(3000))).await;
    let (short, long) = (
        to(origin.addr(), "max_response_header 2KiB"),
        to(origin.addr(), "max_response_header 4KiB"),
    );
    for _ in 0..2 {
        assert_eq!(long.get("/").await.head.status(), 200);
        assert_eq!(short.get("/").await.head.status(), 502);
    }
}

#[tokio::test]
async fn an_answer_that_drips_is_waited_for_as_long_as_each_byte_comes_in_time() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = to(origin.addr(), "read_timeout 5s");
    let mut client = rig.wire().await;
    client.send(get("/")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" {
        upstream.send([*byte]).await;
    }
    assert_eq!(client.answer().await.body, b"ok");
}

#[tokio::test]
async fn a_body_that_is_to_be_asked_for_is_sent_after_a_while() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = to(origin.addr(), "expect_continue_timeout 20ms");
    let mut client = rig.wire().await;
    let head =
        format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    client.send(head).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    assert_eq!(
        client.head().await.status(),
        100,
        "although the upstream says nothing"
    );
    client.send("ok").await;
    assert_eq!(upstream.exactly(2).await, b"ok");
}

#[tokio::test]
async fn no_more_connections_are_kept_idle_in_all_than_configured() {
    let one = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let two = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = crate::support::rig::Rig::site(&format!(
        "\treverse_proxy {} {} {{\n\t\tlb_policy round_robin\n\t\ttransport http {{\n\t\t\tkeepalive_idle_conns 1\n\t\t}}\n\t}}",
        one.addr(),
        two.addr()
    ));
    for _ in 0..3 {
        assert_eq!(rig.get("/").await.body, b"ok");
        assert_eq!(rig.get("/").await.body, b"ok");
        two.until_open(0).await;
    }
    assert_eq!((one.accepted(), two.accepted()), (1, 3));
}
