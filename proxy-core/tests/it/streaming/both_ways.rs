//! Whole exchanges: heads before bodies, pieces as they come, trailers, early answers.

use std::net::Ipv4Addr;

use h2::Reason;

use crate::support::ends::{Back, ClientEnd, Ending, Front, Pair};
use crate::support::origin::{Recorder, Reply};
use crate::support::rig::{HOST, Rig};

fn clean(trailers: &[&str]) -> Ending {
    Ending::Clean(trailers.iter().map(|line| (*line).to_owned()).collect())
}

#[tokio::test]
async fn the_upstream_gets_the_head_before_any_byte_of_the_body() {
    for mut pair in Pair::all().await {
        let (mut client, mut upstream) = pair.open("POST", "/upload", true).await;
        client.send("first").await;
        upstream.expect("first").await;
        client.send("second").await;
        upstream.expect("second").await;
        client.finish(&[]).await;
        assert_eq!(upstream.ending().await, clean(&[]));
        upstream.respond(201, &[]).await;
        upstream.finish(&[]).await;
        assert_eq!(client.head().await.status, 201);
        assert_eq!(client.ending().await, clean(&[]));
    }
}

#[tokio::test]
async fn the_client_gets_the_head_before_any_byte_of_the_body_and_each_piece_at_once() {
    for mut pair in Pair::all().await {
        let (mut client, mut upstream) = pair.open("GET", "/events", false).await;
        upstream.respond(200, &[("x-kind", "stream")]).await;
        let head = client.head().await;
        assert_eq!((head.status, head.field("x-kind")), (200, Some("stream")));
        for piece in ["one", "two", "three"] {
            upstream.send(piece).await;
            client.expect(piece).await;
        }
        upstream.finish(&[]).await;
        assert_eq!(client.ending().await, clean(&[]));
    }
}

#[tokio::test]
async fn a_counted_body_is_passed_on_piece_by_piece_too() {
    for mut pair in Pair::all().await {
        let (mut client, mut upstream) = pair.open("GET", "/file", false).await;
        upstream.respond(200, &[("content-length", "6")]).await;
        assert_eq!(client.head().await.field("content-length"), Some("6"));
        upstream.send("abc").await;
        client.expect("abc").await;
        upstream.send("def").await;
        client.expect("def").await;
        upstream.finish(&[]).await;
        assert_eq!(client.ending().await, clean(&[]));
    }
}

#[tokio::test]
async fn both_directions_flow_at_the_same_time() {
    for mut pair in Pair::all().await {
        let (mut client, mut upstream) = pair.open("POST", "/echo", true).await;
        upstream.respond(200, &[]).await;
        assert_eq!(client.head().await.status, 200);
        for number in 0..5 {
            let piece = format!("piece {number}");
            client.send(&piece).await;
            upstream.expect(&piece).await;
            upstream.send(&piece).await;
            client.expect(&piece).await;
        }
        client.finish(&[]).await;
        assert_eq!(upstream.ending().await, clean(&[]));
        upstream.send("after the request's end").await;
        client.expect("after the request's end").await;
        upstream.finish(&[]).await;
        assert_eq!(client.ending().await, clean(&[]));
    }
}

#[tokio::test]
async fn trailers_pass_in_both_directions() {
    for mut pair in Pair::all().await {
        let (mut client, mut upstream) = pair.open("POST", "/grpc", true).await;
        client.send("question").await;
        upstream.expect("question").await;
        client.finish(&[("x-checksum-a", "1"), ("digest", "2")]).await;
        assert_eq!(
            upstream.ending().await,
            clean(&["x-checksum-a: 1", "digest: 2"]),
            "{:?}",
            pair.back
        );
        upstream
            .respond(200, &[("trailer", "grpc-status, grpc-message")])
            .await;
        upstream.send("answer").await;
        client.head().await;
        client.expect("answer").await;
        upstream
            .finish(&[("grpc-status", "0"), ("grpc-message", "fine")])
            .await;
        assert_eq!(
            client.ending().await,
            clean(&["grpc-status: 0", "grpc-message: fine"]),
            "{:?}",
            pair.front
        );
    }
}

#[tokio::test]
async fn trailers_that_would_change_framing_routing_or_trust_are_never_merged_or_forwarded() {
    let forbidden = [
        ("content-length", "50"),
        ("host", "b.test"),
        ("authorization", "z"),
        ("x-forwarded-for", "1.2.3.4"),
        ("content-encoding", "gzip"),
        ("x-unknown", "1"),
        ("digest", "1"),
    ];
    for front in [Front::Http1, Front::H2c] {
        let mut pair = Pair::start(front, Back::Http1).await;
        let (mut client, mut upstream) = pair.open("POST", "/", true).await;
        client.send("body").await;
        upstream.expect("body").await;
        client.finish(&forbidden).await;
        assert_eq!(upstream.ending().await, clean(&["digest: 1"]), "{front:?}");
        assert_eq!(upstream.fields("host"), [HOST]);
        assert_eq!(upstream.fields("authorization"), [""; 0]);
    }
}

