//! Chunked bodies and what comes behind them: chunk sizes, extensions, trailers, the next request.

use super::request::{BAD, Case, broken, check, forwarded, refused, run, run_to_end};

/// What refuses a body or trailers beyond a limit.
const LARGE: &[u16] = &[400, 413, 431];

fn chunked(body: impl AsRef<[u8]>) -> Vec<u8> {
    let head = b"POST / HTTP/1.1\r\n<H>Transfer-Encoding: chunked\r\n\r\n";
    [head, body.as_ref()].concat()
}

#[tokio::test]
async fn chunks_pass_without_their_extensions() {
    let plain = [
        ("FR-21 plain", "5\r\nhello\r\n0\r\n\r\n"),
        ("FR-21 leading zeros", "0005\r\nhello\r\n0\r\n\r\n"),
        ("FR-21 two chunks", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
        ("FR-22 a long last chunk", "5\r\nhello\r\n000\r\n\r\n"),
        ("FR-29 extension", "5;a=b;c=\"x\"\r\nhello\r\n0\r\n\r\n"),
        ("FR-29 without a value", "5;a\r\nhello\r\n0;z\r\n\r\n"),
        ("FR-29 quoted", "5;a=\"b;c\\\"d\"\r\nhello\r\n0\r\n\r\n"),
        (
            "FR-31 a trailer like a request",
            "5\r\nhello\r\n0\r\nX:POST / HTTP/1.1\r\n\r\n",
        ),
    ];
    let lenient = [
        (
            "FR-21 very many zeros",
            "0000000000000000000005\r\nhello\r\n0\r\n\r\n",
        ),
        ("FR-21 space behind", "5 \r\nhello\r\n0\r\n\r\n"),
        ("FR-21 tab behind", "5\t\r\nhello\r\n0\r\n\r\n"),
        ("FR-22 space behind the last", "5\r\nhello\r\n0 \r\n\r\n"),
        ("FR-28 NUL", "5;a\0b\r\nhello\r\n0\r\n\r\n"),
        ("FR-28 open quote", "5;a=\"b\r\nhello\r\n0\r\n\r\n"),
        ("FR-28 nothing", "5;\r\nhello\r\n0\r\n\r\n"),
        ("FR-28 blanks", "5 ; a = b\r\nhello\r\n0\r\n\r\n"),
        ("FR-28 control byte", "5;\x01\r\nhello\r\n0\r\n\r\n"),
        ("FR-28 high byte", "5;\u{e9}\r\nhello\r\n0\r\n\r\n"),
    ];
    let mut cases: Vec<Case> = plain
        .iter()
        .map(|(id, body)| forwarded(*id, chunked(body)).body("hello"))
        .collect();
    cases.extend(
        lenient
            .iter()
            .map(|(id, body)| forwarded(*id, chunked(body)).body("hello").or(BAD)),
    );
    cases.push(forwarded("FR-21 hex digits", chunked("a\r\n0123456789\r\n0\r\n\r\n")).body("0123456789"));
    cases.push(forwarded("FR-21 capitals", chunked("A\r\n0123456789\r\n0\r\n\r\n")).body("0123456789"));
    cases.push(forwarded("FR-22 empty", chunked("0\r\n\r\n")));
    let ends = chunked("a\r\n\r\n0\r\n\r\n\r\n.\r\n0\r\n\r\n");
    cases.push(forwarded("FR-21 line ends as data", ends).body("\r\n0\r\n\r\n\r\n."));
    check(cases).await;
}

#[tokio::test]
async fn malformed_chunk_sizes_are_refused_and_never_look_whole() {
    let sizes = [
        "0x5",
        "0X5",
        "+5",
        "-5",
        "0_5",
        "5_",
        " 5",
        "\t5",
        "",
        "g",
        "5g",
        "5h",
        "$5",
        "5,",
        "5.",
        "5 5",
        "5\x0b",
        "\x0b5",
        "5\0",
        "\x005",
        "\"5\"",
        "five",
        "10000000000000005",
        "fffffffffffffffff",
        "\u{ff15}",
        "5\u{a0}",
        ";a=b",
        "5=a",
    ];
    let cases = sizes
        .iter()
        .map(|size| broken("FR-21", BAD, chunked(format!("{size}\r\nhello\r\n0\r\n\r\n"))));
    let mut cases: Vec<Case> = cases.collect();
    for last in ["-0", "+0", "0x0", " 0", "", "x", "\0"] {
        cases.push(broken(
            "FR-22",
            BAD,
            chunked(format!("5\r\nhello\r\n{last}\r\n\r\n")),
        ));
    }
    check(cases).await;
}

#[tokio::test]
async fn malformed_line_ends_in_chunks_are_refused_and_never_look_whole() {
    let bad = [
        ("FR-25 LF behind the size", "5\nhello\r\n0\r\n\r\n"),
        ("FR-25 LF behind the data", "5\r\nhello\n0\r\n\r\n"),
        ("FR-25 LF behind the last size", "5\r\nhello\r\n0\n\r\n"),
        ("FR-25 LF twice at the end", "5\r\nhello\r\n0\n\n"),
        ("FR-25 LF behind an extension", "5;a=b\nhello\r\n0\r\n\r\n"),
        ("FR-25 LF in an extension", "5;a\nb\r\nhello\r\n0\r\n\r\n"),
        ("FR-26 none", "5\r\nhello0\r\n\r\n"),
        ("FR-26 CR alone", "5\r\nhello\r0\r\n\r\n"),
        ("FR-26 other bytes", "5\r\nhelloXX0\r\n\r\n"),
        ("FR-26 too much data", "5\r\nhello!\r\n0\r\n\r\n"),
        ("FR-26 two CR", "5\r\nhello\r\r\n0\r\n\r\n"),
        ("FR-26 LF CR", "5\r\nhello\n\r0\r\n\r\n"),
        ("FR-26 an empty line", "5\r\nhello\r\n\r\n0\r\n\r\n"),
        ("FR-27 CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"),
        ("FR-27 CR behind the size", "5\rhello\r\n0\r\n\r\n"),
        ("FR-27 two CR behind the size", "5\r\r\nhello\r\n0\r\n\r\n"),
        ("FR-27 CR before an extension", "2\r\r;a\r\n02\r\n41\r\n0\r\n\r\n"),
        ("FR-27 CR behind the last size", "5\r\nhello\r\n0\r\r\n\r\n"),
        ("FR-27 CR at the very end", "5\r\nhello\r\n0\r\n\r\r\n\r\n"),
        ("FR-25 LF at the very end", "5\r\nhello\r\n0\r\n\n\r\n\r\n"),
        ("FR-25 LF in a trailer", "5\r\nhello\r\n0\r\nX: y\n\r\n\r\n"),
        (
            "FR-25 LF between trailers",
            "5\r\nhello\r\n0\r\nX: y\nZ: a\r\n\r\n",
        ),
    ];
    let malformed = |(id, body): &(&str, &str)| broken(*id, BAD, chunked(body));
    check(bad.iter().map(malformed).collect()).await;
}

#[tokio::test]
async fn endless_extensions_and_trailers_are_refused() {
    let ends = "0\r\n\r\n";
    let extensions = format!("1;{}\r\nx\r\n", "a".repeat(4000)).repeat(200) + ends;
    let long = format!("1;{}\r\nx\r\n{ends}", "a".repeat(100 << 10));
    let fields: String = (0..2000).map(|number| format!("X-{number}: y\r\n")).collect();
    check(vec![
        broken("FR-30 many", LARGE, chunked(extensions)),
        broken("FR-30 one", LARGE, chunked(long)),
        broken(
            "FR-33 many trailers",
            LARGE,
            chunked(format!("0\r\n{fields}\r\n")),
        ),
        broken(
            "FR-33 a long trailer",
            LARGE,
            chunked(format!("0\r\nX: {}\r\n\r\n", "y".repeat(100 << 10))),
        ),
    ])
    .await;
}

#[tokio::test]
async fn trailers_never_change_what_a_request_means() {
    let forbidden = [
        ("content-length", "50"),
        ("authorization", "z"),
        ("content-encoding", "gzip"),
        ("content-type", "a/b"),
        ("cookie", "a=b"),
        ("connection", "close"),
        ("upgrade", "x"),
        ("te", "trailers"),
        ("trailer", "a"),
        ("expect", "100-continue"),
        ("range", "bytes=0-1"),
        ("forwarded", "for=1.2.3.4"),
        ("x-real-ip", "1.2.3.4"),
        ("keep-alive", "1"),
        ("proxy-authorization", "z"),
        ("proxy-connection", "close"),
        ("cache-control", "no-store"),
        ("x-unknown", "y"),
        ("grpc_status", "0"),
        ("x.checksum", "1"),
    ];
    let mut cases = Vec::new();
    for (name, value) in forbidden {
        let bytes = chunked(format!("5\r\nhello\r\n0\r\n{name}: {value}\r\n\r\n"));
        cases.push(forwarded("FR-32", bytes).body("hello").without(&[name]));
    }
    for (name, value) in [
        ("host", "b.test"),
        ("transfer-encoding", "x"),
        ("x-forwarded-for", "1.2.3.4"),
        ("x-forwarded-proto", "https"),
    ] {
        let bytes = chunked(format!("5\r\nhello\r\n0\r\n{name}: {value}\r\n\r\n"));
        cases.push(
            forwarded("FR-32 in the head too", bytes)
                .body("hello")
                .with("x-forwarded-proto", [b"http"]),
        );
    }
    let alias = chunked("5\r\nhello\r\n0\r\nx_forwarded_for: 1.2.3.4\r\n\r\n");
    cases.push(
        forwarded("FR-32 an alias", alias)
            .body("hello")
            .without(&["x_forwarded_for"]),
    );
    let bad = [
        "foo",
        "X : y",
        ": y",
        " X: y",
        "X: y\r\n z",
        "X: y\0",
        "X: \ry",
        "X(y): z",
        "X\u{e9}: y",
        "GET / HTTP/1.1",
    ];
    cases.extend(bad.iter().map(|line| {
        broken(
            "FR-33",
            BAD,
            chunked(format!("5\r\nhello\r\n0\r\n{line}\r\n\r\n")),
        )
    }));
    check(cases).await;
}

#[tokio::test]
async fn a_body_stays_a_body_whatever_the_method() {
    let hidden = "GET /s HTTP/1.1\r\nHost: app.test\r\n\r\n";
    let mut cases = Vec::new();
    for method in [
        "GET", "HEAD", "DELETE", "OPTIONS", "PUT", "PATCH", "TRACE", "FOO", "get",
    ] {
        let counted = format!(
            "{method} / HTTP/1.1\r\n<H>Content-Length: {}\r\n\r\n{hidden}",
            hidden.len()
        );
        cases.push(forwarded("FR-34 counted", counted).body(hidden));
        let size = format!("{:x}", hidden.len());
        let coded = format!(
            "{method} / HTTP/1.1\r\n<H>Transfer-Encoding: chunked\r\n\r\n{size}\r\n{hidden}\r\n0\r\n\r\n"
        );
        cases.push(forwarded("FR-34 chunked", coded).body(hidden));
    }
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nContent-Length: 5\r\n\r\nhello";
    cases.push(forwarded("FR-36", format!("GET / HTTP/1.1\r\n<H>{upgrade}")).body("hello"));
    let old = "POST / HTTP/1.0\r\n<H>Content-Length: 5\r\n\r\nhello";
    cases.push(forwarded("FR-34 HTTP/1.0", old).body("hello"));
    check(cases).await;
}

#[tokio::test]
async fn pipelined_requests_run_in_order_up_to_the_first_bad_one() {
    let first = "GET /1 HTTP/1.1\r\n<H>\r\n";
    let third = "GET /3 HTTP/1.1\r\n<H>\r\n";
    let good = [
        ("a GET", "GET /2 HTTP/1.1\r\n<H>\r\n"),
        ("a POST", "POST /2 HTTP/1.1\r\n<H>Content-Length: 5\r\n\r\nhello"),
        (
            "chunks",
            "POST /2 HTTP/1.1\r\n<H>Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        ),
        ("an empty line first", "\r\nGET /2 HTTP/1.1\r\n<H>\r\n"),
    ];
    let mut cases = Vec::new();
    for (kind, second) in good {
        let bytes = format!("{first}{second}{third}");
        cases.push(run(
            format!("FR-37 {kind}"),
            bytes,
            &[200, 200, 200],
            &["/1", "/2", "/3"],
        ));
    }
    let bad = [
        "GET /2 HTTP/1.1\r\n\r\n",
        "GET /2 HTTP/1.1\r\n<H>X : y\r\n\r\n",
        "GET /2 HTTP/1.1\r\n<H>foo\r\n\r\n",
        "POST /2 HTTP/1.1\r\n<H>Content-Length: x\r\n\r\n",
        "GET 2 HTTP/1.1\r\n<H>\r\n",
        "GET  /2 HTTP/1.1\r\n<H>\r\n",
        "\x16\x03\x01\r\n\r\n",
    ];
    for second in bad {
        let bytes = format!("{first}{second}{third}");
        cases.push(run_to_end("FR-37 a bad second", bytes, &[200, 400], &["/1"]));
    }
    let broken = format!("{first}POST /2 HTTP/1.1\r\n<H>Transfer-Encoding: chunked\r\n\r\nx\r\n{third}");
    cases.push(run_to_end(
        "FR-37 a bad second body",
        broken,
        &[200, 400],
        &["/1"],
    ));
    let closing = format!("{first}GET /2 HTTP/1.1\r\n<H>Connection: close\r\n\r\n{third}");
    cases.push(run_to_end("FR-38 a close", closing, &[200, 200], &["/1", "/2"]));
    let closing = format!("{first}GET /2 HTTP/1.1\r\n<H>Connection: a,CLOSE , b\r\n\r\n{third}");
    cases.push(run_to_end(
        "FR-38 a close in a list",
        closing,
        &[200, 200],
        &["/1", "/2"],
    ));
    let old = format!("{first}GET /2 HTTP/1.0\r\n<H>\r\n{third}");
    cases.push(run_to_end("FR-38 HTTP/1.0", old, &[200, 200], &["/1", "/2"]));
    check(cases).await;
}

#[tokio::test]
async fn an_expectation_is_100_continue_or_refused() {
    let expecting =
        |value: &str| format!("POST / HTTP/1.1\r\n<H>Expect: {value}\r\nContent-Length: 0\r\n\r\n");
    let mut cases = Vec::new();
    for value in [
        "200-ok",
        "y 100-continue",
        "100-continue y",
        "100-continue, y",
        "100-continue2",
        "100",
        "continue",
    ] {
        cases.push(refused("FR-39", &[417], expecting(value)));
    }
    cases.push(refused(
        "FR-39 a second line",
        &[417],
        expecting("100-continue\r\nExpect: y"),
    ));
    cases.push(refused(
        "FR-39 on a GET",
        &[417],
        "GET / HTTP/1.1\r\n<H>Expect: y\r\n\r\n",
    ));
    let folded = "POST / HTTP/1.1\r\n<H>Expect:\r\n 100-continue\r\nContent-Length: 0\r\n\r\n";
    cases.push(refused("FR-39 folded", BAD, folded));
    for value in ["100-continue", "100-CONTINUE", " 100-continue "] {
        cases.push(forwarded("FR-39 without a body", expecting(value)));
    }
    check(cases).await;
}
