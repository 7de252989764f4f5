//! Many requests at once to an upstream that no connection leads to yet.

use crate::support::rig::{Rig, get};
use crate::support::secure::{Authority, Secure};
use crate::support::wire::Wire;
use crate::transport::to;

async fn burst(rig: &Rig, count: usize) -> Vec<Wire> {
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut wire = rig.wire().await;
        wire.send(get("/")).await;
        clients.push(wire);
    }
    clients
}

async fn answers(clients: &mut [Wire]) {
    for client in clients {
        let answer = client.answer().await;
        assert_eq!((answer.head.status(), answer.body.as_slice()), (200, &b"ok"[..]));
    }
}

#[tokio::test]
async fn requests_share_the_connection_that_the_first_one_opens() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["127.0.0.1"])).await;
    let options = format!("tls_trust_pool file {}", authority.file());
    let rig = to(format!("https://{}", upstream.addr()), &options);
    answers(&mut burst(&rig, 60).await).await;
    assert_eq!(upstream.accepted(), 1);
}

#[tokio::test]
async fn an_upstream_that_turns_out_to_speak_http_1_serves_them_all() {
    let authority = Authority::new();
    let config = authority.sign(&["127.0.0.1"]).server(&["http/1.1"], None);
    let upstream = Secure::with(config).await;
    let options = format!("tls_trust_pool file {}", authority.file());
    let rig = to(format!("https://{}", upstream.addr()), &options);
    for _ in 0..3 {
        answers(&mut burst(&rig, 20).await).await;
    }
}

#[tokio::test]
async fn requests_whose_connection_failed_go_to_the_next_upstream() {
    let authority = Authority::new();
    let upstream = Secure::start(authority.sign(&["127.0.0.1"])).await;
    let stranger = Secure::start(Authority::new().sign(&["127.0.0.1"])).await;
    let rig = Rig::site(&format!(
        "\treverse_proxy https://{} https://{} {{\n\t\tlb_policy first\n\t\ttransport http {{\n\t\t\ttls_trust_pool file {}\n\t\t}}\n\t}}",
        stranger.addr(),
        upstream.addr(),
        authority.file()
    ));
    answers(&mut burst(&rig, 40).await).await;
    assert_eq!(upstream.accepted(), 1);
    assert!(stranger.requests().is_empty());
}

#[tokio::test]
async fn a_client_that_leaves_while_it_opens_a_connection_takes_nobody_along() {
    use tokio::net::TcpListener;

    use crate::support::secure::accept;
    use crate::support::wait::within;

    let authority = Authority::new();
    let config = std::sync::Arc::new(authority.sign(&["127.0.0.1"]).server(&["http/1.1"], None));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = format!("tls_trust_pool file {}", authority.file());
    let rig = to(format!("https://{}", listener.local_addr().unwrap()), &options);
    let first = burst(&rig, 1).await;
    // Its handshake hangs.
    let (_hanging, _) = within("a connection", listener.accept()).await.unwrap();
    let mut second = burst(&rig, 1).await;
    drop(first);
    let (stream, _) = within("another connection", listener.accept()).await.unwrap();
    let mut upstream = Wire::over(accept(stream, &config).await);
    upstream.head().await;
    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        .await;
    answers(&mut second).await;
}
