//! `request_buffers`, `response_buffers` and the options of upgraded connections: what is read ahead, and what comes of
//! a message that breaks meanwhile.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::ends::{Back, ClientEnd, Ending, Front, Upstreams};
use crate::support::logs;
use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::rig::{HOST, Rig, get};
use crate::support::wire::Wire;

fn rig(upstream: impl std::fmt::Display, options: &str) -> Rig {
    Rig::site(&format!("\treverse_proxy {upstream} {{\n{options}\n\t}}"))
}

fn chunked(path: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n")
}

#[tokio::test]
async fn a_request_body_that_fits_comes_whole_and_with_its_length() {
    for (front, size) in [
        (Front::Http1, "1KB"),
        (Front::Http1, "unlimited"),
        (Front::H2c, "1KB"),
        (Front::H2Tls, "unlimited"),
    ] {
        for back in [Back::Http1, Back::H2c] {
            let mut upstreams = Upstreams::bind(back).await;
            let scheme = if back == Back::H2c { "h2c://" } else { "" };
            let site = format!(
                "\treverse_proxy {scheme}{} {{\n\t\trequest_buffers {size}\n\t}}",
                upstreams.addr()
            );
            let rig = if front == Front::H2Tls {
                Rig::tls_site(&site)
            } else {
                Rig::site(&site)
            };
            let mut client = ClientEnd::open(front, &rig, "POST", "/upload", true).await;
            client.send("first").await;
            client.send(" last").await;
            client.finish(&[]).await;
            let mut upstream = upstreams.next().await;
            assert_eq!(upstream.fields("content-length"), ["10"], "{front:?} {back:?}");
            assert_eq!(upstream.fields("transfer-encoding"), [""; 0]);
            upstream.expect("first last").await;
            assert_eq!(upstream.ending().await, Ending::Clean(Vec::new()));
            upstream.respond(200, &[]).await;
            upstream.finish(&[]).await;
            assert_eq!(client.head().await.status, 200);
        }
    }
}

#[tokio::test]
async fn nothing_goes_to_an_upstream_before_the_buffer_is_full_or_the_body_whole() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(origin.addr(), "\t\trequest_buffers 8");
    let mut client = rig.wire().await;
    client.send(chunked("/")).await;
    client.send_chunk("1234").await;
    // A request of another client has been served since, so this one has been read.
    let mut other = rig.wire().await;
    other.send(get("/other")).await;
    let mut upstream = origin.accept().await;
    assert_eq!(upstream.head().await.target(), "/other");
    assert!(origin.is_idle().await, "the first 4 of 8 bytes wait");
    client.send_chunk("56789").await;
    let mut upstream = origin.accept().await;
    let head = upstream.head().await;
    assert!(head.has("transfer-encoding") && !head.has("content-length"));
    assert_eq!(upstream.chunk().await.unwrap(), b"123456789");
    client.send_chunk("more").await;
    assert_eq!(upstream.chunk().await.unwrap(), b"more", "the rest streams");
}

#[tokio::test]
async fn a_buffered_post_can_be_sent_again_as_configured_and_only_then() {
    for (options, tries, status) in [
        ("request_buffers 1KB", 1, 502),
        ("request_buffers 1KB\n\t\tlb_retry_match method POST", 2, 200),
        ("request_buffers 4\n\t\tlb_retry_match method POST", 1, 502),
        ("lb_retry_match method POST", 1, 502),
    ] {
        let seen = AtomicUsize::new(0);
        let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| {
            if seen.fetch_add(1, Ordering::Relaxed) == 0 {
                Reply::Close(Vec::new())
            } else {
                Reply::ok("again")
            }
        })
        .await;
        let rig = rig(origin.addr(), &format!("\t\t{options}\n\t\tlb_retries 1"));
        let mut client = rig.wire().await;
        client.send(chunked("/order")).await;
        client.send_chunk("whole ").await;
        client.send_chunk("order").await;
        client.send("0\r\n\r\n").await;
        assert_eq!(client.answer().await.head.status(), status, "{options}");
        let bodies: Vec<_> = origin
            .requests()
            .into_iter()
            .map(|request| request.body)
            .collect();
        assert_eq!(bodies, vec![b"whole order".to_vec(); tries], "{options}");
        rig.canary().await;
    }
}

