//! Interim responses.

use crate::support::ends::{Back, Front, Pair};
use crate::support::rig::{HOST, get};

#[tokio::test]
async fn early_hints_reach_the_client_before_the_final_response() {
    for front in [Front::Http1, Front::Http1Tls] {
        let mut pair = Pair::start(front, Back::Http1).await;
        let (mut client, mut upstream) = pair.open("GET", "/", false).await;
        upstream.interim(103, &[("link", "</a.css>; rel=preload")]).await;
        let hint = client.interim().await;
        assert_eq!(
            (hint.status, hint.field("link")),
            (103, Some("</a.css>; rel=preload")),
            "{:?}",
            pair.front
        );
        upstream.respond(200, &[("content-length", "0")]).await;
        assert_eq!(client.head().await.status, 200);
    }
}

#[tokio::test]
async fn several_interim_responses_come_in_order() {
    let mut pair = Pair::start(Front::Http1, Back::Http1).await;
    let (mut client, mut upstream) = pair.open("GET", "/", false).await;
    for number in ["1", "2", "3"] {
        upstream.interim(103, &[("x-number", number)]).await;
        assert_eq!(client.interim().await.field("x-number"), Some(number));
    }
    upstream.respond(204, &[]).await;
    assert_eq!(client.head().await.status, 204);
}

#[tokio::test]
async fn an_http10_client_gets_no_interim_response() {
    let mut pair = Pair::start(Front::Http1, Back::Http1).await;
    let mut wire = pair.rig.wire().await;
    wire.send(format!("GET / HTTP/1.0\r\nHost: {HOST}\r\n\r\n")).await;
    let mut upstream = pair.upstreams.next().await;
    upstream.interim(103, &[("link", "</a.css>")]).await;
    upstream.respond(200, &[("content-length", "2")]).await;
    upstream.send("ok").await;
    let (bytes, _) = wire.rest().await;
    let text = String::from_utf8_lossy(&bytes);
    assert!(
        text.starts_with("HTTP/1.") && text.contains(" 200 ") && !text.contains("103"),
        "{text}"
    );
    assert!(text.ends_with("\r\n\r\nok"), "{text}");
}

#[tokio::test]
async fn an_unasked_switch_of_protocols_is_a_502() {
    for front in [Front::Http1, Front::H2c] {
        let mut pair = Pair::start(front, Back::Http1).await;
        let (mut client, mut upstream) = pair.open("GET", "/", false).await;
        upstream
            .interim(101, &[("connection", "upgrade"), ("upgrade", "websocket")])
            .await;
        assert_eq!(client.head().await.status, 502, "{front:?}");
        upstream.until_aborted().await;
    }
}

#[tokio::test]
async fn statuses_outside_http_are_a_502() {
    for status in ["099", "600", "700", "999", "000"] {
        let reply = format!("HTTP/1.1 {status} Odd\r\nContent-Length: 0\r\n\r\n");
        let origin = crate::support::origin::Recorder::start(std::net::Ipv4Addr::LOCALHOST, move |_| {
            crate::support::origin::Reply::keep(&reply)
        })
        .await;
        let rig = crate::support::rig::Rig::to(origin.addr());
        assert_eq!(
            rig.wire().await.ask(get("/")).await.head.status(),
            502,
            "{status}"
        );
    }
}
