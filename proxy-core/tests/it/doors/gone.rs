//! Pods that are gone: what their tabs are told, and who is never asked instead.

use http::{Method, StatusCode};

use super::pod_and_rig;
use crate::support::browser::Browser;
use crate::support::net::{Net, Server};
use crate::support::origin::{Deaf, Origin, Recorder, Reply};
use crate::support::pod::{ID_COOKIE, Pod, Protocol, token_for};
use crate::support::rig::{Doors, HOST, Rig, get, post};
use crate::support::wire::Message;

/// A server with a live pod 1, and a proxy in front of it.
async fn server_with_a_pod() -> (Server, Pod, Rig) {
    let server = Net::fresh().server(1);
    let pod = Pod::start(server.pod(1), 0).await;
    let rig = Doors::server(server, server.pod(1), pod.addr().port()).start();
    (server, pod, rig)
}

fn assert_gone(answer: &Message) {
    assert_eq!(answer.head.status(), 410);
    assert_eq!(answer.head.field("cache-control").as_deref(), Some("no-store"));
    let kind = answer.head.field("content-type").expect("the body has a type");
    assert!(kind.starts_with("text/plain"), "{kind}");
    assert!(!answer.body.is_empty() && answer.body.len() < 200, "a short body");
}

#[tokio::test]
async fn a_pod_that_refuses_the_connection_is_gone_and_nobody_else_is_asked() {
    let (server, pod, rig) = server_with_a_pod().await;
    let dead = token_for(server.pod(2));
    assert_gone(&rig.get(&format!("/~/{dead}/s/I1?t=1")).await);
    assert_gone(
        &rig.wire()
            .await
            .ask(post(&format!("/~/{dead}/h/I1/1"), "{}"))
            .await,
    );
    assert_eq!(pod.look(|state| state.seen.clone()), [""; 0]);
    rig.canary().await;
}

#[tokio::test]
async fn a_token_that_does_not_decode_is_gone() {
    let (server, pod, rig) = server_with_a_pod().await;
    let mut flipped = token_for(server.pod(1)).into_bytes();
    flipped[20] = if flipped[20] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).unwrap();
    let padded = format!("{}=", token_for(server.pod(1)));
    for token in ["doors", "%20", "AAAA", &flipped, &padded, &"A".repeat(3000)] {
        assert_gone(&rig.get(&format!("/~/{token}/r/x.js")).await);
    }
    assert_eq!(pod.look(|state| state.seen.clone()), [""; 0]);
}

#[tokio::test]
async fn a_token_outside_every_network_is_gone_and_not_dialled() {
    let elsewhere = Net::fresh().server(9);
    let bystander = Recorder::saying(elsewhere.pod(1), "never").await;
    let server = Net::fresh().server(1);
    // The same port, so that only the network keeps the proxy from this pod.
    let _pod = Pod::start(server.pod(1), bystander.addr().port()).await;
    let rig = Doors::server(server, server.pod(1), bystander.addr().port()).start();
    assert_gone(&rig.get(&format!("/~/{}/s/I1", token_for(elsewhere.pod(1)))).await);
    let metadata: std::net::Ipv4Addr = [169, 254, 169, 254].into();
    assert_gone(&rig.get(&format!("/~/{}/s/I1", token_for(metadata))).await);
    // That of the proxy itself.
    let own = std::net::Ipv4Addr::LOCALHOST;
    assert_gone(&rig.get(&format!("/~/{}/s/I1", token_for(own))).await);
    assert_eq!(bystander.accepted(), 0);
}

