//! What is sent again and what never is: a request that may have reached an application is not repeated.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::dns::DnsServer;
use crate::support::net::Net;
use crate::support::origin::{Origin, Recorded, Recorder, Reply, ok};
use crate::support::rig::{HOST, Rig, get, post};

/// An upstream that answers the first request of every connection and treats the later ones by `script`.
async fn after_the_first(script: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Recorder {
    let last = AtomicUsize::new(usize::MAX);
    Recorder::start(Ipv4Addr::LOCALHOST, move |request| {
        let first = last.swap(request.connection, Ordering::Relaxed) != request.connection;
        if first {
            Reply::ok("fresh")
        } else {
            script(request)
        }
    })
    .await
}

#[tokio::test]
async fn a_post_that_a_pooled_connection_swallowed_is_never_sent_again() {
    for reset in [false, true] {
        let origin = after_the_first(move |_| {
            if reset {
                Reply::Reset(vec![])
            } else {
                Reply::Close(vec![])
            }
        })
        .await;
        let rig = Rig::to(origin.addr());
        assert_eq!(rig.get("/warm").await.head.status(), 200);
        assert_eq!(
            rig.wire().await.ask(post("/order", "one")).await.head.status(),
            502
        );
        let orders = origin
            .requests()
            .iter()
            .filter(|request| request.head.target() == "/order")
            .count();
        assert_eq!((orders, origin.accepted()), (1, 1), "reset: {reset}");
        rig.canary().await;
    }
}

#[tokio::test]
async fn a_get_on_a_pooled_connection_that_closes_without_a_byte_is_sent_once_more_on_a_fresh_one() {
    for reset in [false, true] {
        let origin = after_the_first(move |_| {
            if reset {
                Reply::Reset(vec![])
            } else {
                Reply::Close(vec![])
            }
        })
        .await;
        let rig = Rig::to(origin.addr());
        for target in ["/warm", "/again"] {
            assert_eq!(rig.get(target).await.body, b"fresh", "reset: {reset}");
        }
        let targets: Vec<_> = origin
            .requests()
            .iter()
            .map(|request| request.head.target().to_owned())
            .collect();
        assert_eq!(targets, ["/warm", "/again", "/again"]);
    }
}

#[tokio::test]
async fn a_head_and_an_options_request_are_safe_too_and_a_put_or_delete_is_not_retried() {
    for (method, tries) in [
        ("HEAD", 2),
        ("OPTIONS", 2),
        ("PUT", 1),
        ("DELETE", 1),
        ("PATCH", 1),
    ] {
        let origin = after_the_first(|_| Reply::Close(vec![])).await;
        let rig = Rig::to(origin.addr());
        assert_eq!(rig.get("/warm").await.head.status(), 200);
        let mut wire = rig.wire().await;
        wire.send(format!(
            "{method} /x HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 0\r\n\r\n"
        ))
        .await;
        let status = wire.head().await.status();
        assert_eq!(status, if tries == 2 { 200 } else { 502 }, "{method}");
        let sent = origin
            .requests()
            .iter()
            .filter(|request| request.head.target() == "/x")
            .count();
        assert_eq!(sent, tries, "{method}");
    }
}

#[tokio::test]
async fn a_get_is_not_repeated_on_a_fresh_connection_that_dies() {
    for reset in [false, true] {
        let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| {
            if reset {
                Reply::Reset(vec![])
            } else {
                Reply::Close(vec![])
            }
        })
        .await;
        let rig = Rig::to(origin.addr());
        assert_eq!(rig.get("/x").await.head.status(), 502);
        assert_eq!(origin.requests().len(), 1, "it may have reached an application");
    }
}

#[tokio::test]
async fn a_get_is_not_repeated_once_a_byte_of_the_answer_came() {
    let origin = after_the_first(|_| Reply::Close(b"HTTP/1.1 20".to_vec())).await;
    let rig = Rig::to(origin.addr());
    assert_eq!(rig.get("/warm").await.head.status(), 200);
    assert_eq!(rig.get("/x").await.head.status(), 502);
    assert_eq!(origin.requests().len(), 2);
}

