//! HTTP/2 requests that a proxy must not translate.

use http::{Method, Request};

use super::Bench;
use crate::support::h2_client::H2;
use crate::support::rig::HOST;

/// The status of the answer to a request, or none if its stream or connection is ended instead.
async fn status(h2: &mut H2, request: http::request::Builder) -> Option<u16> {
    let mut stream = h2.try_open(request.body(()).unwrap(), true).await.ok()?;
    stream
        .try_response()
        .await
        .ok()
        .map(|response| response.status().as_u16())
}

#[tokio::test]
async fn requests_that_name_two_hosts_or_odd_ones_are_a_400() {
    let bench = Bench::start().await;
    let get = |uri: &str| Request::builder().method(Method::GET).uri(uri.to_owned());
    let requests = [
        get("http://app.test/").header("host", "other.test"),
        get("http://app.test/")
            .header("host", HOST)
            .header("host", "other.test"),
        get("http://user@app.test/"),
        get("http://user:pass@app.test/"),
        get("ftp://app.test/"),
        get("http://app.test:99999/"),
    ];
    for request in requests {
        let before = bench.origin.bytes();
        let shown = format!("{:?} {:?}", request.uri_ref(), request.headers_ref());
        let mut h2 = bench.rig.h2().await;
        let status = status(&mut h2, request).await;
        assert!(matches!(status, None | Some(400)), "{shown}: {status:?}");
        assert_eq!(bench.origin.bytes(), before, "{shown}");
        bench.rig.canary().await;
    }
}

#[tokio::test]
async fn connect_over_http2_is_refused() {
    let bench = Bench::start().await;
    let before = bench.origin.bytes();
    let mut h2 = bench.rig.h2().await;
    let status = status(
        &mut h2,
        Request::builder().method(Method::CONNECT).uri("app.test:443"),
    )
    .await;
    assert!(matches!(status, None | Some(400 | 405 | 501)), "{status:?}");
    assert_eq!(bench.origin.bytes(), before);
}

#[tokio::test]
async fn unknown_expectations_over_http2_are_a_417() {
    let bench = Bench::start().await;
    let mut h2 = bench.rig.h2().await;
    let request = h2.request(Method::POST, "/").header("expect", "y");
    assert_eq!(status(&mut h2, request).await, Some(417));
}

#[tokio::test]
async fn an_equal_host_beside_the_authority_is_fine_and_forwarded_once() {
    let bench = Bench::start().await;
    let mut h2 = bench.rig.h2().await;
    let request = h2.request(Method::GET, "/twice").header("host", HOST);
    assert_eq!(status(&mut h2, request).await, Some(200));
    let recorded = bench
        .origin
        .requests()
        .into_iter()
        .find(|request| request.head.target() == "/twice")
        .unwrap();
    assert_eq!(recorded.head.all("host"), [HOST]);
}

#[tokio::test]
async fn hundreds_of_streams_on_one_connection_are_all_served() {
    let bench = Bench::start().await;
    let mut h2 = bench.rig.h2().await;
    // The limit of streams is known once something was answered.
    assert_eq!(h2.get("/").await.body, b"ok");
    let mut streams = Vec::new();
    for _ in 0..300 {
        let request = h2.request(Method::GET, "/").body(()).unwrap();
        streams.push(h2.open(request, true).await);
    }
    for stream in streams {
        assert_eq!(stream.answer().await.body, b"ok");
    }
}

#[tokio::test]
async fn streams_that_are_cancelled_at_once_do_not_stop_the_honest_ones() {
    let bench = Bench::start().await;
    let mut honest = bench.rig.h2().await;
    let mut hasty = bench.rig.h2().await;
    for _ in 0..60 {
        let request = hasty.request(Method::GET, "/").body(()).unwrap();
        let Ok(stream) = hasty.try_open(request, true).await else {
            break;
        };
        stream.cancel();
        assert_eq!(honest.get("/").await.status, 200);
    }
    bench.rig.canary().await;
}
