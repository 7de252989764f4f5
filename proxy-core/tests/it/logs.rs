//! What is written down: one line for each request, whose fault a failure was, and never a secret.

mod forms;

use std::net::Ipv4Addr;

use http::Method;
use serde_json::Value;

use crate::support::browser::Browser;
use crate::support::logs::{self, AccessLog};
use crate::support::net::Net;
use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::pod::{Pod, SECRET, token_for};
use crate::support::rig::{Doors, HOST, Rig, get};

#[tokio::test]
async fn each_request_is_one_line_with_what_was_asked_and_answered() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::keep("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone")
    })
    .await;
    let log = AccessLog::new();
    let rig = Rig::site(&format!("{}\treverse_proxy {}", log.directive(), origin.addr()));
    rig.get("/a?b=c").await;
    let mut h2 = rig.h2().await;
    h2.get("/second").await;
    let lines = log.until_lines(2).await;
    assert_eq!(lines[0]["request"]["uri"], "/a?b=c");
    assert_eq!(lines[0]["request"]["method"], "GET");
    assert_eq!(lines[0]["request"]["host"], HOST);
    assert_eq!(lines[0]["request"]["proto"], "HTTP/1.1");
    assert_eq!(
        (lines[0]["status"].as_u64(), lines[0]["size"].as_u64()),
        (Some(404), Some(4))
    );
    assert_eq!(lines[1]["request"]["proto"], "HTTP/2.0");
}

#[tokio::test]
async fn a_client_that_leaves_is_logged_as_499_and_is_nobody_elses_fault() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let log = AccessLog::new();
    let rig = Rig::site(&format!("{}\treverse_proxy {}", log.directive(), origin.addr()));
    let mut wire = rig.wire().await;
    wire.send(get("/left")).await;
    let mut upstream = origin.accept().await;
    upstream.head().await;
    wire.reset();
    let line = log.until_lines(1).await.remove(0);
    assert_eq!(line["status"], 499);
    assert_eq!(line["side"], "client");
    assert_eq!(line["phase"], "wait");
}

#[tokio::test]
async fn failures_name_side_reason_and_upstream() {
    let origin = Origin::bind(Net::fresh().pod(1)).await;
    let addr = origin.addr();
    drop(origin);
    let log = AccessLog::new();
    let rig = Rig::site(&format!("{}\treverse_proxy {addr}", log.directive()));
    assert_eq!(rig.get("/").await.head.status(), 502);
    let line = log.until_lines(1).await.remove(0);
    assert_eq!(
        (line["status"].as_u64(), line["side"].as_str()),
        (Some(502), Some("upstream"))
    );
    assert!(
        line["reason"].as_str().is_some_and(|reason| !reason.is_empty()),
        "{line}"
    );
    assert_eq!(line["upstream"].as_str(), Some(addr.to_string().as_str()));
}

#[tokio::test]
async fn a_response_that_was_cut_is_logged_as_the_upstreams_fault() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec())
    })
    .await;
    let log = AccessLog::new();
    let rig = Rig::site(&format!("{}\treverse_proxy {}", log.directive(), origin.addr()));
    let mut wire = rig.wire().await;
    wire.send(get("/")).await;
    wire.rest().await;
    let line = log.until_lines(1).await.remove(0);
    assert_eq!(
        (line["status"].as_u64(), line["side"].as_str()),
        (Some(200), Some("upstream"))
    );
}

/// Who, when and why of a line.
fn cause(line: &Value) -> [&str; 3] {
    ["side", "phase", "reason"].map(|key| line[key].as_str().unwrap_or_default())
}

#[tokio::test]
async fn each_line_of_a_failure_says_who_when_and_why() {
    let refusing = Origin::bind(Ipv4Addr::LOCALHOST).await.addr();
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |request| match request.head.target() {
        "/cut" => Reply::Close(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec()),
        "/closed" => Reply::Close(Vec::new()),
        "/invalid" => Reply::Close(b"nonsense\r\n\r\n".to_vec()),
        _ => Reply::ok("ok"),
    })
    .await;
    let silent = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let log = AccessLog::new();
    let rig = Rig::site(&format!(
        "{}\tabort /abort\n\terror /error 418\n\treverse_proxy /refused {refusing}\n\
         \treverse_proxy /silent {} {{\n\t\ttransport http {{\n\t\t\tresponse_header_timeout 100ms\n\t\t}}\n\t}}\n\
         \treverse_proxy {}",
        log.directive(),
        silent.addr(),
        origin.addr()
    ));
    for (number, (request, expected)) in [
        (get("/fine"), ["", "", ""]),
        (
            get("/cut"),
            [
                "upstream",
                "answer",
                "the upstream's answer ended before it was whole",
            ],
        ),
        (
            get("/closed"),
            [
                "upstream",
                "wait",
                "the upstream closed the connection before its answer",
            ],
        ),
        (
            get("/invalid"),
            ["upstream", "wait", "the upstream's answer is not valid HTTP"],
        ),
        (
            get("/refused"),
            ["upstream", "connect", "the upstream refuses connections"],
        ),
        (
            get("/silent"),
            ["upstream", "wait", "the upstream did not answer in time"],
        ),
        (
            get("/abort"),
            ["proxy", "routes", "the configuration closes the connection"],
        ),
        (
            get("/error"),
            ["proxy", "routes", "the configuration answers with an error"],
        ),
        (
            get("/").replace("\r\n\r\n", "\r\nExpect: y\r\n\r\n"),
            ["client", "request", "the expectation is not known"],
        ),
        (
            get("/")
                .replace("GET", "POST")
                .replace("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"),
            ["client", "request", "the request body is incomplete or malformed"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let mut wire = rig.wire().await;
        wire.send(&request).await;
        wire.more().await;
        let line = log.until_lines(number + 1).await.remove(number);
        assert_eq!(cause(&line), expected, "{line}");
    }
}

#[tokio::test]
async fn an_answer_that_the_proxy_cuts_off_is_not_the_clients_leaving() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::keep(crate::support::origin::ok(&"x".repeat(64 * 1024 * 1024)))
    })
    .await;
    let log = AccessLog::new();
    let rig = Rig::caddyfile(&format!(
        "{{\n\tadmin off\n\tservers {{\n\t\ttimeouts {{\n\t\t\twrite_idle 1s\n\t\t}}\n\t}}\n}}\n\
         http://{HOST}:0 {{\n\tbind 127.0.0.1\n{}\treverse_proxy {}\n}}\n",
        log.directive(),
        origin.addr()
    ));
    let mut wire = rig.wire().await;
    wire.send(get("/")).await;
    let line = log.until_lines(1).await.remove(0);
    assert_eq!(
        cause(&line),
        ["client", "answer", "the client did not take the answer in time"]
    );
    drop(wire);

    let upstream = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let log = AccessLog::new();
    let rig = Rig::caddyfile(&format!(
        "{{\n\tadmin off\n\tgrace_period 1s\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n{}\treverse_proxy {}\n}}\n",
        log.directive(),
        upstream.addr()
    ));
    let mut wire = rig.wire().await;
    wire.send(get("/")).await;
    let mut answering = upstream.accept().await;
    answering.head().await;
    rig.stop().await;
    let line = log.until_lines(1).await.remove(0);
    assert_eq!(
        cause(&line),
        [
            "proxy",
            "wait",
            "the proxy was stopped before the answer was complete"
        ]
    );
}

