//! What the proxy must leave as it is: cookies, bodies, encodings, header fields of the app.

use http::{Method, StatusCode};

use super::{PROTOCOLS, pod_and_rig};
use crate::support::browser::Browser;
use crate::support::net::Net;
use crate::support::origin::{Recorder, Reply};
use crate::support::pod::{ID_COOKIE, Protocol, token_for};
use crate::support::rig::{Doors, HOST, get};

#[tokio::test]
async fn both_cookies_of_a_page_stay_apart_and_as_they_were() {
    for protocol in PROTOCOLS {
        let (pod, rig) = pod_and_rig(protocol).await;
        let page = rig.get("/").await;
        let cookies = page.head.all("set-cookie");
        assert_eq!(cookies.len(), 2, "{cookies:?}");
        let attributes = "; Path=/; Max-Age=2400; HttpOnly; Secure; SameSite=Lax";
        assert!(cookies[0].starts_with(&format!("{}=S", pod.token())) && cookies[0].ends_with(attributes));
        assert_eq!(cookies[1], format!("{ID_COOKIE}={}{attributes}", pod.token()));
    }
}

#[tokio::test]
async fn cookie_crumbs_of_http2_reach_an_http1_pod_as_one_line_with_none_lost() {
    let server = Net::fresh().server(1);
    let pod = Recorder::saying(server.pod(1), "hi").await;
    let rig = Doors::server(server, server.pod(1), pod.addr().port()).start();
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    for (name, value) in [
        ("a", "1"),
        ("b", "2=2"),
        (ID_COOKIE, "stale"),
        ("z", "\"quoted\""),
    ] {
        browser.set_cookie(name, value);
    }
    browser.exchange(Method::GET, "/", &[]).await;
    let cookies = pod.only_request().head.all("cookie");
    assert_eq!(cookies, [format!("a=1; b=2=2; {ID_COOKIE}=stale; z=\"quoted\"")]);
}

#[tokio::test]
async fn the_affinity_cookie_is_found_in_any_crumb() {
    let net = Net::fresh();
    let (one, two) = (net.server(1), net.server(2));
    let first = Recorder::saying(one.pod(1), "one").await;
    let port = first.addr().port();
    let _second = Recorder::start_at((two.pod(1), port).into(), |_| Reply::ok("two")).await;
    let rig = Doors::server(one, one.pod(1), port)
        .and(two, two.pod(1), port)
        .start();
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    browser.set_cookie("a", "1");
    browser.set_cookie("zz", "9");
    for (pod, body) in [(one.pod(9), "one"), (two.pod(9), "two")] {
        browser.set_cookie(ID_COOKIE, &token_for(pod));
        for _ in 0..5 {
            assert_eq!(
                browser.exchange(Method::GET, "/", &[]).await.body,
                body.as_bytes()
            );
        }
    }
}

#[tokio::test]
async fn the_first_affinity_cookie_that_decodes_counts_quoted_or_not() {
    let net = Net::fresh();
    let (one, two) = (net.server(1), net.server(2));
    let first = Recorder::saying(one.pod(1), "one").await;
    let port = first.addr().port();
    let _second = Recorder::start_at((two.pod(1), port).into(), |_| Reply::ok("two")).await;
    let rig = Doors::server(one, one.pod(1), port)
        .and(two, two.pod(1), port)
        .start();
    let (to_one, to_two) = (token_for(one.pod(1)), token_for(two.pod(1)));
    let name = ID_COOKIE;
    let cases = [
        (format!("Cookie: {name}=\"{to_two}\""), "two"),
        (
            format!("Cookie: {name}=bad; {name}={to_two}; {name}={to_one}"),
            "two",
        ),
        (format!("Cookie: {name}=bad\r\nCookie: {name}={to_two}"), "two"),
        (format!("Cookie: x{name}={to_one}; {name}={to_two}"), "two"),
        (format!("Cookie: a=\"; {name}={to_one}"), "one"),
    ];
    for (cookie, body) in cases {
        for _ in 0..5 {
            let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n{cookie}\r\n\r\n");
            let answer = rig.wire().await.ask(request).await;
            assert_eq!(String::from_utf8_lossy(&answer.body), body, "{cookie}");
        }
    }
}

#[tokio::test]
async fn a_bad_affinity_cookie_never_fails_the_request() {
    let net = Net::fresh();
    let (one, two) = (net.server(1), net.server(2));
    let first = Recorder::saying(one.pod(1), "hi").await;
    let port = first.addr().port();
    let second = Recorder::start_at((two.pod(1), port).into(), |_| Reply::ok("hi")).await;
    let rig = Doors::server(one, one.pod(1), port)
        .and(two, two.pod(1), port)
        .start();
    let outside = token_for(net.server(3).pod(1));
    let cookies = [
        "",
        "=",
        "bad",
        "\"",
        "\"\"",
        &outside,
        "a,b",
        "\u{ff}\u{fe}",
        &"x".repeat(3000),
    ];
    for cookie in cookies {
        let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nCookie: {ID_COOKIE}={cookie}\r\n\r\n");
        assert_eq!(rig.wire().await.ask(request).await.head.status(), 200, "{cookie}");
    }
    let mut passed: Vec<_> = first.requests();
    passed.extend(second.requests());
    assert_eq!(passed.len(), cookies.len());
    assert!(
        passed.iter().all(|request| request.head.has("cookie")),
        "the app sees what the browser sent"
    );
}

