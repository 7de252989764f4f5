//! Ends that are no ends: a cut upstream must never look complete, a client that leaves must never keep an upstream
//! busy.

use std::net::Ipv4Addr;

use crate::support::ends::{Back, Ending, Front, Pair};
use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::rig::{HOST, Rig, get};
use crate::support::wire::{End, Wire};

#[tokio::test]
async fn a_response_cut_after_some_of_its_body_never_ends_cleanly() {
    for mut pair in Pair::all().await {
        let (mut client, mut upstream) = pair.open("GET", "/", false).await;
        upstream.respond(200, &[]).await;
        upstream.send("part").await;
        assert_eq!(client.head().await.status, 200);
        client.expect("part").await;
        upstream.cut();
        assert_eq!(
            client.ending().await,
            Ending::Cut,
            "{:?} {:?}",
            pair.front,
            pair.back
        );
        pair.canary().await;
    }
}

#[tokio::test]
async fn a_counted_response_that_is_cut_short_never_ends_cleanly() {
    for mut pair in Pair::all().await {
        let (mut client, mut upstream) = pair.open("GET", "/", false).await;
        upstream.respond(200, &[("content-length", "10")]).await;
        upstream.send("part").await;
        assert_eq!(client.head().await.status, 200);
        client.expect("part").await;
        upstream.cut();
        assert_eq!(
            client.ending().await,
            Ending::Cut,
            "{:?} {:?}",
            pair.front,
            pair.back
        );
    }
}

#[tokio::test]
async fn a_response_that_lasts_to_the_end_of_the_connection_is_whole_when_it_ends_cleanly() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::Close(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it".to_vec())
    })
    .await;
    let rig = Rig::to(origin.addr());
    let mut wire = rig.wire().await;
    for _ in 0..2 {
        assert_eq!(wire.ask(get("/")).await.body, b"all of it");
    }
    assert_eq!(rig.h2().await.get("/").await.body, b"all of it");
}

/// Has a client of HTTP/1.0 read the beginning of a chunked answer.
async fn begin_http10(client: &mut Wire, origin: &Origin) -> Wire {
    client
        .send(format!("GET / HTTP/1.0\r\nHost: {HOST}\r\n\r\n"))
        .await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n")
        .await;
    client.head().await;
    assert_eq!(client.exactly(4).await, b"some");
    upstream
}

#[tokio::test]
async fn a_response_whose_end_is_that_of_the_connection_never_ends_cleanly_when_it_is_cut() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let directives = format!("\treverse_proxy {}", origin.addr());
    let (plain, tls) = (Rig::site(&directives), Rig::tls_site(&directives));
    for mut client in [plain.wire().await, tls.tls_wire().await] {
        let upstream = begin_http10(&mut client, &origin).await;
        drop(upstream);
        assert_eq!(client.rest().await, (Vec::new(), End::Reset));
    }
}

#[tokio::test]
async fn a_response_whose_end_is_that_of_the_connection_never_ends_cleanly_when_the_proxy_stops() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::caddyfile(&format!(
        "{{\n\tadmin off\n\tgrace_period 100ms\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n\treverse_proxy {}\n}}\n",
        origin.addr()
    ));
    let mut client = rig.wire().await;
    let _upstream = begin_http10(&mut client, &origin).await;
    rig.stop().await;
    assert_eq!(client.rest().await, (Vec::new(), End::Reset));
}

#[tokio::test]
async fn a_response_that_lasts_to_the_end_of_the_connection_is_cut_by_a_reset() {
    for front in [Front::Http1, Front::H2c] {
        let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
        let rig = Rig::to(origin.addr());
        let mut client = crate::support::ends::ClientEnd::open(front, &rig, "GET", "/", false).await;
        let mut upstream = origin.accept().await;
        upstream.head().await;
        upstream
            .send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nsome")
            .await;
        client.head().await;
        client.expect("some").await;
        upstream.reset();
        assert_eq!(client.ending().await, Ending::Cut, "{front:?}");
    }
}