#[tokio::test]
async fn neither_tokens_nor_cookies_nor_the_secret_are_ever_written() {
    logs::capture();
    let server = Net::fresh().server(1);
    let pod = Pod::start(server.pod(1), 0).await;
    let log = AccessLog::new();
    let doors = Doors::server(server, server.pod(1), pod.addr().port());
    let rig = Rig::site(&format!("{}{}", log.directive(), doors.directives()));
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    browser.load("/").await;
    browser.click().await;
    let session = browser
        .cookie(pod.token())
        .expect("the session cookie")
        .to_owned();
    let dead = token_for(server.pod(2));
    browser
        .exchange(Method::GET, &format!("/~/{dead}/s/I1"), &[])
        .await;
    browser.exchange(Method::GET, "/~/garbage-token/s/I1", &[]).await;
    browser
        .exchange(Method::GET, &format!("/%7E/{dead}/s/I1?x"), &[])
        .await;
    log.until_lines(5).await;
    rig.stop().await;
    let secrets = [pod.token(), &session, &dead, "garbage-token", SECRET];
    for secret in secrets {
        assert!(!log.text().contains(secret), "the access log holds {secret}");
        assert_eq!(logs::lines_with(&[secret]), [""; 0], "the log holds {secret}");
    }
}

#[tokio::test]
async fn a_flood_of_bad_tokens_is_not_a_flood_of_log_lines() {
    logs::capture();
    let server = Net::fresh().server(1);
    let pod = Pod::start(server.pod(1), 0).await;
    let host = "flood-of-tokens.test";
    let doors = Doors::server(server, server.pod(1), pod.addr().port());
    let text = format!(
        "{{\n\tadmin off\n}}\nhttp://{host}:0 {{\n\tbind 127.0.0.1\n{}\n}}\n",
        doors.directives()
    );
    let rig = Rig::caddyfile(&text);
    let mut wire = rig.wire().await;
    for _ in 0..500 {
        let answer = wire
            .ask(format!("GET /~/garbage/x HTTP/1.1\r\nHost: {host}\r\n\r\n"))
            .await;
        assert_eq!(answer.head.status(), 410);
    }
    logs::until_line_with(&[host]).await;
    // One a second at most; the flood takes a few seconds on the slowest machine.
    let lines = logs::lines_with(&[host]).len();
    assert!(lines <= 20, "{lines} lines");
}

#[tokio::test]
async fn what_a_client_sends_cannot_forge_a_line() {
    let log = AccessLog::new();
    let rig = Rig::site(&format!("{}\trespond hi", log.directive()));
    let request = [
        b"GET /\"},%0a{\"x\xe2\x80\xae HTTP/1.1\r\nHost: app.test\r\nUser-Agent: a\"}\t{\"\x1b".to_vec(),
        b"\xff\xe2\x80\xae\r\n\r\n".to_vec(),
    ]
    .concat();
    let mut wire = rig.wire().await;
    wire.send(request).await;
    wire.head().await;
    rig.get("/last").await;
    let lines = log.until_lines(1).await;
    assert!(lines.iter().all(|line| line["request"].is_object()), "{lines:?}");
    let text = log.text();
    assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}'), "{text}");
}

#[tokio::test]
async fn an_error_page_reflects_nothing_of_the_request() {
    let rig = Rig::to("127.0.0.1:9".parse().unwrap());
    for path in ["/<script>alert(1)</script>", "/~/x"] {
        let answer = rig.get(path).await;
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        assert!(!body.contains("script") && !body.contains('<'), "{body}");
        assert!(!answer.head.has("server"), "no version");
    }
}
