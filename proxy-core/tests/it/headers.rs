//! Header fields: what belongs to one hop stays there, what the proxy says of the client can be believed, and
//! everything else passes as it came.

use std::net::Ipv4Addr;

use http::Method;

use crate::support::ends::{Back, Front, Pair};
use crate::support::message::Head;
use crate::support::origin::{Recorder, Reply};
use crate::support::rig::{HOST, Rig};

/// Sends a GET with these field lines and gives the head that the upstream got.
async fn forwarded(rig: &Rig, origin: &Recorder, lines: &str) -> Head {
    let before = origin.requests().len();
    let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n{lines}\r\n");
    let answer = rig.wire().await.ask(&request).await;
    assert_eq!(answer.head.status(), 200, "{lines}");
    let requests = origin.requests();
    assert_eq!(requests.len(), before + 1);
    requests.last().expect("counted above").head.clone()
}

async fn plain() -> (Rig, Recorder) {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    (Rig::to(origin.addr()), origin)
}

/// A site that believes what peers in `ranges` say.
async fn trusting(ranges: &str, options: &str) -> (Rig, Recorder) {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let global = format!(
        "{{\n\tadmin off\n\tauto_https disable_redirects\n\tservers {{\n\t\ttrusted_proxies static {ranges}\n{options}\t}}\n}}\n"
    );
    let site = format!("http://{HOST}:0 {{\n\tbind 127.0.0.1\n\theader X-Client {{client_ip}}\n");
    let site = format!("{site}\treverse_proxy {}\n}}\n", origin.addr());
    (Rig::caddyfile(&(global + &site)), origin)
}

#[tokio::test]
async fn fields_of_the_hop_are_not_forwarded_to_the_client() {
    let reply = "HTTP/1.1 200 OK\r\nConnection: X-Private, keep-alive\r\nX-Private: 1\r\nKeep-Alive: timeout=5\r\n\
                 Proxy-Connection: keep-alive\r\nUpgrade: h2c\r\nX-Public: 2\r\nContent-Length: 2\r\n\r\nok";
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| Reply::keep(reply)).await;
    let rig = Rig::to(origin.addr());
    let answer = rig.get("/").await;
    for name in ["x-private", "keep-alive", "proxy-connection", "upgrade"] {
        assert!(!answer.head.has(name), "{name}: {:?}", answer.head);
    }
    assert_eq!(answer.head.field("x-public").as_deref(), Some("2"));
    let mut h2 = rig.h2().await;
    let answer = h2.get("/").await;
    assert_eq!(answer.headers["x-public"], "2");
    assert!(!answer.headers.contains_key("connection") && !answer.headers.contains_key("x-private"));
}

#[tokio::test]
async fn te_trailers_is_the_only_te_that_passes() {
    let cases = ["trailers, gzip", "Trailers", "gzip, trailers;q=0.5", "\ttrailers"];
    for back in [Back::Http1, Back::H2c] {
        let mut pair = Pair::start(Front::Http1, back).await;
        for te in cases {
            let mut wire = pair.rig.wire().await;
            wire.send(format!(
                "GET / HTTP/1.1\r\nHost: {HOST}\r\nTE:{te}\r\nConnection: TE\r\n\r\n"
            ))
            .await;
            let mut upstream = pair.upstreams.next().await;
            let passed = upstream.fields("te");
            assert!(passed.is_empty() || passed == ["trailers"], "{te:?}: {passed:?}");
            upstream
                .respond(
                    200,
                    &[("content-length", "0"), ("connection", "close")][..back_fields(back)],
                )
                .await;
            upstream.finish(&[]).await;
            assert_eq!(wire.answer().await.head.status(), 200);
        }
    }
}

/// HTTP/2 knows no `Connection`.
fn back_fields(back: Back) -> usize {
    if back == Back::Http1 { 2 } else { 1 }
}

#[tokio::test]
async fn over_tls_the_forwarded_protocol_is_https() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let rig = Rig::tls_site(&format!("\treverse_proxy {}", origin.addr()));
    rig.tls_wire().await.ask(crate::support::rig::get("/")).await;
    assert_eq!(origin.only_request().head.all("x-forwarded-proto"), ["https"]);
}

