//! WebSocket and other upgrades: a tunnel only after 101, and not one byte lost around the switch.

use std::net::Ipv4Addr;

use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::rig::{HOST, Rig, get};
use crate::support::wire::{End, Wire};

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                      Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

fn handshake(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
}

/// A client and an upstream with a tunnel between them.
async fn tunnel() -> (Rig, Wire, Wire) {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::to(origin.addr());
    let mut client = rig.wire().await;
    client.send(handshake("/chat")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream.send(SWITCH).await;
    assert_eq!(client.head().await.status(), 101);
    (rig, client, upstream)
}

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways_and_its_head_is_whole() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::to(origin.addr());
    for tls in [false, true] {
        let tls_rig = Rig::tls_site(&format!("\treverse_proxy {}", origin.addr()));
        let mut client = if tls {
            tls_rig.tls_wire().await
        } else {
            rig.wire().await
        };
        client.send(handshake("/chat?room=1")).await;
        let mut upstream = origin.accept().await;
        let head = upstream.head().await;
        assert_eq!(head.target(), "/chat?room=1");
        assert_eq!(head.members("upgrade"), ["websocket"]);
        assert!(head.members("connection").contains(&"upgrade".to_owned()));
        assert_eq!(
            head.field("sec-websocket-key").as_deref(),
            Some("dGhlIHNhbXBsZSBub25jZQ==")
        );
        assert!(!head.has("content-length") && !head.has("transfer-encoding"));
        upstream.send(SWITCH).await;
        let answer = client.head().await;
        assert_eq!(answer.status(), 101);
        assert_eq!(answer.members("upgrade"), ["websocket"]);
        assert!(answer.members("connection").contains(&"upgrade".to_owned()));
        assert_eq!(
            answer.field("sec-websocket-accept").as_deref(),
            Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        );
        for text in ["ping", "\u{0}\u{1}binary", "HTTP/1.1 200 OK\r\n\r\n"] {
            client.send(text).await;
            assert_eq!(upstream.exactly(text.len()).await, text.as_bytes());
            upstream.send(text).await;
            assert_eq!(client.exactly(text.len()).await, text.as_bytes());
        }
    }
}

#[tokio::test]
async fn bytes_behind_the_handshake_are_kept_on_both_sides() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::to(origin.addr());
    let mut client = rig.wire().await;
    client.send(handshake("/") + "client first").await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream.send(SWITCH.to_owned() + "upstream first").await;
    assert_eq!(client.head().await.status(), 101);
    assert_eq!(client.exactly(14).await, b"upstream first");
    assert_eq!(upstream.exactly(12).await, b"client first");
}

#[tokio::test]
async fn an_end_one_way_leaves_the_other_way_open() {
    let (_rig, mut client, mut upstream) = tunnel().await;
    client.finish().await;
    assert_eq!(upstream.rest().await, (Vec::new(), End::Fin));
    upstream.send("still talking").await;
    assert_eq!(client.exactly(13).await, b"still talking");
    upstream.finish().await;
    assert_eq!(client.rest().await, (Vec::new(), End::Fin));

    let (_rig, mut client, mut upstream) = tunnel().await;
    upstream.finish().await;
    assert_eq!(client.rest().await, (Vec::new(), End::Fin));
    client.send("still talking").await;
    assert_eq!(upstream.exactly(13).await, b"still talking");
}

#[tokio::test]
async fn a_reset_on_one_side_ends_the_other() {
    let (_rig, client, mut upstream) = tunnel().await;
    client.reset();
    upstream.rest().await;
    let (_rig, mut client, upstream) = tunnel().await;
    upstream.reset();
    client.rest().await;
}

#[tokio::test]
async fn a_refused_upgrade_is_an_ordinary_response_on_a_reusable_connection() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |request| {
        let status = request.head.target().trim_start_matches('/').to_owned();
        let fields = "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2";
        match status.parse::<u16>() {
            Err(_) => Reply::ok("next"),
            Ok(status) => Reply::keep(format!("HTTP/1.1 {status} Odd\r\n{fields}\r\n\r\nno")),
        }
    })
    .await;
    let rig = Rig::to(origin.addr());
    for status in [200, 403, 426, 503] {
        let mut wire = rig.wire().await;
        let refused = wire.ask(handshake(&format!("/{status}"))).await;
        assert_eq!(
            (refused.head.status(), refused.body.as_slice()),
            (status, b"no".as_slice())
        );
        assert!(
            !refused.head.has("upgrade"),
            "a hop-by-hop field of a response that switches nothing"
        );
        assert_eq!(wire.ask(get("/next")).await.body, b"next", "{status}");
        rig.canary().await;
    }
}

#[tokio::test]
async fn a_switch_to_another_protocol_than_asked_is_a_502() {
    let wrong = [
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n",
        // Who asked with a key has no proof that it was read.
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    ];
    for head in wrong {
        let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
        let rig = Rig::to(origin.addr());
        let mut client = rig.wire().await;
        client.send(handshake("/")).await;
        let mut upstream = origin.accept().await;
        upstream.head().await;
        upstream.send(head).await;
        assert_eq!(client.answer().await.head.status(), 502, "{head:?}");
        upstream.rest().await;
    }
}

#[tokio::test]
async fn fields_of_the_hop_are_taken_off_a_101_and_the_upgrade_is_kept() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::to(origin.addr());
    let mut client = rig.wire().await;
    client.send(handshake("/")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade, X-A, Keep-Alive\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\
             X-A: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nX-B: 2\r\n\r\n",
        )
        .await;
    let head = client.head().await;
    assert_eq!(head.status(), 101);
    for name in ["x-a", "keep-alive", "proxy-authenticate"] {
        assert!(!head.has(name), "{name}");
    }
    assert_eq!(head.field("x-b").as_deref(), Some("2"));
    assert_eq!(head.members("connection"), ["upgrade"]);
}

#[tokio::test]
async fn an_upgrade_that_is_none_is_not_forwarded() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "plain").await;
    let rig = Rig::to(origin.addr());
    let requests = [
        format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nUpgrade: websocket\r\n\r\n"),
        format!("GET / HTTP/1.0\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
        format!(
            "GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n"
        ),
    ];
    for request in requests {
        assert_eq!(rig.wire().await.ask(&request).await.body, b"plain", "{request}");
    }
    for request in origin.requests() {
        assert!(!request.head.has("upgrade"), "{:?}", request.head);
        assert!(!request.head.members("connection").contains(&"upgrade".to_owned()));
        assert!(!request.head.has("http2-settings"));
    }
}

#[tokio::test]
async fn an_upgrade_with_a_body_frames_the_body_and_opens_no_tunnel_before_101() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "plain").await;
    let rig = Rig::to(origin.addr());
    let hidden = format!("GET /hidden HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
    let request = handshake("/").replace(
        "\r\n\r\n",
        &format!("\r\nContent-Length: {}\r\n\r\n{hidden}", hidden.len()),
    );
    rig.wire().await.ask(request).await;
    let targets: Vec<_> = origin
        .requests()
        .iter()
        .map(|request| request.head.target().to_owned())
        .collect();
    assert_eq!(targets, ["/"]);
}

#[tokio::test]
async fn tunnels_come_and_go_without_wearing_the_proxy_out() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::to(origin.addr());
    for _ in 0..100 {
        let mut client = rig.wire().await;
        client.send(handshake("/")).await;
        let mut upstream = origin.accept().await;
        upstream.head().await;
        upstream.send(SWITCH).await;
        assert_eq!(client.head().await.status(), 101);
        drop(client);
        upstream.rest().await;
    }
    assert!(origin.is_idle().await);
}