#[tokio::test]
async fn a_client_that_resets_during_the_wait_frees_the_upstream() {
    for mut pair in Pair::all().await {
        let (client, mut upstream) = pair.open("GET", "/slow", false).await;
        client.abort();
        upstream.until_aborted().await;
    }
}

#[tokio::test]
async fn a_client_that_quits_during_the_wait_frees_the_upstream() {
    for mut pair in Pair::all().await {
        let (client, mut upstream) = pair.open("GET", "/slow", false).await;
        client.leave();
        upstream.until_aborted().await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_of_a_response_frees_the_upstream() {
    for mut pair in Pair::all().await {
        let (mut client, mut upstream) = pair.open("GET", "/events", false).await;
        upstream.respond(200, &[]).await;
        upstream.send("one").await;
        client.head().await;
        client.expect("one").await;
        client.abort();
        upstream.until_aborted().await;
    }
}

#[tokio::test]
async fn an_upload_that_is_given_up_never_looks_whole_to_the_upstream() {
    for mut pair in Pair::all().await {
        let (mut client, mut upstream) = pair.open("POST", "/upload", true).await;
        client.send("half").await;
        upstream.expect("half").await;
        client.abort();
        assert_eq!(
            upstream.ending_or_cut().await,
            Ending::Cut,
            "{:?} {:?}",
            pair.front,
            pair.back
        );
    }
}

#[tokio::test]
async fn a_counted_upload_that_is_given_up_never_looks_whole_to_the_upstream() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::to(origin.addr());
    let mut wire = rig.wire().await;
    wire.send("POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 10\r\n\r\nhalf")
        .await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream.exactly(4).await;
    wire.reset();
    assert_eq!(upstream.rest().await.0, b"");
}

#[tokio::test]
async fn a_cut_stream_leaves_the_other_streams_of_its_connections_alone() {
    let mut pair = Pair::start(Front::H2c, Back::H2c).await;
    let mut h2 = pair.rig.h2().await;
    let mut streams = Vec::new();
    let mut upstreams = Vec::new();
    for path in ["/0", "/1"] {
        let request = h2.request(http::Method::GET, path).body(()).unwrap();
        streams.push(h2.open(request, true).await);
        upstreams.push(pair.upstreams.next().await);
    }
    let mut other = upstreams.pop().unwrap();
    let mut cut = upstreams.pop().unwrap();
    cut.respond(200, &[]).await;
    other.respond(200, &[]).await;
    let mut whole = streams.pop().unwrap();
    let mut broken = streams.pop().unwrap();
    let mut broken = broken.response().await.into_body();
    let mut whole = whole.response().await.into_body();
    cut.cut();
    assert!(crate::support::h2_client::read(&mut broken).await.is_err());
    other.send("fine").await;
    other.finish(&[]).await;
    assert_eq!(
        crate::support::h2_client::read(&mut whole).await.unwrap().0,
        b"fine"
    );
}

#[tokio::test]
async fn a_reader_that_stops_holds_back_the_upstream_and_not_the_proxys_memory() {
    let mut pair = Pair::start(Front::H2c, Back::H2c).await;
    let (mut client, mut upstream) = pair.open("GET", "/endless", false).await;
    upstream.respond(200, &[]).await;
    client.head().await;
    let taken = upstream.send_until_blocked(64 << 20).await;
    assert!(taken < 16 << 20, "{taken} bytes were taken although nobody reads");
    client.abort();
    upstream.until_aborted().await;
}

#[tokio::test]
async fn an_http1_connection_to_the_client_is_closed_by_the_cut_and_not_reused() {
    let mut pair = Pair::start(Front::Http1, Back::Http1).await;
    let mut wire = pair.rig.wire().await;
    wire.send(get("/")).await;
    let mut upstream = pair.upstreams.next().await;
    upstream.respond(200, &[("content-length", "10")]).await;
    upstream.send("half").await;
    wire.head().await;
    upstream.cut();
    let (bytes, end) = wire.rest().await;
    assert_eq!(bytes, b"half");
    assert!(matches!(end, End::Fin | End::Reset));
}