#[tokio::test]
async fn a_trusted_proxys_list_is_kept_and_extended_by_one() {
    let (rig, origin) = trusting("127.0.0.0/8", "").await;
    let lines = "X-Forwarded-For: 6.6.6.6, 7.7.7.7\r\nX-Forwarded-For: 8.8.8.8\r\nX-Forwarded-Proto: https\r\n\
                 X-Forwarded-Host: public.test\r\n";
    let head = forwarded(&rig, &origin, lines).await;
    let list = head.members("x-forwarded-for");
    assert_eq!(list, ["6.6.6.6", "7.7.7.7", "8.8.8.8", "127.0.0.1"]);
    assert_eq!(head.all("x-forwarded-proto"), ["https"]);
    assert_eq!(head.all("x-forwarded-host"), ["public.test"]);
}

#[tokio::test]
async fn the_client_is_the_rightmost_address_that_no_trusted_proxy_has() {
    let (rig, _origin) = trusting("127.0.0.0/8 10.0.0.0/8", "\t\ttrusted_proxies_strict\n").await;
    let cases = [
        ("X-Forwarded-For: 6.6.6.6, 7.7.7.7, 10.1.1.1\r\n", "7.7.7.7"),
        (
            "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 7.7.7.7, 10.1.1.1\r\n",
            "7.7.7.7",
        ),
        ("X-Forwarded-For: [2001:db8::1]:80, 10.1.1.1\r\n", "2001:db8::1"),
        ("X-Forwarded-For: 7.7.7.7:4711\r\n", "7.7.7.7"),
        ("X-Forwarded-For: ::ffff:7.7.7.7\r\n", "7.7.7.7"),
        ("X-Forwarded-For: 6.6.6.6, unknown, 10.1.1.1\r\n", "10.1.1.1"),
        ("X-Forwarded-For: garbage\r\n", "127.0.0.1"),
        ("", "127.0.0.1"),
    ];
    for (lines, client) in cases {
        let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n{lines}\r\n");
        let answer = rig.wire().await.ask(request).await;
        assert_eq!(
            answer.head.field("x-client").as_deref(),
            Some(client),
            "{lines:?}"
        );
    }
}

#[tokio::test]
async fn a_long_or_odd_list_of_addresses_harms_nobody() {
    let (rig, _origin) = trusting("127.0.0.0/8", "").await;
    let many = "1.1.1.1,".repeat(2000);
    let odd = [
        many.as_str(),
        ",,,,",
        "\"",
        "for=1.1.1.1",
        "1.1.1.1:99999",
        "[::1",
        "%eth0",
        "a,\tb",
    ];
    for list in odd {
        let request = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nX-Forwarded-For: {list}\r\n\r\n");
        assert_eq!(rig.wire().await.ask(request).await.head.status(), 200, "{list}");
    }
    rig.canary().await;
}

#[tokio::test]
async fn spellings_that_an_app_could_take_for_forwarding_fields_are_dropped() {
    let (rig, origin) = plain().await;
    let lines = "X_Forwarded_For: 6.6.6.6\r\nX.Forwarded.For: 6.6.6.6\r\nx_forwarded-for: 6.6.6.6\r\n\
                 X_Forwarded_Proto: https\r\nX_Forwarded_Host: evil.test\r\nTransfer_Encoding: chunked\r\n";
    let head = forwarded(&rig, &origin, lines).await;
    let odd: Vec<_> = head
        .fields()
        .filter(|(name, _)| name.contains(['_', '.']))
        .collect();
    assert_eq!(odd, []);
    assert_eq!(head.all("x-forwarded-for"), ["127.0.0.1"]);

    let mut h2 = rig.h2().await;
    let request = h2
        .request(Method::GET, "/")
        .header("x_forwarded_for", "6.6.6.6")
        .body(())
        .unwrap();
    assert_eq!(h2.open(request, true).await.answer().await.status, 200);
    assert!(!origin.requests().last().unwrap().head.has("x_forwarded_for"));
}

