//! Stopping: nothing new is accepted, what runs is finished or, after the grace period, cut and counted.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpStream;

use crate::support::ends::{Back, Ending, Front, Pair};
use crate::support::h2_client;
use crate::support::net::Net;
use crate::support::origin::{Origin, Recorder};
use crate::support::pod::Pod;
use crate::support::rig::{Doors, HOST, Rig, get};
use crate::support::wait::eventually;
use crate::support::wire::End;

/// Waits until nothing listens on `addr` any more.
async fn until_refused(addr: SocketAddr) {
    eventually("a refused connection", async || {
        TcpStream::connect(addr).await.is_err().then_some(())
    })
    .await;
}

/// A site that gives requests in flight this long to end.
fn with_grace(grace: &str, upstream: SocketAddr) -> Rig {
    let global = format!("{{\n\tadmin off\n\tgrace_period {grace}\n}}\n");
    Rig::caddyfile(
        &(global + &format!("http://{HOST}:0 {{\n\tbind 127.0.0.1\n\treverse_proxy {upstream}\n}}\n")),
    )
}

#[tokio::test]
async fn a_stop_without_traffic_is_immediate_and_leaves_nothing() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::to(origin.addr());
    rig.canary().await;
    let addr = rig.addr();
    let report = rig.stop().await;
    assert!(report.drained);
    assert_eq!((report.connections_left, report.requests_left), (0, 0));
    until_refused(addr).await;
}

#[tokio::test]
async fn idle_connections_are_closed_and_do_not_hold_the_stop_up() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::to(origin.addr());
    let mut fresh = rig.wire().await;
    let mut used = rig.wire().await;
    assert_eq!(used.ask(get("/")).await.body, b"ok");
    let mut h2 = rig.h2().await;
    assert_eq!(h2.get("/").await.status, 200);
    rig.canary().await;
    let report = rig.stop().await;
    assert!(report.drained, "{report:?}");
    assert_eq!(used.rest().await, (Vec::new(), End::Fin));
    assert_eq!(fresh.rest().await.0, b"");
    assert_eq!(h2.closed().await, None, "a clean GOAWAY");
}

#[tokio::test]
async fn a_request_in_flight_is_finished_and_its_connection_closed_after_it() {
    let mut pair = Pair::start(Front::Http1, Back::Http1).await;
    let mut wire = pair.rig.wire().await;
    wire.send(get("/slow")).await;
    let mut upstream = pair.upstreams.next().await;
    let addr = pair.rig.addr();
    pair.rig.begin_stop();
    until_refused(addr).await;
    upstream.respond(200, &[("content-length", "4")]).await;
    upstream.send("done").await;
    let answer = wire.answer().await;
    assert_eq!(
        (answer.head.status(), answer.body.as_slice()),
        (200, b"done".as_slice())
    );
    assert_eq!(answer.head.members("connection"), ["close"]);
    assert_eq!(wire.rest().await, (Vec::new(), End::Fin));
    assert!(pair.rig.until_stopped().await.drained);
}

#[tokio::test]
async fn streams_of_http2_run_on_after_the_goaway() {
    let mut pair = Pair::start(Front::H2c, Back::Http1).await;
    let mut h2 = pair.rig.h2().await;
    let request = h2.request(http::Method::GET, "/slow").body(()).unwrap();
    let mut stream = h2.open(request, true).await;
    let mut upstream = pair.upstreams.next().await;
    upstream.respond(200, &[]).await;
    upstream.send("before").await;
    let mut body = stream.response().await.into_body();
    assert_eq!(h2_client::piece(&mut body).await.unwrap(), "before");
    pair.rig.begin_stop();
    eventually("a connection that takes no new stream", async || {
        let request = h2.request(http::Method::GET, "/new").body(()).unwrap();
        match h2.try_open(request, true).await {
            Err(_) => Some(()),
            // One that slipped in before the GOAWAY is served like any other.
            Ok(mut stream) => tokio::select! {
                response = stream.try_response() => response.is_err().then_some(()),
                mut slipped = pair.upstreams.next() => {
                    slipped.respond(200, &[]).await;
                    slipped.finish(&[]).await;
                    None
                }
            },
        }
    })
    .await;
    upstream.send("after").await;
    assert_eq!(h2_client::piece(&mut body).await.unwrap(), "after");
    upstream.finish(&[]).await;
    assert_eq!(h2_client::read(&mut body).await.unwrap().0, b"");
    assert!(pair.rig.until_stopped().await.drained);
    assert_eq!(h2.closed().await, None, "a GOAWAY without an error");
}

#[tokio::test]
async fn a_sync_stream_of_a_tab_survives_the_goaway_until_it_is_rolled() {
    let server = Net::fresh().server(1);
    let pod = Pod::start(server.pod(1), 0).await;
    let rig = Doors::server(server, server.pod(1), pod.addr().port()).start();
    let mut browser = crate::support::browser::Browser::clear(rig.addr(), HOST).await;
    let tab = browser.load("/").await;
    let sync = browser.sync().await;
    pod.until_synced(&tab.instance).await;
    let addr = rig.addr();
    rig.begin_stop();
    until_refused(addr).await;
    pod.roll(&tab.instance);
    assert_eq!(sync.answer().await.body, b"\x02\xff");
    assert!(rig.until_stopped().await.drained);
}

