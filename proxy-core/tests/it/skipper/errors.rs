//! What clients are told when a request fails.

use std::net::Ipv4Addr;

use proxy_core::BreakerState;

use crate::support::logs::AccessLog;
use crate::support::origin::{Origin, Recorder, Reply};
use crate::support::rig::get;
use crate::support::wire::Message;

use super::{backend, directives, filters, nobody, rig, rig_with, told};

/// Checks an answer of the proxy's own.
fn assert_plain(answer: &Message, status: u16, words: &str) {
    let body = format!("{words}\n");
    assert_eq!(told(answer), (status, body.clone()));
    for (name, value) in [
        ("content-type", "text/plain; charset=utf-8"),
        ("x-content-type-options", "nosniff"),
        ("content-length", &body.len().to_string()),
    ] {
        assert_eq!(
            answer.head.field(name).as_deref(),
            Some(value),
            "{status}: {name}"
        );
    }
}

#[tokio::test]
async fn no_route_is_404() {
    assert_plain(
        &rig("a: Path(\"/a\") -> <shunt>;").get("/b").await,
        404,
        "Not Found",
    );
}

#[tokio::test]
async fn a_backend_that_cannot_be_reached_is_502() {
    let gone = nobody().await;
    let rig = rig(&format!(
        "refused: Path(\"/refused\") -> {}; unknown: Path(\"/unknown\") -> \"http://no-such-host.invalid\";
         dynamic: Path(\"/dynamic\") -> <dynamic>; tls: Path(\"/tls\") -> \"https://{gone}\";
         all: Path(\"/all\") -> <random, {}, {}>;",
        backend(gone),
        backend(gone),
        backend(nobody().await),
    ));
    for path in ["/refused", "/unknown", "/dynamic", "/tls", "/all"] {
        println!("{path}");
        assert_plain(&rig.get(path).await, 502, "Bad Gateway");
    }
}

#[tokio::test]
async fn a_backend_without_tls_where_tls_is_wanted_is_502() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| Reply::Close(Vec::new())).await;
    let rig = rig(&format!("any: * -> \"https://{}\";", origin.addr()));
    let answer = {
        let asking = rig.get("/");
        asking.await
    };
    assert_plain(&answer, 502, "Bad Gateway");
}

#[tokio::test]
async fn a_backend_that_hangs_up_or_resets_is_503() {
    for reply in [Reply::Close(Vec::new()), Reply::Reset(Vec::new())] {
        let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| reply.clone()).await;
        let rig = rig(&format!("any: * -> {};", backend(origin.addr())));
        assert_plain(&rig.get("/").await, 503, "Service Unavailable");
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_500() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::Close(b"SSH-2.0-x\r\n\r\n".to_vec())
    })
    .await;
    let rig = rig(&format!("any: * -> {};", backend(origin.addr())));
    assert_plain(&rig.get("/").await, 500, "Internal Server Error");
}

#[tokio::test]
async fn a_body_that_is_malformed_is_400_and_ends_the_connection() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = rig(&format!("any: * -> {};", backend(origin.addr())));
    let mut wire = rig.wire().await;
    wire.send("POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
        .await;
    let answer = wire.answer().await;
    assert_plain(&answer, 400, "Bad Request");
    let (rest, _) = wire.rest().await;
    assert!(rest.is_empty(), "nothing of the body is taken for a request");
    assert!(origin.requests().is_empty());
}

#[tokio::test]
async fn filters_of_answers_do_not_see_errors_unless_they_ask_for_them() {
    let gone = nobody().await;
    let rig = rig(&format!(
        "a: Path(\"/a\") -> mark(\"a\") -> setResponseHeader(\"Access-Control-Allow-Origin\", \"*\") -> markErrors(\"e\") -> {};
         b: Path(\"/b\") -> mark(\"a\") -> markErrors(\"e\") -> <loopback>;",
        backend(gone)
    ));
    let answer = rig.get("/a").await;
    assert_plain(&answer, 502, "Bad Gateway");
    assert_eq!(answer.head.all("x-order"), ["e"]);
    assert_eq!(answer.head.field("access-control-allow-origin"), None);
}

#[tokio::test]
async fn an_error_of_the_backend_is_its_own() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::keep("HTTP/1.1 502 Own\r\nContent-Length: 3\r\n\r\nown")
    })
    .await;
    let rig = rig(&format!("any: * -> mark(\"a\") -> {};", backend(origin.addr())));
    let answer = rig.get("/").await;
    assert_eq!(told(&answer), (502, "own".to_owned()));
    assert_eq!(answer.head.all("x-order"), ["a"]);
    assert_eq!(answer.head.field("x-content-type-options"), None);
}

#[tokio::test]
async fn a_client_that_leaves_is_499_in_the_log_and_no_failure_of_the_backend() {
    let origin = Origin::bind(Ipv4Addr::LOCALHOST).await;
    let log = AccessLog::new();
    let routes = format!("any: * -> consecutiveBreaker(1) -> {};", backend(origin.addr()));
    let rig = super::site(
        &filters::options(),
        &format!("{}{}", log.directive(), directives("", &routes)),
    );
    for count in 1..=3 {
        let mut wire = rig.wire().await;
        wire.send(get("/left")).await;
        let mut upstream = origin.accept().await;
        upstream.head().await;
        wire.reset();
        // The request to the backend goes, too.
        upstream.rest_after("the client has left").await;
        let lines = log.until_lines(count).await;
        let line = &lines[count - 1];
        assert_eq!((&line["status"], &line["side"]), (&499.into(), &"client".into()));
    }
    let states = rig.control().upstreams();
    assert_eq!(states[0].breaker, Some(BreakerState::Closed));
}

#[tokio::test]
async fn an_error_leaves_the_connection_of_the_client_fit_for_the_next_request() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = rig(&format!(
        "down: Path(\"/down\") -> {}; ok: Path(\"/ok\") -> {}; panics: Path(\"/panics\") -> panics(\"request\") -> <shunt>;
         round: Path(\"/round\") -> <loopback>;",
        backend(nobody().await),
        backend(origin.addr())
    ));
    let mut wire = rig.wire().await;
    let body = "x".repeat(20_000);
    for (path, status) in [
        ("/down", 502),
        ("/none", 404),
        ("/panics", 500),
        ("/round", 500),
        ("/down", 502),
    ] {
        let request = crate::support::rig::post(path, &body);
        assert_eq!(wire.ask(request).await.head.status(), status, "{path}");
        assert_eq!(wire.ask(get("/ok")).await.body, b"ok", "after {path}");
    }
}

#[tokio::test]
async fn until_routes_are_there_requests_are_told_to_come_again() {
    let file = super::RoutesFile::missing();
    let rig = file.rig();
    let answer = rig.get("/").await;
    assert_plain(&answer, 503, "Service Unavailable");
    assert!(answer.head.has("retry-after"));
    file.write("any: * -> serve(200, \"there\") -> <shunt>");
    super::until_told(&rig, "/", 200, "there").await;
}

#[tokio::test]
async fn a_status_of_the_handler_is_only_for_requests_without_a_route() {
    let rig = rig_with(
        "\t\tdefault_status 410",
        &format!(
            "a: Path(\"/a\") -> {}; b: Path(\"/b\") -> <shunt>;",
            backend(nobody().await)
        ),
    );
    assert_plain(&rig.get("/c").await, 410, "Gone");
    assert_plain(&rig.get("/a").await, 502, "Bad Gateway");
    assert_eq!(told(&rig.get("/b").await), (404, String::new()));
}