#[tokio::test]
async fn a_get_with_a_body_is_not_repeated_although_its_method_is_safe() {
    let origin = after_the_first(|_| Reply::Close(vec![])).await;
    let rig = Rig::to(origin.addr());
    assert_eq!(rig.get("/warm").await.head.status(), 200);
    let request = format!("GET /search HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 5\r\n\r\nquery");
    let status = rig.wire().await.ask(request).await.head.status();
    let sent = origin
        .requests()
        .iter()
        .filter(|request| request.head.target() == "/search")
        .count();
    assert_eq!((status, sent), (502, 1));
}

#[tokio::test]
async fn a_pooled_connection_that_was_closed_while_idle_costs_no_request() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| Reply::Close(ok("then closed"))).await;
    let rig = Rig::to(origin.addr());
    for round in 1..=5 {
        assert_eq!(
            rig.wire().await.ask(post("/order", "x")).await.body,
            b"then closed"
        );
        origin.until_ended(round).await;
    }
    assert_eq!(origin.requests().len(), 5, "each order exactly once");
}

#[tokio::test]
async fn kept_connections_are_reused_one_after_the_other() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::to(origin.addr());
    let mut wire = rig.wire().await;
    for _ in 0..20 {
        assert_eq!(wire.ask(get("/")).await.body, b"ok");
        assert_eq!(wire.ask(post("/", "body")).await.body, b"ok");
    }
    assert_eq!((origin.requests().len(), origin.accepted()), (40, 1));
}

#[tokio::test]
async fn a_clients_close_does_not_close_the_upstream_and_an_upstreams_close_does_not_close_the_client() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::to(origin.addr());
    for _ in 0..3 {
        let mut wire = rig.wire().await;
        wire.ask(format!(
            "GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
        ))
        .await;
        assert_eq!(wire.rest().await.0, b"");
    }
    assert_eq!(origin.accepted(), 1);

    let closing = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::Close(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".to_vec())
    })
    .await;
    let rig = Rig::to(closing.addr());
    let mut wire = rig.wire().await;
    for _ in 0..3 {
        assert_eq!(wire.ask(get("/")).await.body, b"ok");
    }
    assert_eq!(closing.accepted(), 3);
}

#[tokio::test]
async fn a_response_with_length_and_chunks_is_read_by_its_chunks_and_sent_on_with_one_framing() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n";
        Reply::keep(format!("{head}4\r\nfour\r\n0\r\n\r\n"))
    })
    .await;
    let rig = Rig::to(origin.addr());
    let answer = rig.get("/").await;
    match answer.head.status() {
        200 => assert_eq!(answer.body, b"four"),
        status => assert_eq!(status, 502),
    }
    let mut h2 = rig.h2().await;
    let answer = h2.get("/").await;
    assert!(answer.status == 502 || answer.body == b"four", "{answer:?}");
    assert!(!answer.headers.contains_key("transfer-encoding"));
}

#[tokio::test]
async fn every_address_of_a_name_is_tried_before_a_502_and_none_of_them_twice() {
    let server = Net::fresh().server(1);
    let dns = DnsServer::start().await;
    let alive = Recorder::saying(server.pod(3), "alive").await;
    let port = alive.addr().port();
    dns.set(
        "svc.test",
        &[server.pod(1).into(), server.pod(2).into(), server.pod(3).into()],
        30,
    );
    let site = |name: &str| {
        let transport = format!("\t\ttransport http {{\n\t\t\tresolvers {}\n\t\t}}", dns.address());
        Rig::site(&format!("\treverse_proxy {name}:{port} {{\n{transport}\n\t}}"))
    };
    let rig = site("svc.test");
    for _ in 0..6 {
        assert_eq!(rig.get("/").await.body, b"alive");
        assert_eq!(
            rig.wire().await.ask(post("/", "x")).await.body,
            b"alive",
            "a refused connection took no byte"
        );
    }
    dns.set("dead.test", &[server.pod(1).into(), server.pod(2).into()], 30);
    let dead = site("dead.test");
    assert_eq!(dead.get("/").await.head.status(), 502);
    assert_eq!(dead.wire().await.ask(post("/", "x")).await.head.status(), 502);
}