#[tokio::test]
async fn a_request_that_breaks_or_stalls_while_it_is_read_reaches_no_upstream() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let site = rig(origin.addr(), "\t\trequest_buffers unlimited");
    let mut cut = site.wire().await;
    cut.send(chunked("/") + "5\r\nab").await;
    cut.finish().await;
    assert!(cut.rest().await.0.starts_with(b"HTTP/1.1 400 "));
    let mut malformed = site.wire().await;
    malformed.send(chunked("/") + "2\r\nabX").await;
    assert!(malformed.rest().await.0.starts_with(b"HTTP/1.1 400 "));
    let mut gone = site.wire().await;
    gone.send(chunked("/") + "5\r\nab").await;
    gone.reset();

    let global = "{\n\tadmin off\n\tservers {\n\t\ttimeouts {\n\t\t\tread_body 300ms\n\t\t}\n\t}\n}\n";
    let stalled = Rig::caddyfile(&format!(
        "{global}http://{HOST}:0 {{\n\tbind 127.0.0.1\n\treverse_proxy {} {{\n\t\trequest_buffers 1KB\n\t}}\n}}\n",
        origin.addr()
    ));
    let mut client = stalled.wire().await;
    client.send(chunked("/") + "5\r\nab").await;
    assert!(client.rest().await.0.starts_with(b"HTTP/1.1 408 "));

    let limited = Rig::site(&format!(
        "\trequest_body {{\n\t\tmax_size 4\n\t}}\n\treverse_proxy {} {{\n\t\trequest_buffers unlimited\n\t}}",
        origin.addr()
    ));
    let mut client = limited.wire().await;
    client.send(chunked("/")).await;
    client.send_chunk("12345").await;
    assert!(client.rest().await.0.starts_with(b"HTTP/1.1 413 "));
    assert_eq!(origin.accepted(), 0);
    for rig in [&site, &stalled, &limited] {
        rig.canary().await;
    }
}

#[tokio::test]
async fn a_client_that_waits_for_a_100_gets_it_from_the_proxy_that_reads_ahead() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = rig(origin.addr(), "\t\trequest_buffers 1KB");
    let mut client = rig.wire().await;
    client
        .send(format!(
            "POST / HTTP/1.1\r\nHost: {HOST}\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
        ))
        .await;
    assert_eq!(client.head().await.status(), 100);
    assert_eq!(origin.accepted(), 0);
    client.send("body").await;
    assert_eq!(client.answer().await.body, b"ok");
    let request = origin.only_request();
    assert_eq!(
        (request.head.has("expect"), request.body),
        (false, b"body".to_vec())
    );
}

#[tokio::test]
async fn an_answer_that_fits_comes_whole_and_one_that_breaks_is_a_502() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |request| {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        match request.head.target() {
            "/whole" => Reply::keep(format!("{head}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")),
            "/cut" => Reply::Close(format!("{head}3\r\nabc\r\n2\r\nd").into()),
            "/reset" => Reply::Reset(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".to_vec()),
            "/long" => Reply::Close(format!("{head}14\r\n12345678901234567890\r\n").into()),
            _ => Reply::ok("ok"),
        }
    })
    .await;
    let rig = rig(origin.addr(), "\t\tresponse_buffers 16");
    let whole = rig.get("/whole").await;
    assert_eq!(
        (
            whole.head.field("content-length").as_deref(),
            whole.body.as_slice()
        ),
        (Some("5"), b"abcde".as_slice())
    );
    for target in ["/cut", "/reset"] {
        let broken = rig.get(target).await;
        assert_eq!(
            (broken.head.status(), broken.body),
            (502, b"".to_vec()),
            "{target}"
        );
    }
    let mut client = rig.wire().await;
    client.send(get("/long")).await;
    assert_eq!(client.head().await.status(), 200, "more than is buffered");
    assert_eq!(client.chunk().await.unwrap(), b"12345678901234567890");
    assert!(
        client.rest().await.0.is_empty(),
        "it is cut where the upstream's is"
    );
    let mut h2 = rig.h2().await;
    assert_eq!(h2.get("/whole").await.body, b"abcde");
    assert_eq!(h2.get("/cut").await.status, 502);
    rig.canary().await;
}