#[tokio::test]
async fn the_host_is_forwarded_as_the_client_wrote_it() {
    let origin = Recorder::saying(Ipv4Addr::LOCALHOST, "ok").await;
    let text = format!(
        "{{\n\tadmin off\n}}\nhttp://:0 {{\n\tbind 127.0.0.1\n\treverse_proxy {}\n}}\n",
        origin.addr()
    );
    let rig = Rig::caddyfile(&text);
    for host in [
        "App.Test",
        "app.test:8080",
        "app.test.",
        "127.0.0.1:99",
        "[::1]:80",
        "xn--bcher-kva.test",
    ] {
        let answer = rig
            .wire()
            .await
            .ask(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"))
            .await;
        assert_eq!(answer.head.status(), 200, "{host}");
        assert_eq!(origin.requests().last().unwrap().head.all("host"), [host]);
    }
}

#[tokio::test]
async fn the_authority_of_http2_becomes_the_host_and_the_other_way_round() {
    let mut pair = Pair::start(Front::H2c, Back::Http1).await;
    let (_client, upstream) = pair.open("GET", "/", false).await;
    assert_eq!(upstream.fields("host"), [HOST]);

    let mut pair = Pair::start(Front::Http1, Back::H2c).await;
    let (_client, upstream) = pair.open("GET", "/", false).await;
    assert_eq!(upstream.authority().as_deref(), Some(HOST));
    assert_eq!(upstream.fields("host"), [""; 0], "one name for one thing");
}

#[tokio::test]
async fn field_values_pass_byte_for_byte_and_lines_stay_apart() {
    let reply = b"HTTP/1.1 200 OK\r\nX-Raw: \xff\xfe\xe4\r\nSet-Cookie: a=1, b\r\nSet-Cookie: c=2\r\n\
                  WWW-Authenticate: Basic\r\nWWW-Authenticate: Bearer\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n";
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, move |_| Reply::keep(reply)).await;
    let rig = Rig::to(origin.addr());
    let head = format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n");
    let lines = b"X-Raw: \xff\xfe\xe4\r\nX-Two: 1\r\nX-Two: 2\r\nX-Spaced:  a  b\t\r\nX-Empty:\r\n\r\n";
    let answer = rig.wire().await.ask([head.as_bytes(), lines].concat()).await;
    assert_eq!(answer.head.bytes("x-raw"), Some(b"\xff\xfe\xe4".as_slice()));
    assert_eq!(answer.head.all("set-cookie"), ["a=1, b", "c=2"]);
    assert_eq!(answer.head.all("www-authenticate"), ["Basic", "Bearer"]);
    assert_eq!(answer.head.bytes("x-empty"), Some(b"".as_slice()));

    let head = origin.only_request().head;
    assert_eq!(head.bytes("x-raw"), Some(b"\xff\xfe\xe4".as_slice()));
    assert_eq!(head.all("x-two"), ["1", "2"]);
    assert_eq!(head.bytes("x-spaced"), Some(b"a  b".as_slice()));
    assert_eq!(head.bytes("x-empty"), Some(b"".as_slice()));
}

#[tokio::test]
async fn a_line_of_cookies_stays_what_it_is_and_crumbs_of_http2_are_joined() {
    let (rig, origin) = plain().await;
    forwarded(&rig, &origin, "Cookie: a=1; b=2\r\n").await;
    let mut h2 = rig.h2().await;
    let request = h2
        .request(Method::GET, "/")
        .header("cookie", "a=1")
        .header("cookie", "b=2; c=3");
    h2.open(request.body(()).unwrap(), true).await.answer().await;
    let cookies: Vec<_> = origin
        .requests()
        .iter()
        .map(|request| request.head.all("cookie"))
        .collect();
    assert_eq!(
        cookies,
        [vec!["a=1; b=2".to_owned()], vec!["a=1; b=2; c=3".to_owned()]]
    );
}
