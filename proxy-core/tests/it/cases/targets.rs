//! Request lines: methods, targets, and the blanks between.

use super::request::{BAD, CLOSED, Case, answered, check, forwarded, refused};

fn line(line: impl AsRef<[u8]>) -> Vec<u8> {
    [line.as_ref(), b"\r\n<H>\r\n"].concat()
}

#[tokio::test]
async fn plain_requests_pass() {
    let mut cases = Vec::new();
    for target in [
        "/",
        "/a?b",
        "/a//b",
        "//a",
        "/?",
        "/a%2Fb",
        "/a;b=c,d",
        "/~!$&'()*+,;=:@",
        "/a?b=/c?d",
        "/%E2%82%AC",
    ] {
        cases.push(forwarded("HD-01", line(format!("GET {target} HTTP/1.1"))));
    }
    for target in [
        "/a\\b",
        "/a|b",
        "/a\"b",
        "/<a>",
        "/{a}",
        "/a^b",
        "/`a`",
        "/[a]",
        "/%zz",
        "/%",
        "/\u{e9}",
        "/a?\u{e9}",
    ] {
        cases.push(forwarded("HD-13", line(format!("GET {target} HTTP/1.1"))).or(BAD));
    }
    for method in [
        "get",
        "Get",
        "FOO",
        "M-SEARCH",
        "PATCH",
        "TRACE",
        "!#$%&'*+-.^_`|~",
        "A",
        "0",
    ] {
        cases.push(forwarded("HD-19", line(format!("{method} / HTTP/1.1"))).or(&[501]));
    }
    cases.push(forwarded("HD-19 HEAD", line("HEAD / HTTP/1.1")));
    check(cases).await;
}

#[tokio::test]
async fn absolute_targets_name_the_host() {
    let absolute = |target: &str| format!("GET {target} HTTP/1.1\r\n<H>\r\n");
    let other = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: b.test\r\n\r\n");
    let mut cases = vec![
        forwarded("HD-09", absolute("http://app.test/x")).target("/x"),
        forwarded("HD-09 a query", absolute("http://app.test/x?y=http://b")).target("/x?y=http://b"),
        forwarded("HD-09 a scheme in capitals", absolute("HTTP://app.test/x")).target("/x"),
        forwarded("HD-09 no path", absolute("http://app.test")).target("/"),
        forwarded("HD-09 a query without a path", absolute("http://app.test?y")).target("/?y"),
        forwarded("HD-09 a port", absolute("http://app.test:80/"))
            .target("/")
            .host("app.test:80"),
        forwarded("HD-09 another Host", other("http://app.test/x"))
            .target("/x")
            .or(BAD),
        forwarded("HD-09 another scheme", absolute("https://app.test/x"))
            .target("/x")
            .or(BAD),
        answered(
            "HD-09 another host",
            &[200, 400, 404, 421],
            absolute("http://b.test/x"),
        ),
    ];
    let bad = [
        "ftp://app.test/",
        "ws://app.test/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "httpx://app.test/",
        "http2://app.test/",
        "http://u:p@app.test/",
        "http://u@app.test/",
        "http://@app.test/",
        "http:///x",
        "http://",
        "http:",
        "http:/x",
        "http:app.test/",
        "://app.test/",
        "http//app.test/",
        "http://app.test:99999/",
        "http://app.test:x/",
        "http://a,b/",
        "http://[::1/",
        "http://..",
        "http://app.test\\@b.test/",
        "http://?x",
        "http://:80/",
    ];
    cases.extend(bad.iter().map(|target| refused("HD-09", BAD, absolute(target))));
    cases.push(refused(
        "HD-09 a bad Host beside it",
        BAD,
        "GET http://app.test/ HTTP/1.1\r\nHost: a/b\r\n\r\n",
    ));
    check(cases).await;
}

#[tokio::test]
async fn targets_that_name_no_path_are_refused() {
    let bad = [
        ("HD-10", "GET admin HTTP/1.1"),
        ("HD-10", "GET app.test:80 HTTP/1.1"),
        ("HD-10", "GET app.test HTTP/1.1"),
        ("HD-10", "GET ?a=b HTTP/1.1"),
        ("HD-10", "GET .. HTTP/1.1"),
        ("HD-10", "GET \\ HTTP/1.1"),
        ("HD-10", "GET 127.0.0.1 HTTP/1.1"),
        ("HD-10", "OPTIONS x HTTP/1.1"),
        ("HD-11", "GET * HTTP/1.1"),
        ("HD-11", "POST * HTTP/1.1"),
        ("HD-11", "OPTIONS */x HTTP/1.1"),
        ("HD-11", "OPTIONS ** HTTP/1.1"),
        ("HD-11", "OPTIONS *?x HTTP/1.1"),
        ("HD-11", "options * HTTP/1.1"),
    ];
    let mut cases: Vec<Case> = bad
        .iter()
        .map(|(id, bytes)| refused(*id, BAD, line(bytes)))
        .collect();
    cases.push(answered(
        "HD-11 of the proxy itself",
        &[200, 204],
        line("OPTIONS * HTTP/1.1"),
    ));
    cases.push(refused("HD-11 without a host", BAD, "OPTIONS * HTTP/1.1\r\n\r\n"));
    for target in [
        "/a#b",
        "/#",
        "/a?b#c",
        "http://app.test/#x",
        "http://app.test#x",
        "#",
        "*#",
    ] {
        cases.push(refused("HD-15", BAD, line(format!("GET {target} HTTP/1.1"))));
    }
    check(cases).await;
}