#[tokio::test]
async fn an_upgrade_towards_a_gone_pod_gets_410_and_no_tunnel() {
    let (_server, _pod, rig) = server_with_a_pod().await;
    let mut wire = rig.wire().await;
    let request = format!(
        "GET /~/garbage/ws HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    );
    assert_gone(&wire.ask(request).await);
}

#[tokio::test]
async fn dead_pod_status_replaces_410_for_refused_connections_alone() {
    let server = Net::fresh().server(1);
    let pod = Pod::start(server.pod(1), 0).await;
    let doors = Doors::server(server, server.pod(1), pod.addr().port()).setting("dead_pod_status 502");
    let rig = doors.start();
    let refused = rig.get(&format!("/~/{}/s/I1", token_for(server.pod(2)))).await;
    assert_eq!(refused.head.status(), 502);
    assert_gone(&rig.get("/~/garbage/s/I1").await);
}

#[tokio::test]
async fn a_pod_that_does_not_answer_the_connection_is_a_504_within_the_dial_timeout() {
    let server = Net::fresh().server(1);
    let mute = Deaf::bind((server.pod(2), 0).into());
    let _fresh = Recorder::start_at((server.pod(1), mute.addr().port()).into(), |_| Reply::ok("fresh")).await;
    let doors = Doors::server(server, server.pod(1), mute.addr().port()).transport("dial_timeout 200ms");
    let rig = doors.start();
    let answer = rig.get(&format!("/~/{}/s/I1", token_for(server.pod(2)))).await;
    assert_eq!(answer.head.status(), 504);
    rig.canary().await;
}

#[tokio::test]
async fn a_pod_that_cannot_be_reached_is_no_dead_pod() {
    // A network without a route on machines without IPv6, and without an answer on the others.
    let pod: std::net::Ipv6Addr = "2001:db8:1::5".parse().unwrap();
    let doors = Doors::in_network("2001:db8:1::/64", "127.0.0.1", 8080).transport("dial_timeout 200ms");
    let rig = doors.start();
    let answer = rig.get(&format!("/~/{}/s/I1", token_for(pod))).await;
    assert!(
        matches!(answer.head.status(), 502 | 504),
        "{}",
        answer.head.start()
    );
}

#[tokio::test]
async fn a_pod_silent_past_the_configured_first_byte_timeout_is_a_504() {
    let server = Net::fresh().server(1);
    let origin = Origin::bind(server.pod(1)).await;
    let doors = Doors::server(server, server.pod(1), origin.addr().port());
    let rig = doors.transport("response_header_timeout 200ms").start();
    let mut wire = rig.wire().await;
    wire.send(get(&format!("/~/{}/s/I1", token_for(server.pod(1)))))
        .await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    assert_eq!(wire.answer().await.head.status(), 504);
    let _given_up = upstream.rest().await;
}

#[tokio::test]
async fn a_hook_whose_pod_dies_while_answering_is_sent_once_and_reported_as_502() {
    let server = Net::fresh().server(1);
    let pod = Recorder::start(server.pod(1), |_| Reply::Reset(Vec::new())).await;
    let rig = Doors::server(server, server.pod(1), pod.addr().port()).start();
    let hook = format!("/~/{}/h/I1/1?t=1", token_for(server.pod(1)));
    assert_eq!(rig.wire().await.ask(post(&hook, "{}")).await.head.status(), 502);
    assert_eq!(pod.only_request().body, b"{}");
}

#[tokio::test]
async fn a_hook_whose_pod_is_killed_while_answering_learns_that_the_pod_is_gone() {
    let server = Net::fresh().server(1);
    let origin = Origin::bind(server.pod(1)).await;
    let rig = Doors::server(server, server.pod(1), origin.addr().port()).start();
    let mut wire = rig.wire().await;
    let hook = format!("/~/{}/h/I1/1?t=1", token_for(server.pod(1)));
    wire.send(post(&hook, "{}")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    // As a killed process does: first nobody listens any more, then its connections end.
    drop(origin);
    drop(upstream);
    assert_gone(&wire.answer().await);
}

#[tokio::test]
async fn a_pinned_page_falls_back_to_the_other_server_but_a_system_request_never_does() {
    let net = Net::fresh();
    let (down, up) = (net.server(1), net.server(2));
    let pod = Pod::start(up.pod(1), 0).await;
    let port = pod.addr().port();
    let rig = Doors::server(down, down.pod(1), port)
        .and(up, up.pod(1), port)
        .start();
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    for _ in 0..10 {
        browser.set_cookie(ID_COOKIE, &token_for(down.pod(7)));
        assert_eq!(browser.load("/").await.token, pod.token());
    }
    assert_eq!(
        browser.id_cookie(),
        Some(pod.token()),
        "the fresh server's cookie replaces the dead one's"
    );

    let seen = pod.look(|state| state.seen.len());
    let system = format!("/~/{}/s/I1?t=1", token_for(down.pod(7)));
    browser.set_cookie(ID_COOKIE, pod.token());
    assert_eq!(
        browser.exchange(Method::GET, &system, &[]).await.status,
        StatusCode::GONE
    );
    assert_eq!(
        pod.look(|state| state.seen.len()),
        seen,
        "the live server is not asked"
    );
}

#[tokio::test]
async fn a_post_to_a_page_of_a_refusing_server_may_move_but_is_never_sent_twice() {
    let net = Net::fresh();
    let (down, up) = (net.server(1), net.server(2));
    let pod = Recorder::saying(up.pod(1), "up").await;
    let port = pod.addr().port();
    let rig = Doors::server(down, down.pod(1), port)
        .and(up, up.pod(1), port)
        .start();
    let request = format!(
        "POST /form HTTP/1.1\r\nHost: {HOST}\r\nCookie: {ID_COOKIE}={}\r\nContent-Length: 2\r\n\r\nhi",
        token_for(down.pod(1))
    );
    let status = rig.wire().await.ask(request).await.head.status();
    assert!(
        matches!((status, pod.requests().len()), (200, 1) | (502, 0)),
        "{status}"
    );
}

#[tokio::test]
async fn new_visitors_never_notice_a_server_that_is_down() {
    let net = Net::fresh();
    let (down, up) = (net.server(1), net.server(2));
    let pod = Pod::start(up.pod(1), 0).await;
    let port = pod.addr().port();
    let rig = Doors::server(down, down.pod(1), port)
        .and(up, up.pod(1), port)
        .start();
    for _ in 0..20 {
        let mut browser = Browser::clear(rig.addr(), HOST).await;
        assert_eq!(browser.load("/").await.token, pod.token());
    }
    assert_eq!(pod.look(|state| state.seen.len()), 20);
}

#[tokio::test]
async fn another_pod_on_a_dead_pods_address_answers_410_itself_and_its_cookies_pass() {
    let (server, pod, rig) = server_with_a_pod().await;
    let addr = pod.addr();
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    let tab = browser.load("/").await;
    pod.kill().await;
    let heir = Pod::start(server.pod(1), addr.port()).await;
    let answer = browser.click().await;
    assert_eq!(answer.status, StatusCode::GONE);
    assert_eq!(heir.look(|state| state.gone), 1);
    let cookies: Vec<_> = answer.headers.get_all("set-cookie").iter().collect();
    assert_eq!(cookies.len(), 2, "the heir's session and id cookie");
    assert_eq!(browser.id_cookie(), Some(heir.token()));
    assert_ne!(browser.load("/").await.token, tab.token);
    assert_eq!(browser.click().await.status, StatusCode::OK);
}

#[tokio::test]
async fn the_proxy_asks_a_pod_nothing_of_its_own() {
    let (pod, rig) = pod_and_rig(Protocol::Http1).await;
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    browser.load("/").await;
    browser.click().await;
    assert_eq!(pod.look(|state| (state.seen.len(), state.sessions())), (2, 1));
    rig.stop().await;
    assert_eq!(pod.look(|state| state.seen.len()), 2);
}
