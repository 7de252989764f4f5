//! What is counted of requests, and the handler that tells.

use std::net::Ipv4Addr;

use crate::support::origin::{Recorder, Reply};
use crate::support::rig::{HOST, Rig};
use crate::support::wait::eventually;

fn config(options: &str, directives: &str) -> String {
    format!("{{\n\tadmin off\n\t{options}\n}}\nhttp://{HOST}:0 {{\n\tbind 127.0.0.1\n{directives}\n}}\n")
}

async fn until_line(rig: &Rig, wanted: &str) {
    eventually(wanted, async || {
        let page = rig.get("/metrics").await.text();
        page.lines().any(|line| line == wanted).then_some(())
    })
    .await;
}

#[tokio::test]
async fn requests_are_counted_by_the_handler_of_their_site() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| {
        Reply::keep("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone")
    })
    .await;
    let directives = format!(
        "\tmetrics /metrics\n\terror /broken 503\n\treverse_proxy {}",
        origin.addr()
    );
    let rig = Rig::caddyfile(&config("metrics", &directives));
    for path in ["/a", "/b", "/broken"] {
        rig.get(path).await;
    }
    let labels = "handler=\"subroute\",method=\"GET\",server=\"srv0\"";
    until_line(
        &rig,
        &format!("caddy_http_response_size_bytes_sum{{code=\"404\",{labels}}} 8"),
    )
    .await;
    until_line(
        &rig,
        &format!("caddy_http_request_duration_seconds_count{{code=\"503\",{labels}}} 1"),
    )
    .await;
    until_line(
        &rig,
        "caddy_http_request_errors_total{handler=\"subroute\",server=\"srv0\"} 1",
    )
    .await;
    until_line(
        &rig,
        "caddy_http_requests_in_flight{handler=\"subroute\",server=\"srv0\"} 1",
    )
    .await;

    // They go on after a load.
    rig.reload(&config("metrics", &format!("\theader X y\n{directives}")))
        .await;
    until_line(
        &rig,
        &format!("caddy_http_response_size_bytes_sum{{code=\"404\",{labels}}} 8"),
    )
    .await;
}

#[tokio::test]
async fn hosts_are_counted_apart_if_that_is_asked_for_and_known() {
    let rig = Rig::caddyfile(&config(
        "metrics {\n\t\tper_host\n\t}",
        "\tmetrics /metrics\n\trespond / hi",
    ));
    rig.get("/").await;
    let page = rig.get("/metrics").await.text();
    let line = format!("caddy_http_requests_total{{handler=\"subroute\",host=\"{HOST}\",server=\"srv0\"}} 1");
    assert!(page.lines().any(|found| found == line), "{page}");
}

#[tokio::test]
async fn without_metrics_no_request_is_counted_by_handler() {
    let rig = Rig::site("\tmetrics /metrics {\n\t\tdisable_openmetrics\n\t}\n\trespond / hi");
    rig.get("/").await;
    let mut wire = rig.wire().await;
    let ask =
        format!("GET /metrics HTTP/1.1\r\nHost: {HOST}\r\nAccept: application/openmetrics-text\r\n\r\n");
    let answer = wire.ask(ask).await;
    assert_eq!(
        answer.head.field("content-type").as_deref(),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let page = answer.text();
    assert!(!page.contains("caddy_http"), "{page}");
    assert!(page.contains("\ndoorway_requests_total 2\n"), "{page}");
}
