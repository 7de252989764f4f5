//! WebSockets over HTTP/2 (RFC 8441): the client asks with an extended CONNECT, the upstream sees an upgrade of HTTP/1.1,
//! and the tunnel between them ends as one of HTTP/1.1 does.

use std::net::Ipv4Addr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use h2::{Reason, RecvStream};
use http::{Method, Request};
use sha1::{Digest as _, Sha1};

use crate::support::ends::{Back, Upstreams};
use crate::support::h2_client::{H2, Stream, piece};
use crate::support::logs::AccessLog;
use crate::support::message::Head;
use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::rig::{HOST, Rig, get};
use crate::support::wait::eventually;
use crate::support::wire::{End, Wire};

/// The head that grants what `request` asks for.
fn grant(request: &Head) -> String {
    let key = request.field("sec-websocket-key").expect("a key");
    let digest = Sha1::new()
        .chain_update(key)
        .chain_update("258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
        .finalize();
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: chat\r\n\r\n",
        STANDARD.encode(digest)
    )
}

const ASKS: [(&str, &str); 2] = [
    ("sec-websocket-version", "13"),
    ("sec-websocket-protocol", "chat"),
];

/// A tunnel with both of its ends.
struct Tunnel {
    h2: H2,
    client: Stream,
    down: RecvStream,
    upstream: Wire,
}

async fn tunnel(rig: &Rig, origin: &Origin, tls: bool) -> Tunnel {
    let mut h2 = if tls {
        H2::tls(rig.addr(), HOST).await
    } else {
        rig.h2().await
    };
    let mut client = h2.tunnel("websocket", "/chat?room=1", &ASKS).await;
    let mut upstream = origin.accept().await;
    let head = upstream.head().await;
    upstream.send(grant(&head)).await;
    let response = client.response().await;
    assert_eq!(response.status(), 200);
    Tunnel {
        h2,
        client,
        down: response.into_body(),
        upstream,
    }
}

#[tokio::test]
async fn an_extended_connect_is_an_upgrade_for_the_upstream_and_carries_bytes_both_ways() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let site = format!("\treverse_proxy {}", origin.addr());
    for (rig, tls) in [(Rig::site(&site), false), (Rig::tls_site(&site), true)] {
        let mut h2 = if tls {
            H2::tls(rig.addr(), HOST).await
        } else {
            rig.h2().await
        };
        let mut client = h2.tunnel("websocket", "/chat?room=1", &ASKS).await;
        let mut upstream = origin.accept().await;
        let head = upstream.head().await;
        assert_eq!(head.start(), "GET /chat?room=1 HTTP/1.1");
        assert_eq!(head.all("host"), [HOST]);
        assert_eq!(head.members("upgrade"), ["websocket"]);
        assert_eq!(head.members("connection"), ["upgrade"]);
        assert_eq!(head.all("sec-websocket-version"), ["13"]);
        assert_eq!(head.all("sec-websocket-key").len(), 1);
        assert!(!head.has("content-length") && !head.has("transfer-encoding"));
        // What comes right behind the head is not lost.
        upstream.send(grant(&head) + "first").await;
        let response = client.response().await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["sec-websocket-protocol"], "chat");
        for name in ["connection", "upgrade", "sec-websocket-accept", "content-length"] {
            assert!(!response.headers().contains_key(name), "{name}");
        }
        let mut down = response.into_body();
        assert_eq!(piece(&mut down).await.unwrap(), "first");
        for text in ["ping", "\u{0}\u{1}binary", "HTTP/1.1 200 OK\r\n\r\n"] {
            client.send(text);
            assert_eq!(upstream.exactly(text.len()).await, text.as_bytes());
            upstream.send(text).await;
            assert_eq!(piece(&mut down).await.unwrap(), text);
        }
    }
}

#[tokio::test]
async fn tunnels_and_requests_share_a_connection() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let site = format!("\treverse_proxy /chat {}\n\trespond / plain", origin.addr());
    let rig = Rig::site(&site);
    let mut one = tunnel(&rig, &origin, false).await;
    let mut second = one.h2.tunnel("websocket", "/chat", &ASKS).await;
    let mut other = origin.accept().await;
    let head = other.head().await;
    other.send(grant(&head)).await;
    let mut down = second.response().await.into_body();
    assert_eq!(one.h2.get("/").await.body, b"plain");
    one.client.send("one");
    second.send("other");
    assert_eq!(one.upstream.exactly(3).await, b"one");
    assert_eq!(other.exactly(5).await, b"other");
    other.send("down").await;
    assert_eq!(piece(&mut down).await.unwrap(), "down");
}

