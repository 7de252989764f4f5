//! Host fields and versions.

use super::request::{BAD, CLOSED, Case, answered, check, forwarded, refused};

fn hosted(host: impl AsRef<[u8]>) -> Vec<u8> {
    [b"GET / HTTP/1.1\r\nHost: ", host.as_ref(), b"\r\n\r\n"].concat()
}

#[tokio::test]
async fn there_is_exactly_one_host() {
    check(vec![
        refused("HD-06 none", BAD, "GET / HTTP/1.1\r\n\r\n"),
        refused(
            "HD-06 none but another field",
            BAD,
            "GET / HTTP/1.1\r\nX-Host: app.test\r\n\r\n",
        ),
        refused(
            "HD-06 none but an alias",
            BAD,
            "GET / HTTP/1.1\r\nHos_t: app.test\r\n\r\n",
        ),
        refused("HD-06 two", BAD, "GET / HTTP/1.1\r\n<H>Host: b.test\r\n\r\n"),
        refused("HD-06 two equal", BAD, "GET / HTTP/1.1\r\n<H><H>\r\n"),
        refused(
            "HD-06 two in other cases",
            BAD,
            "GET / HTTP/1.1\r\n<H>hOST: app.test\r\n\r\n",
        ),
        refused(
            "HD-06 a second that is empty",
            BAD,
            "GET / HTTP/1.1\r\n<H>Host:\r\n\r\n",
        ),
        refused("HD-06 empty", BAD, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        refused("HD-06 blank", BAD, "GET / HTTP/1.1\r\nHost:  \t\r\n\r\n"),
        refused(
            "HD-06 space before the colon",
            BAD,
            "GET / HTTP/1.1\r\nHost : app.test\r\n\r\n",
        ),
        refused(
            "HD-06 folded",
            BAD,
            "GET / HTTP/1.1\r\nHost:\r\n app.test\r\n\r\n",
        ),
        refused(
            "HD-06 two beside an absolute target",
            BAD,
            "GET http://app.test/ HTTP/1.1\r\n<H><H>\r\n",
        ),
        refused(
            "HD-06 none beside an absolute target",
            BAD,
            "GET http://app.test/ HTTP/1.1\r\n\r\n",
        ),
        refused(
            "HD-06 two, HTTP/1.0",
            BAD,
            "GET / HTTP/1.0\r\n<H>Host: b.test\r\n\r\n",
        ),
        refused(
            "HD-06 a bad one, HTTP/1.0",
            BAD,
            "GET / HTTP/1.0\r\nHost: a/b\r\n\r\n",
        ),
    ])
    .await;
}

#[tokio::test]
async fn bad_hosts_are_refused() {
    let bad: [&[u8]; 50] = [
        b"u@a",
        b"u:p@app.test",
        b"a/b",
        b"app.test/",
        b"/app.test",
        b"a, b",
        b"app.test, app.test",
        b"a b",
        b"a\tb",
        b"a?x",
        b"a#x",
        b"a:99999",
        b"a:65536",
        b"a:0",
        b"a:1:2",
        b"a:x",
        b"a:8o",
        b"a:-1",
        b"a:+1",
        b"a: 80",
        b"a :80",
        b":80",
        b":",
        b"[::1",
        b"::1",
        b"[::1].",
        b"[::1]x",
        b"[::1]80",
        b"[]",
        b"[a]",
        b"[1.2.3.4]",
        b"[::1%25eth0]",
        b"[::g]",
        b"a]",
        b"..",
        b".",
        b"a..b",
        b".a",
        b"a\\b",
        b"a\"b",
        b"a<b>",
        b"a;b",
        b"a|b",
        b"a^b",
        b"a`b",
        b"{a}",
        b"http://a",
        b"a%",
        b"\xc3\xa9.test",
        b"\xff",
    ];
    let mut cases: Vec<Case> = bad
        .iter()
        .map(|host| refused("HD-07", BAD, hosted(host)))
        .collect();
    for byte in [0, 1, 2, 8, 0x0b, 0x0c, 0x1f, 0x7f] {
        cases.push(refused(
            "HD-02 in the host",
            BAD,
            hosted([b"a", [byte].as_slice(), b".b"].concat()),
        ));
    }
    cases.push(refused("HD-07 256 letters", BAD, hosted("a".repeat(256))));
    check(cases).await;
}

#[tokio::test]
async fn equal_hosts_lead_to_the_same_site() {
    let equal = [
        "app.test",
        "App.Test",
        "APP.TEST",
        "app.test:80",
        "app.test:8080",
        "app.test.",
        "app.test.:80",
        "app.test:",
    ];
    check(
        equal
            .iter()
            .map(|host| forwarded("HD-08", hosted(host)).host(host))
            .collect(),
    )
    .await;
}

#[tokio::test]
async fn other_versions_are_refused() {
    let versions = [
        "HTTP/0.9",
        "HTTP/1.2",
        "HTTP/1.9",
        "HTTP/2.0",
        "HTTP/2",
        "HTTP/3.0",
        "HTTP/9.9",
        "http/1.1",
        "Http/1.1",
        "HTTP/01.1",
        "HTTP/1.01",
        "HTTP/1.1x",
        "HTTP/1.1.1",
        "HTTP/1.10",
        "HTTP/1",
        "HTTP/1.",
        "HTTP/.1",
        "HTTP/11",
        "HTTP/",
        "HTTP",
        "HTTP/1,1",
        "HTTP/-1.1",
        "HTTP/+1.1",
        "HTTP/1.-1",
        "HTTP/ 1.1",
        "HTTP /1.1",
        "HTTP 1.1",
        "HTTP\\1.1",
        "HTTPS/1.1",
        "RTSP/1.1",
        "SIP/2.0",
        "ICY/1.1",
        "HTTP/A.B",
        "HTTP/1.\u{ff11}",
        "XHTTP/1.1",
        "\"HTTP/1.1\"",
        "HTTP/1.1;",
        "HTTP/1.1\0",
    ];
    let mut cases: Vec<Case> = versions
        .iter()
        .map(|version| refused("HD-16", &[400, 505], format!("GET / {version}\r\n<H>\r\n")))
        .collect();
    cases.push(refused("HD-16 HTTP/0.9", &[CLOSED, 400, 505], "GET /a\r\n\r\n"));
    cases.push(refused("HD-16 no version", &[400, 505], "GET /a\r\n<H>\r\n"));
    cases.push(refused(
        "HD-16 no version but a space",
        &[400, 505],
        "GET /a \r\n<H>\r\n",
    ));
    cases.push(refused(
        "HD-16 HTTP/2 without its preface",
        &[400, 505],
        "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
    ));
    cases.push(refused(
        "HD-16 half a preface",
        &[400, 505],
        "PRI * HTTP/2.0\r\n<H>\r\n",
    ));
    check(cases).await;
}

#[tokio::test]
async fn http10_is_served_and_closed() {
    check(vec![
        forwarded("HD-17", "GET / HTTP/1.0\r\n<H>\r\n"),
        forwarded("HD-17 a close", "GET / HTTP/1.0\r\n<H>Connection: close\r\n\r\n"),
        forwarded(
            "HD-17 kept",
            "GET / HTTP/1.0\r\n<H>Connection: keep-alive\r\n\r\n",
        )
        .closes(false),
        forwarded(
            "HD-17 kept in a list",
            "GET / HTTP/1.0\r\n<H>Connection: a, Keep-Alive\r\n\r\n",
        )
        .closes(false),
        forwarded(
            "HD-17 a close beats it",
            "GET / HTTP/1.0\r\n<H>Connection: keep-alive, close\r\n\r\n",
        ),
        forwarded(
            "HD-17 an absolute target",
            "GET http://app.test/ HTTP/1.0\r\n\r\n",
        )
        .target("/"),
        forwarded(
            "HD-17 an upgrade",
            "GET / HTTP/1.0\r\n<H>Connection: upgrade\r\nUpgrade: x\r\n\r\n",
        )
        .without(&["upgrade"]),
        answered("HD-17 no host", &[200, 400, 404], "GET / HTTP/1.0\r\n\r\n"),
        forwarded(
            "HD-17 a close of HTTP/1.1",
            "GET / HTTP/1.1\r\n<H>Connection: close\r\n\r\n",
        )
        .closes(true),
        forwarded(
            "HD-17 a close in capitals",
            "GET / HTTP/1.1\r\n<H>Connection: CLOSE\r\n\r\n",
        )
        .closes(true),
        forwarded(
            "HD-17 a close that is none",
            "GET / HTTP/1.1\r\n<H>Connection: closed, x-close\r\n\r\n",
        ),
        forwarded(
            "HD-17 a close in two lines",
            "GET / HTTP/1.1\r\n<H>Connection: a\r\nConnection: close\r\n\r\n",
        )
        .closes(true),
    ])
    .await;
}