#[tokio::test]
async fn connect_opens_no_tunnel() {
    let mut cases = Vec::new();
    for target in [
        "app.test:443",
        "app.test",
        "/x",
        "http://app.test",
        "http://app.test/",
        "*",
        "[::1]:80",
        "127.0.0.1:80",
        ":80",
    ] {
        cases.push(refused(
            "HD-12",
            &[400, 405, 501],
            line(format!("CONNECT {target} HTTP/1.1")),
        ));
    }
    cases.push(refused(
        "HD-12 HTTP/1.0",
        &[400, 405, 501],
        "CONNECT app.test:80 HTTP/1.0\r\n\r\n",
    ));
    let counted = "CONNECT app.test:80 HTTP/1.1\r\n<H>Content-Length: 5\r\n\r\nhello";
    cases.push(refused("HD-12 a body", &[400, 405, 501], counted));
    let lower = forwarded("HD-12 in lower case", line("connect / HTTP/1.1")).or(&[400, 405, 501]);
    cases.push(lower);
    check(cases).await;
}

#[tokio::test]
async fn malformed_request_lines_are_refused() {
    let bad: [&[u8]; 36] = [
        b"GET /a b HTTP/1.1",
        b"GET  /a HTTP/1.1",
        b"GET /a  HTTP/1.1",
        b"GET /a HTTP/1.1 ",
        b"GET /a HTTP/1.1\t",
        b" GET /a HTTP/1.1",
        b"\tGET /a HTTP/1.1",
        b"GET\t/a HTTP/1.1",
        b"GET /a\tHTTP/1.1",
        b"GET\x0b/a HTTP/1.1",
        b"GET\x0c/a HTTP/1.1",
        b"GET\xa0/a HTTP/1.1",
        b"GET /\x01 HTTP/1.1",
        b"GET /\x00 HTTP/1.1",
        b"GET /\x7f HTTP/1.1",
        b"GET /\r HTTP/1.1",
        b"GET /a\rHTTP/1.1",
        b"GET /a\x0b HTTP/1.1",
        b"GET /a HTTP/1.1 HTTP/1.1",
        b"GET /a, HTTP/1.1, x",
        b"GET",
        b"GET ",
        b"GET HTTP/1.1",
        b"GET  HTTP/1.1",
        b" / HTTP/1.1",
        b"/ HTTP/1.1",
        b"G=\"x / HTTP/1.1",
        b"GE\x00T / HTTP/1.1",
        b"GET, / HTTP/1.1",
        b"GET: / HTTP/1.1",
        b"G(E)T / HTTP/1.1",
        b"G\xc9T / HTTP/1.1",
        b"{GET} / HTTP/1.1",
        b"GET\\ / HTTP/1.1",
        b"\xef\xbb\xbfGET / HTTP/1.1",
        b":method: GET",
    ];
    let statuses: &[u16] = &[400, 505];
    check(
        bad.iter()
            .map(|bytes| refused("HD-14", statuses, line(bytes)))
            .collect(),
    )
    .await;
}

#[tokio::test]
async fn what_is_no_http_is_refused() {
    let statuses: &[u16] = &[CLOSED, 400, 505];
    let mut cases = vec![
        refused(
            "HD-21 TLS",
            statuses,
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        ),
        refused("HD-21 SSH", statuses, "SSH-2.0-OpenSSH_9.6\r\n\r\n"),
        refused("HD-21 garbage", statuses, b"\x00\x01\x02\xff\xfe\r\n\r\n"),
        refused(
            "HD-21 a response",
            statuses,
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        ),
        refused("HD-21 JSON", statuses, "{\"jsonrpc\":\"2.0\"}\r\n\r\n"),
        refused("HD-21 SMTP", statuses, "EHLO app.test\r\n\r\n"),
        refused(
            "HH-13 v2",
            statuses,
            b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\x01\x02\x03\x04\x05\x06\x07\x08\x00\x01\x00\x02",
        ),
    ];
    for line in [
        "TCP4 1.2.3.4 5.6.7.8 1 2",
        "TCP6 ::1 ::1 1 2",
        "UNKNOWN",
        "TCP4 1.2.3.4",
        "UNKNOWN x y z",
    ] {
        cases.push(refused(
            "HH-13",
            statuses,
            format!("PROXY {line}\r\nGET / HTTP/1.1\r\n<H>\r\n"),
        ));
    }
    check(cases).await;
}

#[tokio::test]
async fn empty_lines_before_a_request_are_skipped_up_to_two() {
    const EMPTY: &[u16] = &[CLOSED, 400, 408, 431];
    let request = "GET / HTTP/1.1\r\n<H>\r\n";
    check(vec![
        forwarded("HD-18 one", format!("\r\n{request}")),
        forwarded("HD-18 two", format!("\r\n\r\n{request}")),
        refused("HD-18 three", EMPTY, format!("\r\n\r\n\r\n{request}")),
        refused("HD-18 ten", EMPTY, format!("{}{request}", "\r\n".repeat(10))),
        refused("HD-18 nothing else", EMPTY, "\r\n".repeat(512 << 10)),
        refused("HD-18 LF", BAD, format!("\n{request}")),
        refused("HD-18 two LF", BAD, format!("\n\n{request}")),
        refused("HD-18 CRLF and LF", BAD, format!("\r\n\n{request}")),
        refused("HD-18 CR", BAD, format!("\r{request}")),
        refused("HD-18 two CR", BAD, format!("\r\r\n{request}")),
        refused("HD-18 a space", BAD, format!(" \r\n{request}")),
        refused("HD-18 a NUL", BAD, format!("\0{request}")),
    ])
    .await;
}