#[tokio::test]
async fn an_end_one_way_leaves_the_other_way_open() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::to(origin.addr());
    let mut ends = tunnel(&rig, &origin, false).await;
    ends.client.finish();
    assert_eq!(ends.upstream.rest().await, (Vec::new(), End::Fin));
    ends.upstream.send("still talking").await;
    assert_eq!(piece(&mut ends.down).await.unwrap(), "still talking");
    ends.upstream.finish().await;
    assert_eq!(piece(&mut ends.down).await, None);

    let mut ends = tunnel(&rig, &origin, false).await;
    ends.upstream.finish().await;
    assert_eq!(piece(&mut ends.down).await, None);
    ends.client.send("still talking");
    assert_eq!(ends.upstream.exactly(13).await, b"still talking");
}

#[tokio::test]
async fn a_reset_of_the_stream_or_the_loss_of_its_connection_ends_the_upstream() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::to(origin.addr());
    for lost in [false, true] {
        let Tunnel {
            h2,
            client,
            down,
            mut upstream,
        } = tunnel(&rig, &origin, false).await;
        let kept = if lost {
            drop((client, down, h2));
            None
        } else {
            client.cancel();
            Some((down, h2))
        };
        upstream.rest().await;
        // The upstream says nothing more, and keeps its end open: nothing of the tunnel stays all the same.
        eventually("the end of the tunnel", async || {
            let upstreams = rig.control().upstreams();
            upstreams
                .iter()
                .all(|upstream| upstream.requests == 0)
                .then_some(())
        })
        .await;
        drop(kept);
    }
}

#[tokio::test]
async fn a_reset_of_the_upstream_ends_the_stream() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::to(origin.addr());
    let mut ends = tunnel(&rig, &origin, false).await;
    ends.upstream.reset();
    let end = crate::support::wait::within("the end of the stream", ends.down.data()).await;
    assert!(!matches!(end, Some(Ok(data)) if !data.is_empty()));
}

#[tokio::test]
async fn a_refused_upgrade_is_an_ordinary_answer() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |request| match request.head.target() {
        "/forbidden" => Reply::keep("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"),
        "/elsewhere" => Reply::keep("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"),
        _ => Reply::ok("looks like a tunnel"),
    })
    .await;
    let rig = Rig::to(origin.addr());
    let mut h2 = rig.h2().await;
    let answer = h2.tunnel("websocket", "/forbidden", &ASKS).await.answer().await;
    assert_eq!((answer.status.as_u16(), answer.body), (403, b"no".to_vec()));
    let answer = h2.tunnel("websocket", "/elsewhere", &ASKS).await.answer().await;
    assert_eq!(answer.status, 302);
    let answer = h2.tunnel("websocket", "/fine", &ASKS).await.answer().await;
    assert_eq!((answer.status.as_u16(), answer.body), (501, Vec::new()));
    assert_eq!(h2.get("/next").await.status, 200);
    for request in origin.requests().iter().take(3) {
        assert_eq!(request.head.method(), "GET");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_prove_that_the_key_was_read_is_a_502() {
    for accept in ["Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n", ""] {
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{accept}\r\n"
        );
        let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| Reply::keep(&head)).await;
        let rig = Rig::to(origin.addr());
        let mut h2 = rig.h2().await;
        let answer = h2.tunnel("websocket", "/", &ASKS).await.answer().await;
        assert_eq!(answer.status, 502);
    }
}

#[tokio::test]
async fn other_tunnels_are_refused_and_reach_no_upstream() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::to(origin.addr());
    let mut h2 = rig.h2().await;
    for protocol in ["connect-udp", "h2c", "websocket2"] {
        let answer = h2.tunnel(protocol, "/", &[]).await.answer().await;
        assert_eq!(answer.status, 501, "{protocol}");
    }
    let plain = Request::builder()
        .method(Method::CONNECT)
        .uri("app.test:443")
        .body(())
        .unwrap();
    assert_eq!(h2.open(plain, false).await.answer().await.status, 405);
    assert_eq!(origin.accepted(), 0);
}

#[tokio::test]
async fn what_answers_itself_opens_no_tunnel() {
    let rig = Rig::site("\trespond /teapot 418\n\trespond \"no tunnel\"");
    let mut h2 = rig.h2().await;
    let answer = h2.tunnel("websocket", "/", &ASKS).await.answer().await;
    assert_eq!((answer.status.as_u16(), answer.body), (501, Vec::new()));
    assert_eq!(
        h2.tunnel("websocket", "/teapot", &ASKS)
            .await
            .answer()
            .await
            .status,
        418
    );
    assert_eq!(h2.get("/").await.body, b"no tunnel");
}

