//! What users of Caddy could stumble over.

use std::net::Ipv4Addr;

use crate::support::origin::Recorder;
use crate::support::rig::{HOST, Rig};

#[tokio::test]
async fn a_limit_of_heads_is_met_to_the_byte() {
    const LIMIT: usize = 10_000;
    let rig = Rig::caddyfile(&format!(
        "{{\n\tadmin off\n\tservers {{\n\t\tmax_header_size {LIMIT}\n\t}}\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n\trespond ok\n}}\n"
    ));
    let bare = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nX: \r\n\r\n").len();
    for (length, status) in [(LIMIT, 200), (LIMIT + 1, 431)] {
        let value = "x".repeat(length - bare);
        let head = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nX: {value}\r\n\r\n");
        assert_eq!(head.len(), length);
        let answer = rig.wire().await.ask(head).await;
        assert_eq!(answer.head.status(), status, "{length}");
    }
}

#[tokio::test]
async fn a_method_that_is_none_is_an_error_that_routes_may_answer() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::site(&format!(
        "\tmethod {{header.X-M}}\n\treverse_proxy {}\n\thandle_errors 502 {{\n\t\trespond \"no method\" 502\n\t}}\n",
        origin.addr()
    ));
    for (method, status, body) in [("put", 200, "ok"), ("a b", 502, "no method")] {
        let head = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nX-M: {method}\r\n\r\n");
        let answer = rig.wire().await.ask(head).await;
        assert_eq!(
            (answer.head.status(), answer.text()),
            (status, body.to_owned()),
            "{method}"
        );
    }
    let methods: Vec<_> = origin
        .requests()
        .iter()
        .map(|one| one.head.method().to_owned())
        .collect();
    assert_eq!(methods, ["PUT"]);
}

#[tokio::test]
async fn an_escaped_slash_behind_a_prefix_that_goes_is_the_first_of_the_rest() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::site(&format!(
        "\thandle_path /api/* {{\n\t\trespond /admin/* 403\n\t\treverse_proxy {}\n\t}}\n",
        origin.addr()
    ));
    for (path, status) in [
        ("/api%2fx%2fy", 200),
        ("/api/%2Fx", 200),
        ("/api%2Fadmin/x", 403),
        ("/api%2Fadmin%2Fx", 403),
    ] {
        assert_eq!(rig.get(path).await.head.status(), status, "{path}");
    }
    let targets: Vec<_> = origin
        .requests()
        .iter()
        .map(|one| one.head.target().to_owned())
        .collect();
    assert_eq!(targets, ["/x%2fy", "/%2Fx"]);
}

#[tokio::test]
async fn via_names_the_version_that_the_request_came_in() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::to(origin.addr());
    rig.get("/").await;
    rig.wire()
        .await
        .ask(format!("GET / HTTP/1.0\r\nHost: {HOST}\r\n\r\n"))
        .await;
    rig.h2().await.get("/").await;
    let hops: Vec<_> = origin
        .requests()
        .iter()
        .map(|one| one.head.field("via"))
        .collect();
    assert_eq!(
        hops,
        ["1.1 doorway", "1.0 doorway", "2.0 doorway"].map(|hop| Some(hop.to_owned()))
    );
}
