//! Heads that are refused before anything is forwarded.

use super::{Bench, Case, case, next_request};

/// All of these with the same verdict.
async fn refuse(cases: &[Case], statuses: &[u16]) {
    let bench = Bench::start().await;
    for case in cases {
        bench.refuses(case, statuses).await;
    }
}

#[tokio::test]
async fn a_missing_double_empty_or_bad_host_is_a_400() {
    let mut cases = vec![
        case("no Host", format!("GET / HTTP/1.1\r\n\r\n{}", next_request())),
        case("two Hosts", "GET / HTTP/1.1\r\nHOSTHost: b.test\r\n\r\n"),
        case("two equal Hosts", "GET / HTTP/1.1\r\nHOSTHOST\r\n"),
        case("empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        case("blank Host", "GET / HTTP/1.1\r\nHost:  \t\r\n\r\n"),
    ];
    let bad = [
        "u@a",
        "a/b",
        "a, b",
        "a b",
        "a?x",
        "a#x",
        "a:99999",
        "a:1:2",
        "a:x",
        "[::1",
        "[::1].",
        "[::1]x",
        "..",
        ".",
        "a..b",
        "\x02",
        "a\\b",
        "http://a",
        "a:-1",
        "a%",
        "[1.2.3.4]",
        "[]",
        "a]",
        ":80",
        "a;b",
        "\u{e9}.test",
    ];
    for host in bad {
        cases.push(case(host, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")));
    }
    cases.push(case(
        "a long host",
        format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", "a".repeat(256)),
    ));
    refuse(&cases, &[400]).await;
}

#[tokio::test]
async fn connect_is_refused_in_every_form() {
    let cases = [
        case("authority", "CONNECT app.test:443 HTTP/1.1\r\nHOST\r\n"),
        case("origin form", "CONNECT /x HTTP/1.1\r\nHOST\r\n"),
        case("absolute form", "CONNECT http://app.test HTTP/1.1\r\nHOST\r\n"),
        case(
            "hidden request behind it",
            "CONNECT app.test:80 HTTP/1.1\r\nHOST\r\nGET / HTTP/1.1\r\nHOST\r\n",
        ),
    ];
    refuse(&cases, &[400, 405, 501]).await;
}

#[tokio::test]
async fn targets_that_name_no_path_are_a_400() {
    let cases = [
        case("a word", "GET admin HTTP/1.1\r\nHOST\r\n"),
        case("an authority", "GET app.test:80 HTTP/1.1\r\nHOST\r\n"),
        case("an asterisk", "GET * HTTP/1.1\r\nHOST\r\n"),
        case("an asterisk with a path", "OPTIONS */x HTTP/1.1\r\nHOST\r\n"),
        case("another scheme", "GET ftp://app.test/ HTTP/1.1\r\nHOST\r\n"),
        case("userinfo", "GET http://u:p@app.test/ HTTP/1.1\r\nHOST\r\n"),
        case("an empty host", "GET http:///x HTTP/1.1\r\nHOST\r\n"),
        case("nothing", "GET  HTTP/1.1\r\nHOST\r\n"),
        case("a query alone", "GET ?a=b HTTP/1.1\r\nHOST\r\n"),
    ];
    refuse(&cases, &[400]).await;
}

#[tokio::test]
async fn options_with_an_asterisk_is_answered_by_the_proxy_itself() {
    let bench = Bench::start().await;
    let before = bench.origin.bytes();
    let answer = bench
        .rig
        .wire()
        .await
        .ask("OPTIONS * HTTP/1.1\r\nHost: app.test\r\n\r\n")
        .await;
    assert!(
        matches!(answer.head.status(), 200 | 204),
        "{}",
        answer.head.start()
    );
    assert_eq!(bench.origin.bytes(), before);
}

#[tokio::test]
async fn malformed_request_lines_are_a_400() {
    let cases = [
        case("a space in the target", "GET /a b HTTP/1.1\r\nHOST\r\n"),
        case("two spaces", "GET  /a HTTP/1.1\r\nHOST\r\n"),
        case("a tab", "GET\t/a HTTP/1.1\r\nHOST\r\n"),
        case("a space behind the version", "GET /a HTTP/1.1 \r\nHOST\r\n"),
        case("a quote in the method", "G=\"x / HTTP/1.1\r\nHOST\r\n"),
        case("a control byte in the target", "GET /\x01 HTTP/1.1\r\nHOST\r\n"),
        case("a NUL in the target", "GET /\x00 HTTP/1.1\r\nHOST\r\n"),
        case("a DEL in the target", "GET /\x7f HTTP/1.1\r\nHOST\r\n"),
        case("no method", " / HTTP/1.1\r\nHOST\r\n"),
    ];
    refuse(&cases, &[400]).await;
}

#[tokio::test]
async fn other_versions_of_http_are_refused() {
    let cases = [
        case("1.2", "GET / HTTP/1.2\r\nHOST\r\n"),
        case("2.0", "GET / HTTP/2.0\r\nHOST\r\n"),
        case("lower case", "GET / http/1.1\r\nHOST\r\n"),
        case("two digits", "GET / HTTP/01.1\r\nHOST\r\n"),
        case("a letter behind it", "GET / HTTP/1.1x\r\nHOST\r\n"),
        case("another protocol", "GET / RTSP/1.1\r\nHOST\r\n"),
        case("0.9 with a head", "GET / HTTP/0.9\r\nHOST\r\n"),
    ];
    refuse(&cases, &[400, 505]).await;
}

#[tokio::test]
async fn an_http09_request_gets_no_page() {
    refuse(&[case("0.9", "GET /a\r\n\r\n")], &[0, 400, 505]).await;
}

#[tokio::test]
async fn malformed_field_lines_are_a_400() {
    let cases = [
        case("CR in a value", "GET / HTTP/1.1\r\nHOSTX: y\rZ: w\r\n\r\n"),
        case("NUL in a value", "GET / HTTP/1.1\r\nHOSTX: y\x00z\r\n\r\n"),
        case(
            "a control byte in a value",
            "GET / HTTP/1.1\r\nHOSTX: y\x01z\r\n\r\n",
        ),
        case("NUL in Host", "GET / HTTP/1.1\r\nHost: a\x00.b\r\n\r\n"),
        case("a high byte in a name", b"GET / HTTP/1.1\r\nHOSTX\x85: z\r\n\r\n"),
        case("brackets in a name", "GET / HTTP/1.1\r\nHOSTX(y): z\r\n\r\n"),
        case("no name", "GET / HTTP/1.1\r\nHOST: z\r\n\r\n"),
        case("no colon", "GET / HTTP/1.1\r\nHOSTfoo\r\n\r\n"),
        case("a folded line", "GET / HTTP/1.1\r\nHOSTX: y\r\n z\r\n\r\n"),
        case("a folded first line", "GET / HTTP/1.1\r\n X: y\r\nHOST\r\n"),
        case("a space before the colon", "GET / HTTP/1.1\r\nHOSTX : y\r\n\r\n"),
        case("a tab before the colon", "GET / HTTP/1.1\r\nHOSTX\t: y\r\n\r\n"),
    ];
    refuse(&cases, &[400]).await;
}

#[tokio::test]
async fn transfer_codings_other_than_chunked_are_refused() {
    let line = |value: &str| {
        format!(
            "POST / HTTP/1.1\r\nHOST{value}\r\n\r\n0\r\n\r\n{}",
            next_request()
        )
    };
    let cases = [
        case("folded", line("Transfer-Encoding:\r\n chunked")),
        case("chunked, identity", line("Transfer-Encoding: chunked, identity")),
        case("gzip, chunked", line("Transfer-Encoding: gzip, chunked")),
        case("gzip", line("Transfer-Encoding: gzip")),
        case(
            "chunked twice in a list",
            line("Transfer-Encoding: chunked, chunked"),
        ),
        case(
            "chunked twice in lines",
            line("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        ),
        case("identity, chunked", line("Transfer-Encoding: identity, chunked")),
        case(
            "identity line and chunked line",
            line("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked"),
        ),
        case(
            "a leading comma",
            line("Transfer-Encoding: ,chunked\r\nContent-Length: 5"),
        ),
        case(
            "unknown with a length",
            line("Transfer-Encoding: xchunked\r\nContent-Length: 5"),
        ),
        case("a vertical tab", line("Transfer-Encoding: \x0bchunked")),
        case("quoted", line("Transfer-Encoding: \"chunked\"")),
        case("a parameter", line("Transfer-Encoding: chunked;x=1")),
        case("a space before the colon", line("Transfer-Encoding : chunked")),
        case("empty", line("Transfer-Encoding:")),
        case(
            "HTTP/1.0",
            "POST / HTTP/1.0\r\nHOSTTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
    ];
    refuse(&cases, &[400, 501]).await;
    let nbsp = b"POST / HTTP/1.1\r\nHOSTTransfer-Encoding: \xa0chunked\r\n\r\n0\r\n\r\n";
    refuse(&[case("a no-break space", nbsp)], &[400, 501]).await;
}

#[tokio::test]
async fn lengths_that_are_no_plain_number_are_a_400() {
    let mut cases = vec![
        case(
            "two that differ",
            "POST / HTTP/1.1\r\nHOSTContent-Length: 5\r\nContent-Length: 10\r\n\r\nhello",
        ),
        case(
            "a list that differs",
            "POST / HTTP/1.1\r\nHOSTContent-Length: 5, 6\r\n\r\nhello",
        ),
        case(
            "an empty one first",
            "POST / HTTP/1.1\r\nHOSTContent-Length: \r\nContent-Length: 43\r\n\r\nhello",
        ),
        case(
            "a space before the colon",
            "POST / HTTP/1.1\r\nHOSTContent-Length : 5\r\n\r\nhello",
        ),
    ];
    for length in [
        "+5", "-0", "-5", "0x5", "1_0", "1 0", "5;", "5\x0b", "5,", "\u{665}", "5.0", "1e1",
    ] {
        cases.push(case(
            length,
            format!("POST / HTTP/1.1\r\nHOSTContent-Length: {length}\r\n\r\nhello"),
        ));
    }
    refuse(&cases, &[400]).await;
    let over = case(
        "too large a number",
        "POST / HTTP/1.1\r\nHOSTContent-Length: 18446744073709551617\r\n\r\nhello",
    );
    refuse(&[over], &[400, 413]).await;
}

#[tokio::test]
async fn expectations_other_than_100_continue_are_a_417() {
    let cases = [
        case(
            "200-ok",
            "POST / HTTP/1.1\r\nHOSTExpect: 200-ok\r\nContent-Length: 0\r\n\r\n",
        ),
        case(
            "a word before it",
            "POST / HTTP/1.1\r\nHOSTExpect: y 100-continue\r\nContent-Length: 0\r\n\r\n",
        ),
        case("on a GET", "GET / HTTP/1.1\r\nHOSTExpect: y\r\n\r\n"),
    ];
    refuse(&cases, &[417]).await;
    let folded = case(
        "folded",
        "POST / HTTP/1.1\r\nHOSTExpect:\r\n 100-continue\r\nContent-Length: 0\r\n\r\n",
    );
    refuse(&[folded], &[400]).await;
}

#[tokio::test]
async fn heads_past_the_limits_are_refused_with_the_right_status() {
    let many: String = (0..101).map(|number| format!("X-{number}: y\r\n")).collect();
    let cases = [
        case("101 fields", format!("GET / HTTP/1.1\r\n{many}HOST\r\n")),
        case(
            "one long field",
            format!("GET / HTTP/1.1\r\nHOSTX: {}\r\n\r\n", "y".repeat(70 << 10)),
        ),
        case(
            "many long fields",
            format!(
                "GET / HTTP/1.1\r\nHOST{}\r\n",
                "X: yyyyyyyy\r\n".repeat(90).repeat(80)
            ),
        ),
    ];
    refuse(&cases, &[431]).await;
    let target = case(
        "a long target",
        format!("GET /{} HTTP/1.1\r\nHOST\r\n", "a".repeat(70 << 10)),
    );
    refuse(&[target], &[414, 431]).await;
    let empty = case("nothing but empty lines", "\r\n".repeat(512 << 10));
    refuse(&[empty], &[0, 400, 431]).await;
}

#[tokio::test]
async fn what_is_no_http_is_refused() {
    let cases = [
        case("a TLS handshake", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        case(
            "a PROXY line",
            "PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET / HTTP/1.1\r\nHOST\r\n",
        ),
        case("an SSH greeting", "SSH-2.0-OpenSSH_9.6\r\n\r\n"),
        case("garbage", b"\x00\x01\x02\xff\xfe\r\n\r\n"),
    ];
    refuse(&cases, &[0, 400, 505]).await;
}