#[tokio::test]
async fn large_heads_pass_both_ways() {
    let server = Net::fresh().server(1);
    let after = "[\"scroll\"]".repeat(2000);
    let fields = format!(
        "D0-After: {after}\r\nContent-Security-Policy: {}\r\n",
        "'sha256-x' ".repeat(900)
    );
    let reply = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n");
    let pod = Recorder::start(server.pod(1), move |_| Reply::keep(&reply)).await;
    let rig = Doors::server(server, server.pod(1), pod.addr().port()).start();
    let cookie = "c=".to_owned() + &"x".repeat(20 << 10);
    let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nCookie: {cookie}\r\n\r\n");
    let answer = rig.wire().await.ask(request).await;
    assert_eq!(answer.head.status(), 200);
    assert_eq!(answer.head.field("d0-after"), Some(after.clone()));
    assert_eq!(pod.only_request().head.field("cookie"), Some(cookie));

    let mut browser = Browser::clear(rig.addr(), HOST).await;
    browser.set_cookie("c", &"y".repeat(16 << 10));
    let answer = browser.exchange(Method::GET, "/", &[]).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["d0-after"], after.as_str());
}

#[tokio::test]
async fn encoded_replies_and_octet_streams_stay_as_the_pod_sent_them() {
    let server = Net::fresh().server(1);
    let gzip = b"\x1f\x8b\x08\x00not really\x00\xff";
    let pod = Recorder::start(server.pod(1), move |request| {
        let fields = match request.head.target() {
            "/gzip" => "Content-Type: text/html\r\nContent-Encoding: gzip\r\n",
            _ => "Content-Type: application/octet-stream\r\n",
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n",
            gzip.len()
        );
        Reply::Keep([head.as_bytes(), gzip].concat())
    });
    let pod = pod.await;
    let rig = Doors::server(server, server.pod(1), pod.addr().port()).start();
    for (path, encoding) in [("/gzip", Some("gzip")), ("/stream", None)] {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept-Encoding: gzip, br;q=0.5\r\n\r\n");
        let answer = rig.wire().await.ask(request).await;
        assert_eq!(answer.body, gzip);
        assert_eq!(answer.head.field("content-encoding").as_deref(), encoding);
        assert_eq!(answer.head.field("content-length"), Some(gzip.len().to_string()));
        assert!(!answer.head.has("vary"));
    }
    for request in pod.requests() {
        assert_eq!(
            request.head.field("accept-encoding").as_deref(),
            Some("gzip, br;q=0.5")
        );
    }
}

#[tokio::test]
async fn the_apps_own_fields_and_statuses_pass_and_nothing_is_redirected() {
    let (pod, rig) = pod_and_rig(Protocol::Http1).await;
    let mut browser = Browser::clear(rig.addr(), HOST).await;
    let tab = browser.load("/some/page/?q=1").await;
    let click = browser.click().await;
    assert_eq!(click.headers["d0-after"], "[[\"scroll\",[0]]]");
    let script = browser
        .exchange(Method::GET, &format!("/~/{}/r/7Yx2.doors.js", tab.token), &[])
        .await;
    assert_eq!(
        script.headers["cache-control"],
        "public, max-age=31536000, immutable"
    );
    assert_eq!(
        browser.exchange(Method::POST, "/some/page", b"x").await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(browser.hook("9", b"{}").await.status, StatusCode::NOT_FOUND);
    assert_eq!(pod.look(|state| state.seen[0].clone()), "/some/page/?q=1");
    assert_eq!(pod.look(|state| state.seen.len()), 5);
}

#[tokio::test]
async fn the_app_sees_the_host_and_who_asked() {
    let server = Net::fresh().server(1);
    let pod = Recorder::saying(server.pod(1), "hi").await;
    let rig = Doors::server(server, server.pod(1), pod.addr().port()).start();
    rig.get(&format!("/~/{}/x", token_for(server.pod(1)))).await;
    rig.wire().await.ask(get("/page")).await;
    for request in pod.requests() {
        assert_eq!(request.head.all("host"), [HOST]);
        assert_eq!(request.head.all("x-forwarded-for"), ["127.0.0.1"]);
        assert_eq!(request.head.all("x-forwarded-proto"), ["http"]);
        assert_eq!(request.head.all("x-forwarded-host"), [HOST]);
    }
}
