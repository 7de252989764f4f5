//! Compressed answers, from the upstream to the client.

use std::io::Read as _;
use std::net::Ipv4Addr;

use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::rig::{HOST, Rig};
use crate::support::wire::Message;

fn get(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n")
}

fn gunzipped(data: &[u8]) -> (Vec<u8>, bool) {
    let mut out = Vec::new();
    let whole = flate2::read::GzDecoder::new(data).read_to_end(&mut out).is_ok();
    (out, whole)
}

fn field(answer: &Message, name: &str) -> String {
    answer.head.field(name).unwrap_or_default()
}

#[tokio::test]
async fn an_answer_is_compressed_for_who_likes_it_and_marked_for_all() {
    let body = "hello ".repeat(200);
    let reply = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"x\"\r\nAccept-Ranges: bytes\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| {
        Reply::Keep(reply.clone().into_bytes())
    })
    .await;
    let rig = Rig::site(&format!("\tencode gzip\n\treverse_proxy {}", origin.addr()));
    let mut wire = rig.wire().await;

    let answer = wire.ask(get("/", "Accept-Encoding: br, gzip\r\n")).await;
    assert_eq!(gunzipped(&answer.body), (body.clone().into_bytes(), true));
    for (name, value) in [
        ("content-encoding", "gzip"),
        ("vary", "Accept-Encoding"),
        ("etag", "\"x-gzip\""),
        ("accept-ranges", ""),
    ] {
        assert_eq!(field(&answer, name), value, "{name}");
    }

    let answer = wire.ask(get("/", "")).await;
    assert_eq!(answer.body, body.as_bytes());
    for (name, value) in [
        ("content-encoding", ""),
        ("vary", "Accept-Encoding"),
        ("etag", "\"x\""),
    ] {
        assert_eq!(field(&answer, name), value, "{name}");
    }
}

#[tokio::test]
async fn every_chunk_of_a_stream_reaches_the_client_at_once() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::site(&format!("\tencode\n\treverse_proxy {}", origin.addr()));
    let mut wire = rig.wire().await;
    wire.send(get("/", "Accept-Encoding: gzip\r\n")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    let mut sent = "x".repeat(600);
    upstream.send_chunk(&sent).await;
    assert_eq!(
        wire.head().await.field("content-encoding").as_deref(),
        Some("gzip")
    );
    let mut received = Vec::new();
    for number in 0..10 {
        // The next chunk is sent once this one was read.
        while gunzipped(&received).0 != sent.as_bytes() {
            received.extend(wire.chunk().await.expect("the stream goes on"));
        }
        let more = format!("chunk {number}\n");
        upstream.send_chunk(&more).await;
        sent.push_str(&more);
    }
}

#[tokio::test]
async fn an_answer_that_is_cut_stays_cut() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n\r\n";
        Reply::Close([head.as_bytes(), &[b'x'; 2000]].concat())
    })
    .await;
    let rig = Rig::site(&format!("\tencode\n\treverse_proxy {}", origin.addr()));
    let mut wire = rig.wire().await;
    wire.send(get("/", "Accept-Encoding: gzip\r\n")).await;
    let (received, _) = wire.rest().await;
    assert!(
        !received.ends_with(b"0\r\n\r\n"),
        "the last chunk would say that all was there"
    );
}

#[tokio::test]
async fn some_streams_are_never_compressed() {
    let body = "data: x\n\n".repeat(100);
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |request| {
        let kind = if request.head.target().starts_with("/events") {
            "text/event-stream"
        } else {
            "text/plain"
        };
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
        Reply::Keep((head + &body).into_bytes())
    })
    .await;
    let rig = Rig::site(&format!("\tencode\n\treverse_proxy {}", origin.addr()));
    let mut wire = rig.wire().await;
    for (path, coding) in [("/events", ""), ("/~/token/s/1", ""), ("/", "zstd")] {
        let answer = wire.ask(get(path, "Accept-Encoding: zstd, gzip\r\n")).await;
        assert_eq!(field(&answer, "content-encoding"), coding, "{path}");
    }
}

#[tokio::test]
async fn errors_go_out_plain_and_conditions_come_back_as_the_upstream_knows_them() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |request| {
        let tag = request.head.field("if-none-match").unwrap_or_default();
        Reply::keep(format!("HTTP/1.1 304 Not Modified\r\nETag: {tag}\r\n\r\n"))
    })
    .await;
    let page = "x".repeat(1000);
    let rig = Rig::site(&format!(
        "\tencode gzip\n\terror /broken 500\n\treverse_proxy {}\n\thandle_errors {{\n\t\trespond {page}\n\t}}",
        origin.addr()
    ));
    let mut wire = rig.wire().await;
    let answer = wire
        .ask(get("/", "Accept-Encoding: gzip\r\nIf-None-Match: \"x-gzip\"\r\n"))
        .await;
    assert_eq!(
        origin.requests()[0].head.field("if-none-match").as_deref(),
        Some("\"x\"")
    );
    assert_eq!(
        (answer.head.status(), field(&answer, "etag").as_str()),
        (304, "\"x-gzip\"")
    );

    let answer = wire.ask(get("/broken", "Accept-Encoding: gzip\r\n")).await;
    assert_eq!((answer.head.status(), answer.body), (500, page.into_bytes()));
}