#[tokio::test]
async fn an_answer_is_passed_on_only_once_the_buffer_is_full() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(origin.addr(), "\t\tresponse_buffers 8");
    let mut client = rig.wire().await;
    client.send(get("/")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    upstream.send_chunk("1234").await;
    // Answered later by the same proxy, so that the first piece has been read by then.
    let mut other = rig.wire().await;
    other.send(get("/other")).await;
    let mut answering = origin.accept().await;
    answering.head().await;
    answering.send("HTTP/1.1 204 No Content\r\n\r\n").await;
    assert_eq!(other.head().await.status(), 204);
    assert_eq!(client.pending().await, b"");
    upstream.send_chunk("5678").await;
    assert_eq!(client.head().await.status(), 200);
    assert_eq!(client.chunk().await.unwrap(), b"12345678");
    upstream.send_chunk("9").await;
    assert_eq!(client.chunk().await.unwrap(), b"9");
}

/// Opens a tunnel through `rig` to `origin` and gives both ends.
async fn tunnel(rig: &Rig, origin: &Origin) -> (Wire, Wire) {
    let mut client = rig.wire().await;
    let fields = "\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n";
    client.send(get("/").replace("\r\n\r\n", fields)).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    upstream
        .send(format!("HTTP/1.1 101 Switching Protocols{fields}"))
        .await;
    assert_eq!(client.head().await.status(), 101);
    (client, upstream)
}

#[tokio::test]
async fn a_stream_is_closed_after_its_time_although_it_is_in_use() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let rig = rig(
        origin.addr(),
        "\t\tstream_timeout 500ms\n\t\tstream_buffer_size 1",
    );
    let (mut client, mut upstream) = tunnel(&rig, &origin).await;
    client.send("ping").await;
    assert_eq!(upstream.exactly(4).await, b"ping");
    upstream.send("pong").await;
    assert_eq!(client.exactly(4).await, b"pong");
    client.rest().await;
    upstream.rest().await;
}

#[tokio::test]
async fn a_stream_whose_listener_goes_stays_for_its_close_delay() {
    let text = |upstream: SocketAddr, port: u16, delay: &str| {
        let global = "{\n\tadmin off\n\tgrace_period 1s\n}\n";
        format!(
            "{global}http://{HOST}:{port} {{\n\tbind 127.0.0.1\n\treverse_proxy {upstream} {{\n\t\t{delay}\n\t}}\n}}\n"
        )
    };
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let (stays, goes) = ("stream_close_delay 1m", "stream_close_delay 0s");
    let kept = Rig::caddyfile(&text(origin.addr(), 0, stays));
    let gone = Rig::caddyfile(&text(origin.addr(), 0, goes));
    let (mut client, mut upstream) = tunnel(&kept, &origin).await;
    let (mut soon, mut soon_upstream) = tunnel(&gone, &origin).await;
    let elsewhere = |port| text(origin.addr(), port, stays).replace("127.0.0.1\n\tr", "127.0.0.2\n\tr");
    kept.reload(&elsewhere(0)).await;
    gone.reload(&elsewhere(0)).await;
    soon.rest().await;
    soon_upstream.rest().await;
    client.send("ping").await;
    assert_eq!(upstream.exactly(4).await, b"ping");
    upstream.send("pong").await;
    assert_eq!(client.exactly(4).await, b"pong");
}

#[tokio::test]
async fn verbose_logs_name_each_attempt_at_an_upstream() {
    logs::capture();
    let refusing = Origin::bind(Ipv4Addr::LOCALHOST).await.addr();
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let upstreams = format!("{refusing} {}", origin.addr());
    let rig = rig(&upstreams, "\t\tlb_policy first\n\t\tverbose_logs");
    assert_eq!(rig.get("/").await.body, b"ok");
    let failed = format!("\"upstream\":\"{refusing}\"");
    logs::until_line_with(&["upstream did not answer", &failed, "\"sent\":false"]).await;
    let answered = format!("\"upstream\":\"{}\"", origin.addr());
    logs::until_line_with(&["upstream answered", &answered, "\"status\":200"]).await;
}
