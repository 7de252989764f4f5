//! Requests that end with an error.

use std::net::Ipv4Addr;

use proxy_core::Options;

use super::said;
use crate::support::net::Net;
use crate::support::origin::Recorder;
use crate::support::pod::{Pod, token_for};
use crate::support::rig::{Doors, HOST, Rig, options, post};

/// A port that nobody listens on.
const NOBODY: &str = "127.0.0.1:1";

#[tokio::test]
async fn the_routes_for_errors_see_the_request_as_it_came() {
    let rig = Rig::site(&format!(
        "\trewrite * /rewritten?x=1\n\tmethod PUT\n\treverse_proxy {NOBODY}\n\thandle_errors {{\n\
         \t\trespond \"{{err.status_code}} {{err.status_text}} {{method}} {{uri}}\"\n\t}}"
    ));
    let answer = rig.wire().await.ask(post("/came?y=2", "body")).await;
    assert_eq!(said(&answer), (502, "502 Bad Gateway POST /came?y=2".to_owned()));
}

#[tokio::test]
async fn without_routes_for_it_an_error_is_an_empty_answer() {
    let rig = Rig::site(&format!(
        "\terror /teapot \"short and stout\" 418\n\terror /default oops\n\treverse_proxy {NOBODY}\n\
         \thandle_errors 503 {{\n\t\trespond never\n\t}}"
    ));
    for (path, status) in [("/teapot", 418), ("/default", 500), ("/x", 502)] {
        let answer = rig.get(path).await;
        assert_eq!(said(&answer), (status, String::new()), "{path}");
        assert_eq!(answer.head.field("content-length").as_deref(), Some("0"));
        assert!(!answer.head.has("content-type") && !answer.head.has("cache-control"));
    }
}

#[tokio::test]
async fn fields_that_are_set_already_stay_and_those_that_wait_for_the_answer_do_not_come() {
    let rig = Rig::site(
        "\theader X-Early 1\n\theader >X-Late 1\n\tencode gzip\n\terror /empty 404\n\terror \"{path} {nothing}\" 500\n\
         \thandle_errors 500 {\n\t\theader >X-Error-Late 1\n\t\trespond {err.message} 299\n\t}",
    );
    let answer = rig.get("/x").await;
    assert_eq!(said(&answer), (299, "/x {nothing}".to_owned()));
    assert_eq!(answer.head.all("x-early"), ["1"]);
    assert_eq!(answer.head.all("x-error-late"), ["1"]);
    assert!(!answer.head.has("x-late"), "{:?}", answer.head);

    let head = rig.get("/empty").await.head;
    assert_eq!((head.status(), head.all("x-early")), (404, vec!["1".to_owned()]));
}

#[tokio::test]
async fn an_error_among_the_routes_for_errors_changes_nothing() {
    let rig = Rig::site(
        "\terror \"first\" 410\n\thandle_errors {\n\t\theader X-Tried yes\n\t\terror second 500\n\t}",
    );
    let answer = rig.get("/").await;
    assert_eq!(said(&answer), (410, String::new()));
    assert_eq!(answer.head.all("x-tried"), ["yes"]);
}

#[tokio::test]
async fn a_condition_or_a_status_without_a_value_is_an_error_of_its_own() {
    let rig = Rig::site(
        "\t@big expression `int({query.n}) > 10`\n\trespond @big big\n\trespond /status x {query.n}\n\trespond small\n\
         \thandle_errors {\n\t\trespond \"{err.status_code} {err.message}\"\n\t}",
    );
    for (path, expected) in [
        ("/?n=11", (200, "big")),
        ("/?n=9", (200, "small")),
        ("/?n=x", (500, "500 an expression has no value for this request")),
        (
            "/status?n=9",
            (
                500,
                "500 the status with placeholders is not a number from 200 to 999",
            ),
        ),
    ] {
        assert_eq!(
            said(&rig.get(path).await),
            (expected.0, expected.1.to_owned()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_dead_token_is_gone_whatever_routes_for_errors_do_not_answer() {
    let server = Net::fresh().server(1);
    let pod = Pod::start(server.pod(1), 0).await;
    let site = Doors::server(server, server.pod(1), pod.addr().port()).directives();
    let dead = format!("/~/{}/s/I1?t=1", token_for(server.pod(2)));
    for (routes, expected) in [
        ("", "Gone\n"),
        ("\n\thandle_errors 5xx {\n\t\trespond never\n\t}", "Gone\n"),
        (
            "\n\thandle_errors 410 {\n\t\trespond \"own words\"\n\t}",
            "own words",
        ),
    ] {
        let rig = Rig::site(&format!("{site}{routes}"));
        for path in [dead.as_str(), "/~/token/r/x.js"] {
            let answer = rig.get(path).await;
            assert_eq!(said(&answer), (410, expected.to_owned()), "{routes} {path}");
            let kept = answer.head.field("cache-control");
            assert_eq!(
                kept.as_deref() == Some("no-store"),
                expected == "Gone\n",
                "{routes} {path}"
            );
        }
    }
}

#[tokio::test]
async fn what_no_route_answers_is_empty_or_if_that_is_wanted_an_error() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "app").await;
    let text = format!(
        "{{\n\tadmin off\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n\theader X-Site 1\n\treverse_proxy /app* {}\n\
         \thandle_errors {{\n\t\trespond \"no {{uri}}\"\n\t}}\n}}\n",
        origin.addr()
    );
    let ask = async |rig: &Rig, host: &str, path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        said(&rig.wire().await.ask(request).await)
    };
    let rig = Rig::caddyfile(&text);
    assert_eq!(ask(&rig, HOST, "/x").await, (200, String::new()));
    assert_eq!(ask(&rig, "other.test", "/x").await, (200, String::new()));

    let strict = Options {
        strict: true,
        ..options()
    };
    let rig = Rig::with_options(&strict, &text);
    assert_eq!(ask(&rig, HOST, "/x").await, (404, "no /x".to_owned()));
    assert_eq!(ask(&rig, "other.test", "/x").await, (404, String::new()));
    assert_eq!(ask(&rig, HOST, "/app").await, (200, "app".to_owned()));
}
