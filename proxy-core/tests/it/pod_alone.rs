//! The test pod spoken to without a proxy: what the other tests blame the proxy for must not be the pod's doing.

use bytes::Bytes;
use http::StatusCode;
use serde_json::json;

use crate::support::browser::{Browser, framed};
use crate::support::h2_client;
use crate::support::pod::{Pod, Protocol};
use crate::support::wire::Wire;

const LOOPBACK: [u8; 4] = [127, 0, 0, 1];

#[tokio::test]
async fn a_page_sets_both_cookies_and_its_hooks_count_for_its_session_alone() {
    let pod = Pod::speaking(Protocol::H2c, LOOPBACK, 0).await;
    let mut browser = Browser::clear(pod.addr(), "app.test").await;
    let tab = browser.load("/").await;

    assert_eq!(tab.token, pod.token());
    assert_eq!(browser.id_cookie(), Some(pod.token()));
    assert_eq!(browser.click().await.body, br#"{"clicks":1,"received":2}"#);

    let mut stranger = Browser::clear(pod.addr(), "app.test").await;
    stranger.load("/").await;
    let path = format!("/~/{}/h/{}/1", pod.token(), tab.instance);
    assert_eq!(
        stranger.exchange(http::Method::POST, &path, b"{}").await.status,
        StatusCode::GONE
    );
}

#[tokio::test]
async fn a_sync_stream_is_silent_until_it_is_pushed_and_ends_when_the_next_one_opens() {
    let pod = Pod::speaking(Protocol::H2c, LOOPBACK, 0).await;
    let mut browser = Browser::clear(pod.addr(), "app.test").await;
    let tab = browser.load("/").await;
    let mut stream = browser.sync().await;
    pod.until_synced(&tab.instance).await;
    pod.push(&tab.instance, "hello");

    let mut body = stream.response().await.into_body();
    assert!(h2_client::piece(&mut body).await.unwrap().ends_with(b"hello"));
    let _next = browser.sync().await;
    assert_eq!(
        h2_client::piece(&mut body).await,
        Some(Bytes::from_static(b"\x02\xff"))
    );
    assert_eq!(h2_client::piece(&mut body).await, None);
}

#[tokio::test]
async fn a_streamed_report_reaches_the_pod_frame_by_frame() {
    let pod = Pod::speaking(Protocol::H2c, LOOPBACK, 0).await;
    let mut browser = Browser::clear(pod.addr(), "app.test").await;
    browser.load("/").await;
    let mut report = browser.report().await;
    report.send(framed("[1]"));
    let first = pod
        .until("a report", |state| state.reports.first().cloned())
        .await;
    assert_eq!(first.json, json!([1]));
    report.finish();
    assert_eq!(report.answer().await.status, StatusCode::OK);
    assert!(pod.look(|state| state.aborted.is_empty()));
}

#[tokio::test]
async fn a_draining_pod_keeps_its_instances_until_a_link_ends_each() {
    let pod = Pod::speaking(Protocol::H2c, LOOPBACK, 0).await;
    let mut browser = Browser::clear(pod.addr(), "app.test").await;
    browser.load("/").await;
    browser.click().await;
    pod.drain();
    browser.set_cookie("upstream", "older");
    assert_eq!(browser.click().await.status, StatusCode::OK);
    assert_eq!(browser.id_cookie(), Some("older"));
    let mut stream = browser.sync().await;
    pod.until_synced(&browser.tab().instance.clone()).await;
    assert_eq!(browser.follow_link().await.status, StatusCode::GONE);
    let mut body = stream.response().await.into_body();
    assert_eq!(
        h2_client::piece(&mut body).await,
        Some(Bytes::from_static(b"\x04"))
    );
    pod.until_empty().await;
    pod.exit().await;
}

#[tokio::test]
async fn an_idle_sync_get_over_http1_ends_with_a_short_counted_body() {
    let pod = Pod::start(LOOPBACK, 0).await;
    let mut wire = Wire::connect(pod.addr()).await;
    let page = wire.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let session = page.head.all("set-cookie")[0]
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let tab = crate::support::browser::Tab::read(&page.body).unwrap();
    let request = format!(
        "GET /~/{}/s/{}?t=1 HTTP/1.1\r\nHost: a\r\nCookie: {session}\r\n\r\n",
        tab.token, tab.instance
    );
    wire.send(request).await;
    pod.until_synced(&tab.instance).await;
    assert!(wire.pending().await.is_empty());
    pod.roll(&tab.instance);
    let answer = wire.answer().await;
    assert_eq!(answer.head.field("content-length").as_deref(), Some("2"));
    assert_eq!(answer.body, b"\x02\xff");
}
