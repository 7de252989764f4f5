//! Bodies of requests that are limited or replaced.

use std::net::Ipv4Addr;

use super::said;
use crate::support::origin::{Origin, Recorder};
use crate::support::rig::{HOST, Rig, post};
use crate::support::wire::End;

#[tokio::test]
async fn a_body_that_says_it_is_too_long_is_refused_before_anybody_reads_it() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::site(&format!(
        "\trequest_body {{\n\t\tmax_size 5\n\t}}\n\trespond /fixed fixed\n\treverse_proxy {}\n\
         \thandle_errors {{\n\t\trespond \"{{err.status_code}}\"\n\t}}",
        origin.addr()
    ));
    for path in ["/fixed", "/app"] {
        assert_eq!(
            rig.wire().await.ask(post(path, "12345")).await.head.status(),
            200,
            "{path}"
        );
        let mut wire = rig.wire().await;
        wire.send(format!(
            "POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 6\r\n\r\n"
        ))
        .await;
        let answer = wire.answer().await;
        assert_eq!(
            said(&answer),
            (413, "413".to_owned()),
            "{path}: not a byte of it came"
        );
    }
    assert_eq!(origin.only_request().body, b"12345");
}

#[tokio::test]
async fn a_body_that_turns_out_to_be_too_long_is_refused_and_cut() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::site(&format!(
        "\trequest_body {{\n\t\tmax_size 5\n\t}}\n\treverse_proxy {}\n\thandle_errors 413 {{\n\t\trespond long\n\t}}",
        origin.addr()
    ));
    let mut client = rig.wire().await;
    client
        .send(format!(
            "POST / HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
        ))
        .await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    assert_eq!(upstream.chunk().await.as_deref(), Some(&b"abc"[..]));
    client.send("3\r\ndef\r\n").await;
    let answer = client.answer().await;
    assert_eq!(said(&answer), (413, "long".to_owned()));
    let (rest, end) = upstream.rest().await;
    assert!(
        !rest.ends_with(b"0\r\n\r\n"),
        "a cut body never looks complete: {rest:?}"
    );
    assert!(matches!(end, End::Fin | End::Reset), "{end:?}");
}

#[tokio::test]
async fn a_chunked_body_within_the_limit_passes() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::site(&format!(
        "\trequest_body {{\n\t\tmax_size 5\n\t}}\n\treverse_proxy {}",
        origin.addr()
    ));
    let chunked = format!(
        "POST / HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    );
    assert_eq!(rig.wire().await.ask(chunked).await.head.status(), 200);
    assert_eq!(origin.only_request().body, b"abcde");
}

#[tokio::test]
async fn a_body_may_be_replaced() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::site(&format!(
        "\trequest_body {{\n\t\tset \"{{method}} {{path}}\"\n\t}}\n\treverse_proxy {}",
        origin.addr()
    ));
    let mut wire = rig.wire().await;
    for _ in 0..2 {
        assert_eq!(wire.ask(post("/x", "something else")).await.head.status(), 200);
    }
    for request in origin.requests() {
        assert_eq!(request.body, b"POST /x");
        assert_eq!(request.head.all("content-length"), ["7"]);
    }
}
