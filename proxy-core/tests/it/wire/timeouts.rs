//! Clients that make the proxy wait: each kind of waiting has its own end. The set limits are short and the tests
//! only wait for the end to come.

use std::net::Ipv4Addr;

use crate::support::frames::{Frames, Outcome};
use crate::support::origin::{Origin, Recorder, Reply, ok};
use crate::support::rig::{HOST, Rig, get};
use crate::support::tls;
use crate::support::wire::Wire;

/// A proxy in front of `upstream` whose servers have these timeouts.
fn impatient(upstream: std::net::SocketAddr, timeouts: &str) -> Rig {
    let global =
        format!("{{\n\tadmin off\n\tservers {{\n\t\ttimeouts {{\n\t\t\t{timeouts}\n\t\t}}\n\t}}\n}}\n");
    Rig::caddyfile(&format!(
        "{global}http://{HOST}:0 {{\n\tbind 127.0.0.1\n\treverse_proxy {upstream}\n}}\n"
    ))
}

#[tokio::test]
async fn a_connection_that_never_sends_a_head_is_closed() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = impatient(origin.addr(), "read_header 300ms");
    // Only a part of a head can be answered.
    let beginnings = [
        ("", ""),
        ("G", "HTTP/1.1 408 "),
        ("GET / HTTP/1.1\r\nHost: app.test\r\n", "HTTP/1.1 408 "),
        ("PRI", ""),
        ("PRI * HTTP/2.0\r\n\r\nSM", ""),
    ];
    let mut silent = Frames::connect(&rig, &[]).await;
    let mut wires = Vec::new();
    for (beginning, answer) in beginnings {
        let mut wire = rig.wire().await;
        wire.send(beginning).await;
        wires.push((wire, beginning, answer));
    }
    for (mut wire, beginning, answer) in wires {
        let (bytes, _) = wire.rest().await;
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            text.starts_with(answer) && (text.is_empty() == answer.is_empty()),
            "{beginning:?}: {text}"
        );
    }
    assert!(
        matches!(silent.outcome(1).await, Outcome::Closed(_)),
        "nothing was asked for behind the preface"
    );
    assert_eq!(origin.accepted(), 0);
    rig.canary().await;
}

#[tokio::test]
async fn a_tls_handshake_that_does_not_come_is_closed() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let global = "{\n\tadmin off\n\tauto_https disable_redirects\n\tservers {\n\t\ttimeouts {\n\t\t\tread_header 300ms\n\t\t}\n\t}\n}\n";
    let site = format!(
        "https://{HOST}:0 {{\n\tbind 127.0.0.1\n\ttls internal\n\treverse_proxy {}\n}}\n",
        origin.addr()
    );
    let rig = Rig::caddyfile(&(global.to_owned() + &site));
    let mut silent = rig.wire().await;
    let mut partial = rig.wire().await;
    partial.send(b"\x16\x03\x01\x02\x00\x01").await;
    let mut late = Wire::over(tls::connect(rig.addr(), HOST, &[b"http/1.1"]).await);
    for wire in [&mut silent, &mut partial, &mut late] {
        wire.rest().await;
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_its_time_and_never_before_it_was_answered() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = impatient(origin.addr(), "idle 300ms");
    let mut wire = rig.wire().await;
    for _ in 0..3 {
        assert_eq!(wire.ask(get("/")).await.body, b"ok");
    }
    assert_eq!(wire.rest().await.0, b"", "closed without a word");
    let mut h2 = rig.h2().await;
    assert_eq!(h2.get("/").await.status, 200);
    assert_eq!(h2.closed().await, None, "a clean GOAWAY");
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_cut_off_and_its_upstream_is_free() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |request| match request.head.target() {
        "/large" => Reply::Keep(ok(&"x".repeat(64 << 20))),
        _ => Reply::ok("ok"),
    })
    .await;
    let rig = impatient(origin.addr(), "write_idle 300ms");
    let mut wire = rig.wire().await;
    wire.send(get("/large")).await;
    let head = wire.head().await;
    assert_eq!(head.status(), 200);
    origin.until_ended(1).await;
    let (bytes, _) = wire.rest().await;
    assert!(bytes.len() < 64 << 20, "a part of it");
    rig.canary().await;
}

#[tokio::test]
async fn a_body_that_stops_coming_ends_the_request_at_the_configured_limit() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = impatient(origin.addr(), "read_body 300ms");
    let mut wire = rig.wire().await;
    wire.send(format!(
        "POST / HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    ))
    .await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    assert_eq!(upstream.chunk().await.as_deref(), Some(b"hello".as_slice()));
    assert_eq!(wire.answer().await.head.status(), 408);
    assert_eq!(wire.rest().await.0, b"", "nothing tells where the body ends");
    assert_eq!(
        upstream.rest().await.0,
        b"",
        "the upstream sees no end of the body"
    );
}

#[tokio::test]
async fn idle_connections_keep_nobody_out() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::to(origin.addr());
    let mut idle = Vec::new();
    for _ in 0..300 {
        let mut wire = rig.wire().await;
        assert_eq!(wire.ask(get("/")).await.body, b"ok");
        idle.push(wire);
    }
    rig.canary().await;
    assert_eq!(origin.accepted(), 1, "one after the other needs one connection");
}
