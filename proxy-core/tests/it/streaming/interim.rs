//! Interim responses.

use crate::support::ends::{Back, Front, Pair};

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