#[tokio::test]
async fn an_early_answer_is_delivered_while_the_request_is_still_open() {
    for mut pair in Pair::all().await {
        let (mut client, mut upstream) = pair.open("POST", "/upload", true).await;
        client.send("some").await;
        upstream.expect("some").await;
        upstream.respond(413, &[("content-length", "3")]).await;
        upstream.send("big").await;
        upstream.finish(&[]).await;
        assert_eq!(client.head().await.status, 413);
        client.expect("big").await;
        assert_eq!(client.ending().await, clean(&[]));
        match client {
            ClientEnd::Http1 { mut wire, .. } => {
                let (after, _) = wire.rest().await;
                assert_eq!(
                    after, b"",
                    "nothing but the end of the connection stops an upload over HTTP/1"
                );
            }
            ClientEnd::Http2 { mut stream, .. } => assert_eq!(stream.until_reset().await, Reason::NO_ERROR),
        }
    }
}

#[tokio::test]
async fn megabytes_pass_unchanged_in_both_directions() {
    let pattern = |len: usize| {
        (0..len)
            .map(|at| u8::try_from(at * at % 251).unwrap())
            .collect::<Vec<_>>()
    };
    let sent = pattern(3 << 20);
    let back = pattern((2 << 20) + 1);
    let reply = [
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", back.len()).as_bytes(),
        &back,
    ]
    .concat();
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| Reply::Keep(reply.clone())).await;
    let rig = Rig::to(origin.addr());
    let mut wire = rig.wire().await;
    let head = format!(
        "POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {}\r\n\r\n",
        sent.len()
    );
    wire.send(head).await;
    wire.send(&sent).await;
    assert!(
        wire.answer().await.body == back,
        "the answer came through unchanged"
    );

    let mut h2 = rig.h2().await;
    let request = h2.request(http::Method::POST, "/").body(()).unwrap();
    let mut stream = h2.open(request, false).await;
    let upload = async {
        for chunk in sent.chunks(16 << 10) {
            stream.send_when_ready(chunk).await;
        }
        stream.finish();
        stream.answer().await
    };
    assert!(upload.await.body == back, "over HTTP/2 too");
    for request in origin.requests() {
        assert!(request.body == sent, "the upload came through unchanged");
    }
}

#[tokio::test]
async fn a_get_with_a_body_keeps_it_whatever_its_framing() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::to(origin.addr());
    let hidden = format!("GET /s HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
    let counted = format!(
        "GET /a HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {}\r\n\r\n{hidden}",
        hidden.len()
    );
    assert_eq!(rig.wire().await.ask(counted).await.head.status(), 200);
    let chunked = format!(
        "GET /b HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{hidden}\r\n0\r\n\r\n",
        hidden.len()
    );
    assert_eq!(rig.wire().await.ask(chunked).await.head.status(), 200);
    let mut h2 = rig.h2().await;
    let mut stream = h2
        .open(h2.request(http::Method::GET, "/c").body(()).unwrap(), false)
        .await;
    stream.send(hidden.clone());
    stream.finish();
    assert_eq!(stream.answer().await.status, 200);

    let requests = origin.requests();
    let targets: Vec<_> = requests.iter().map(|request| request.head.target()).collect();
    assert_eq!(targets, ["/a", "/b", "/c"], "the hidden request is never run");
    assert!(requests.iter().all(|request| request.body == hidden.as_bytes()));
}

#[tokio::test]
async fn a_head_request_gets_the_fields_and_no_body() {
    for front in [Front::Http1, Front::H2c] {
        for back in [Back::Http1, Back::H2c] {
            let mut pair = Pair::start(front, back).await;
            let (mut client, mut upstream) = pair.open("HEAD", "/", false).await;
            upstream.respond_bare(200, &[("content-length", "12345")]).await;
            assert_eq!(client.head().await.field("content-length"), Some("12345"));
            assert_eq!(client.ending().await, clean(&[]));
            pair.rig.stop().await;
        }
    }
}

#[tokio::test]
async fn expect_100_continue_is_answered_once_and_the_body_flows() {
    let mut pair = Pair::start(Front::Http1, Back::Http1).await;
    let mut wire = pair.rig.wire().await;
    wire.send(format!(
        "POST / HTTP/1.1\r\nHost: {HOST}\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    ))
    .await;
    let mut upstream = pair.upstreams.next().await;
    upstream.interim(100, &[]).await;
    assert_eq!(wire.head().await.status(), 100);
    wire.send("body").await;
    upstream.expect("body").await;
    upstream.respond(200, &[("content-length", "0")]).await;
    assert_eq!(wire.answer().await.head.status(), 200);
}

#[tokio::test]
async fn expect_100_continue_towards_an_upstream_that_ignores_it_does_not_hang() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::to(origin.addr());
    let mut wire = rig.wire().await;
    wire.send(format!(
        "POST / HTTP/1.1\r\nHost: {HOST}\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    ))
    .await;
    assert_eq!(wire.head().await.status(), 100);
    wire.send("body").await;
    assert_eq!(wire.answer().await.head.status(), 200);
    assert_eq!(origin.only_request().body, b"body");
}

#[tokio::test]
async fn a_refused_expectation_passes_without_100_and_poisons_nothing() {
    let mut pair = Pair::start(Front::Http1, Back::Http1).await;
    let mut wire = pair.rig.wire().await;
    wire.send(format!(
        "POST /secret HTTP/1.1\r\nHost: {HOST}\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    ))
    .await;
    let mut upstream = pair.upstreams.next().await;
    upstream.respond(401, &[("content-length", "0")]).await;
    assert_eq!(wire.head().await.status(), 401, "no 100 before it");
    // The upstream still waits for a body, so its connection is no place for the next request.
    let (mut client, mut next) = pair.open("GET", "/after", false).await;
    next.respond(200, &[("content-length", "0")]).await;
    assert_eq!(client.head().await.status, 200);
}