#[tokio::test]
async fn an_upstream_that_is_down_is_a_quick_502_and_back_as_soon_as_it_listens() {
    let origin = Origin::bind(Net::fresh().pod(1)).await;
    let addr = origin.addr();
    drop(origin);
    let rig = Rig::to(addr);
    for _ in 0..50 {
        let answer = rig.get("/").await;
        assert_eq!(answer.head.status(), 502);
        assert!(
            answer.body.len() < 200 && !answer.head.has("server"),
            "{:?}",
            answer.head
        );
    }
    let back = Recorder::start_at(addr, |_| Reply::ok("back")).await;
    assert_eq!(rig.get("/").await.body, b"back");
    drop(back);
}

#[tokio::test]
async fn an_h2c_upstream_that_refuses_a_stream_before_working_on_it_is_asked_again() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::to_h2c(origin.addr());
    let mut wire = rig.wire().await;
    wire.send(post("/order", "once")).await;
    let stream = origin.accept_stream().await;
    let mut server = h2::server::handshake(stream).await.unwrap();
    let (_request, mut answer) = server.accept().await.unwrap().unwrap();
    answer.send_reset(h2::Reason::REFUSED_STREAM);
    let answering = async {
        loop {
            tokio::select! {
                Some(Ok((_, mut answer))) = server.accept() => {
                    answer.send_response(http::Response::builder().status(204).body(()).unwrap(), true).unwrap();
                }
                stream = origin.accept_stream() => server = h2::server::handshake(stream).await.unwrap(),
            }
        }
    };
    let status = tokio::select! {
        answer = wire.answer() => answer.head.status(),
        () = answering => unreachable!("it never ends"),
    };
    assert!(
        matches!(status, 204 | 502),
        "{status}: REFUSED_STREAM says that nothing was done, so a retry is safe"
    );
}

#[tokio::test]
async fn a_proxy_that_points_at_itself_gives_up_after_some_hops() {
    let ip = Net::fresh().pod(1);
    let port = Origin::bind(ip).await.addr().port();
    let text =
        format!("{{\n\tadmin off\n}}\nhttp://:{port} {{\n\tbind {ip}\n\treverse_proxy {ip}:{port}\n}}\n");
    let rig = Rig::caddyfile(&text);
    assert_eq!(rig.get("/").await.head.status(), 508);
}

#[tokio::test]
async fn a_whole_body_is_sent_again_where_that_is_wanted_whether_or_not_requests_are_logged() {
    let log = crate::support::logs::AccessLog::new();
    for logged in ["", &log.directive()] {
        let swallows = Recorder::start(Ipv4Addr::LOCALHOST, |_| Reply::Close(vec![])).await;
        let answers = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
        let rig = Rig::site(&format!(
            "{logged}\treverse_proxy {} {} {{\n\t\tlb_policy first\n\t\tlb_retries 1\n\t\tlb_retry_match {{\n\t\t\tmethod POST\n\t\t}}\n\t}}",
            swallows.addr(),
            answers.addr()
        ));
        let answer = rig.wire().await.ask(post("/order", "one")).await;
        assert_eq!(answer.head.status(), 200, "{logged}");
        assert_eq!(swallows.only_request().body, b"one");
        assert_eq!(answers.only_request().body, b"one");
    }
    assert_eq!(log.until_lines(1).await[0]["bytes_read"], 3);
}