#[tokio::test]
async fn routes_see_an_upgrade_and_the_access_log_the_connect() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let log = AccessLog::new();
    let site = format!(
        "{}\t@socket {{\n\t\tmethod GET\n\t\theader Connection *Upgrade*\n\t\theader Upgrade websocket\n\t}}\n\
         \treverse_proxy @socket {}",
        log.directive(),
        origin.addr()
    );
    let rig = Rig::site(&site);
    let ends = tunnel(&rig, &origin, false).await;
    let line = &log.until_lines(1).await[0];
    assert_eq!(line["request"]["method"], "CONNECT");
    assert_eq!(
        (&line["status"], &line["request"]["proto"]),
        (&200.into(), &"HTTP/2.0".into())
    );
    drop(ends);
}

#[tokio::test]
async fn a_tunnel_outlives_reloads_and_ends_with_the_proxy() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let text = |directives: &str| {
        format!(
            "{{\n\tadmin off\n\tgrace_period 1s\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n{directives}\n}}\n"
        )
    };
    let rig = Rig::caddyfile(&text(&format!("\treverse_proxy {}", origin.addr())));
    let mut ends = tunnel(&rig, &origin, false).await;
    for number in 0..10 {
        rig.reload(&text(&format!("\trespond {number}"))).await;
    }
    ends.client.send("ping");
    assert_eq!(ends.upstream.exactly(4).await, b"ping");
    ends.upstream.send("pong").await;
    assert_eq!(piece(&mut ends.down).await.unwrap(), "pong");
    rig.stop().await;
    ends.upstream.rest().await;
    assert_eq!(
        ends.h2.closed().await.unwrap_or(Reason::NO_ERROR),
        Reason::NO_ERROR
    );
}

#[tokio::test]
async fn a_tunnel_is_closed_after_its_time_although_it_is_in_use() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::site(&format!(
        "\treverse_proxy {} {{\n\t\tstream_timeout 500ms\n\t}}\n\trespond /plain plain",
        origin.addr()
    ));
    let mut ends = tunnel(&rig, &origin, false).await;
    ends.client.send("ping");
    assert_eq!(ends.upstream.exactly(4).await, b"ping");
    ends.upstream.rest().await;
    let end = crate::support::wait::within("the end of the stream", ends.down.data()).await;
    assert!(!matches!(end, Some(Ok(data)) if !data.is_empty()));
}

#[tokio::test]
async fn a_tunnel_whose_listener_goes_stays_for_its_close_delay() {
    let text = |upstream: std::net::SocketAddr, ip: &str, delay: &str| {
        format!(
            "{{\n\tadmin off\n\tgrace_period 1s\n}}\nhttp://{HOST}:0 {{\n\tbind {ip}\n\treverse_proxy {upstream} {{\n\t\t\
             stream_close_delay {delay}\n\t}}\n}}\n"
        )
    };
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let kept = Rig::caddyfile(&text(origin.addr(), "127.0.0.1", "1m"));
    let gone = Rig::caddyfile(&text(origin.addr(), "127.0.0.1", "0s"));
    let mut stays = tunnel(&kept, &origin, false).await;
    let mut soon = tunnel(&gone, &origin, false).await;
    kept.reload(&text(origin.addr(), "127.0.0.2", "1m")).await;
    gone.reload(&text(origin.addr(), "127.0.0.2", "0s")).await;
    soon.upstream.rest().await;
    stays.client.send("ping");
    assert_eq!(stays.upstream.exactly(4).await, b"ping");
    stays.upstream.send("pong").await;
    assert_eq!(piece(&mut stays.down).await.unwrap(), "pong");
}

#[tokio::test]
async fn an_upstream_of_h2c_is_asked_without_the_upgrade() {
    let mut upstreams = Upstreams::bind(Back::H2c).await;
    let rig = Rig::to_h2c(upstreams.addr());
    let mut client = rig.wire().await;
    let upgrade = "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    client.send(get("/chat").replace("\r\n\r\n", upgrade)).await;
    let mut upstream = upstreams.next().await;
    assert_eq!(
        (upstream.method(), upstream.target()),
        ("GET".into(), "/chat".into())
    );
    assert!(upstream.fields("upgrade").is_empty() && upstream.fields("connection").is_empty());
    upstream.respond(200, &[]).await;
    upstream.send("no tunnel").await;
    upstream.finish(&[]).await;
    let answer = client.answer().await;
    assert_eq!(
        (answer.head.status(), answer.body.as_slice()),
        (200, &b"no tunnel"[..])
    );

    let mut h2 = rig.h2().await;
    let tunnel = h2.tunnel("websocket", "/chat", &ASKS).await;
    let mut upstream = upstreams.next().await;
    assert_eq!(upstream.method(), "GET");
    upstream.respond(200, &[]).await;
    assert_eq!(tunnel.answer().await.status, 501);
}