#[tokio::test]
async fn what_is_left_after_the_grace_period_is_cut_and_counted() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = with_grace("300ms", origin.addr());
    let mut waiting = rig.wire().await;
    waiting.send(get("/never")).await;
    let mut first = origin.accept().await;
    first.head().await;
    let mut streaming = rig.wire().await;
    streaming.send(get("/endless")).await;
    let mut second = origin.accept().await;
    second.head().await;
    second
        .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n")
        .await;
    streaming.head().await;
    let mut h2 = rig.h2().await;
    let request = h2.request(http::Method::GET, "/never").body(()).unwrap();
    let mut stream = h2.open(request, true).await;
    let mut third = origin.accept().await;
    third.head().await;

    let report = rig.stop().await;
    assert!(!report.drained);
    assert_eq!((report.connections_left, report.requests_left), (3, 3));
    assert!(!waiting.rest().await.0.starts_with(b"HTTP/1.1 200"));
    assert!(
        !streaming.rest().await.0.ends_with(b"0\r\n\r\n"),
        "never a clean end"
    );
    assert!(stream.try_response().await.is_err());
    for upstream in [&mut first, &mut second, &mut third] {
        assert_eq!(upstream.rest().await.0, b"");
    }
}

#[tokio::test]
async fn a_tunnel_does_not_hold_the_stop_up_for_ever() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = with_grace("300ms", origin.addr());
    let mut client = rig.wire().await;
    client
        .send(format!(
            "GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n"
        ))
        .await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n")
        .await;
    assert_eq!(client.head().await.status(), 101);
    let report = rig.stop().await;
    assert!(!report.drained, "{report:?}");
    assert_eq!(report.connections_left, 1);
    client.rest().await;
    upstream.rest().await;
}

#[tokio::test]
async fn an_upload_in_flight_is_finished_too() {
    for front in [Front::Http1, Front::H2c] {
        let mut pair = Pair::start(front, Back::Http1).await;
        let (mut client, mut upstream) = pair.open("POST", "/upload", true).await;
        client.send("before").await;
        upstream.expect("before").await;
        let addr = pair.rig.addr();
        pair.rig.begin_stop();
        until_refused(addr).await;
        client.send("after").await;
        upstream.expect("after").await;
        client.finish(&[]).await;
        assert_eq!(upstream.ending().await, Ending::Clean(Vec::new()));
        upstream.respond(200, &[("content-length", "0")]).await;
        assert_eq!(client.head().await.status, 200);
        assert!(pair.rig.until_stopped().await.drained, "{front:?}");
    }
}

#[tokio::test]
async fn the_same_port_can_be_taken_by_the_next_proxy_at_once() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let ip = Net::fresh().pod(1);
    let text = |port: u16| {
        format!(
            "{{\n\tadmin off\n}}\nhttp://{HOST}:{port} {{\n\tbind {ip}\n\treverse_proxy {}\n}}\n",
            origin.addr()
        )
    };
    let rig = Rig::caddyfile(&text(0));
    rig.canary().await;
    let addr = rig.addr();
    rig.stop().await;
    let next = Rig::caddyfile(&text(addr.port()));
    assert_eq!(next.addr(), addr);
    next.canary().await;
}

#[tokio::test]
async fn clients_that_retry_on_a_clean_close_see_no_failure_through_a_restart() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let ip = Net::fresh().pod(1);
    let text = |port: u16| {
        format!(
            "{{\n\tadmin off\n}}\nhttp://{HOST}:{port} {{\n\tbind {ip}\n\treverse_proxy {}\n}}\n",
            origin.addr()
        )
    };
    let first = Rig::caddyfile(&text(0));
    let addr = first.addr();
    let mut wires = Vec::new();
    for _ in 0..20 {
        let mut wire = first.wire().await;
        assert_eq!(wire.ask(get("/")).await.body, b"ok");
        wires.push(wire);
    }
    // In flight on every connection when the stop begins.
    for wire in &mut wires {
        wire.send(get("/")).await;
    }
    first.begin_stop();
    for wire in &mut wires {
        let (bytes, end) = wire.rest().await;
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            bytes.is_empty() || (text.starts_with("HTTP/1.1 200") && text.ends_with("ok")),
            "{text}"
        );
        assert_eq!(
            end,
            End::Fin,
            "an answer or a clean close, so that a retry is safe"
        );
    }
    assert!(first.until_stopped().await.drained);
    let next = Rig::caddyfile(&text(addr.port()));
    next.canary().await;
}

#[tokio::test]
async fn an_upload_whose_answer_came_early_does_not_hold_the_stop_up() {
    let mut pair = Pair::start(Front::H2c, Back::Http1).await;
    let mut h2 = pair.rig.h2().await;
    let request = h2.request(http::Method::POST, "/").body(()).unwrap();
    let mut stream = h2.open(request, false).await;
    let mut upstream = pair.upstreams.next().await;
    pair.rig.begin_stop();
    upstream.respond(503, &[("content-length", "0")]).await;
    assert_eq!(stream.response().await.status(), 503);
    assert!(pair.rig.until_stopped().await.drained);
}
