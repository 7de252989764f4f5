//! Requests that pass, and bodies that break off behind a good head.

use super::{Bench, answers, case, next_request};
use crate::support::rig::{HOST, get, post};

#[tokio::test]
async fn plain_requests_pass_at_every_pace() {
    let bench = Bench::start().await;
    let recorded = bench
        .passes(&case("a GET", "GET /a?b HTTP/1.1\r\nHOST\r\n"))
        .await;
    assert_eq!((recorded.head.method(), recorded.head.target()), ("GET", "/a?b"));
    let recorded = bench
        .passes(&case(
            "a POST",
            "POST / HTTP/1.1\r\nHOSTContent-Length: 5\r\n\r\nhello",
        ))
        .await;
    assert_eq!(recorded.body, b"hello");
    let recorded = bench
        .passes(&case(
            "two empty lines first",
            "\r\n\r\nGET / HTTP/1.1\r\nHOST\r\n",
        ))
        .await;
    assert_eq!(recorded.head.target(), "/");
    let recorded = bench
        .passes(&case("a method in lower case", "get / HTTP/1.1\r\nHOST\r\n"))
        .await;
    assert_eq!(recorded.head.method(), "get", "it is not GET, and not made GET");
}

#[tokio::test]
async fn chunked_bodies_pass_without_their_extensions() {
    let bench = Bench::start().await;
    let head = "POST / HTTP/1.1\r\nHOSTTransfer-Encoding:";
    let cases = [
        case("plain", format!("{head} chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")),
        case(
            "tabs around the coding",
            format!("{head} \tchunked\t\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        ),
        case(
            "upper case",
            format!("{head} CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        ),
        case(
            "an extension",
            format!("{head} chunked\r\n\r\n5;a=b;c=\"x\"\r\nhello\r\n0;z\r\n\r\n"),
        ),
        case(
            "leading zeros",
            format!("{head} chunked\r\n\r\n0005\r\nhello\r\n00\r\n\r\n"),
        ),
        case(
            "two chunks",
            format!("{head} chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"),
        ),
        case(
            "a trailer like a request",
            format!("{head} chunked\r\n\r\n5\r\nhello\r\n0\r\nX:GET / HTTP/1.1\r\n\r\n"),
        ),
    ];
    for case in cases {
        let recorded = bench.passes(&case).await;
        assert_eq!(recorded.body, b"hello", "{}", case.name);
        assert!(!recorded.head.has("content-length"));
    }
}

#[tokio::test]
async fn an_alias_of_a_framing_field_frames_nothing() {
    let bench = Bench::start().await;
    let alias = "POST / HTTP/1.1\r\nHOSTTransfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n";
    let recorded = bench.passes(&case("an underscore", alias)).await;
    assert_eq!(recorded.body, b"0\r\n\r\n");
    assert!(!recorded.head.has("transfer_encoding") && !recorded.head.has("transfer-encoding"));
}

#[tokio::test]
async fn length_and_coding_together_never_smuggle() {
    let bench = Bench::start().await;
    let smuggled = format!("GET /smuggled HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
    let bodies = [
        format!("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"),
        format!(
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n{:x}\r\n{smuggled}\r\n0\r\n\r\n",
            smuggled.len()
        ),
    ];
    for body in bodies {
        let mut wire = bench.rig.wire().await;
        let _refused_early = wire
            .try_send(format!("POST / HTTP/1.1\r\nHost: {HOST}\r\n{body}"))
            .await;
        let statuses = answers(&mut wire, "the request").await;
        assert!(matches!(statuses.as_slice(), [400] | [200]), "{statuses:?}");
        bench.rig.canary().await;
    }
    for request in bench.origin.requests() {
        assert_ne!(request.head.target(), "/smuggled");
        assert!(!(request.head.has("content-length") && request.head.has("transfer-encoding")));
    }
}

#[tokio::test]
async fn equal_lengths_are_one_length_or_refused() {
    let bench = Bench::start().await;
    for lengths in ["Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5, 5"] {
        let mut wire = bench.rig.wire().await;
        wire.send(format!(
            "POST / HTTP/1.1\r\nHost: {HOST}\r\n{lengths}\r\n\r\nhello"
        ))
        .await;
        let status = wire.answer().await.head.status();
        assert!(matches!(status, 200 | 400), "{lengths}: {status}");
    }
    for request in bench
        .origin
        .requests()
        .iter()
        .filter(|request| request.head.method() == "POST")
    {
        assert_eq!(
            (request.head.all("content-length"), request.body.as_slice()),
            (vec!["5".to_owned()], b"hello".as_slice())
        );
    }
}

#[tokio::test]
async fn broken_chunks_end_the_request_and_the_connection() {
    let bench = Bench::start().await;
    let flood: String = (0..200)
        .map(|_| format!("1;{}\r\nx\r\n", "a".repeat(4000)))
        .collect();
    let bodies = [
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhello\r\n0\n\n",
        "5\r\nhello0\r\n\r\n",
        "5;a\rb\r\nhello\r\n0\r\n\r\n",
        "2\r\r;a\r\n02\r\n41\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "g\r\nhello\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        &flood,
    ];
    for body in bodies {
        let before = bench.origin.requests().len();
        let mut wire = bench.rig.wire().await;
        let head = format!("POST /broken HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n");
        let _refused_early = wire.try_send(head + body + &next_request()).await;
        let statuses = answers(&mut wire, "the request").await;
        let shown: String = body.chars().take(40).collect();
        assert!(
            matches!(statuses.as_slice(), [] | [400] | [413]),
            "{shown:?}: {statuses:?}"
        );
        bench.rig.canary().await;
        let whole = bench.origin.requests().len() - before;
        assert_eq!(whole, 1, "{shown:?}: the canary alone is a whole request");
    }
}

#[tokio::test]
async fn a_body_that_ends_early_is_no_whole_request() {
    let bench = Bench::start().await;
    for request in [
        format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 10\r\n\r\nhalf"),
        format!("POST / HTTP/1.1\r\nHost: {HOST}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
    ] {
        let before = bench.origin.requests().len();
        let mut wire = bench.rig.wire().await;
        wire.send(request).await;
        wire.finish().await;
        let statuses = answers(&mut wire, "the request").await;
        assert!(matches!(statuses.as_slice(), [] | [400]), "{statuses:?}");
        bench.rig.canary().await;
        assert_eq!(bench.origin.requests().len() - before, 1, "the canary alone");
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order_up_to_the_first_bad_one() {
    let bench = Bench::start().await;
    let mut wire = bench.rig.wire().await;
    let bad = format!("GET /bad HTTP/1.1\r\nHost: {HOST}\r\nX : y\r\n\r\n");
    wire.send(get("/first") + &post("/second", "body") + &bad + &get("/third"))
        .await;
    assert_eq!(answers(&mut wire, "the request").await, [200, 200, 400]);
    let targets: Vec<_> = bench
        .origin
        .requests()
        .iter()
        .map(|request| request.head.target().to_owned())
        .collect();
    assert_eq!(targets, ["/canary", "/first", "/second"]);
}

#[tokio::test]
async fn http10_gets_whole_answers_without_chunks() {
    let bench = Bench::start().await;
    let mut wire = bench.rig.wire().await;
    wire.send(format!("GET / HTTP/1.0\r\nHost: {HOST}\r\n\r\n")).await;
    let (bytes, _) = wire.rest().await;
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains(" 200 ") && text.ends_with("\r\n\r\nok"), "{text}");
    assert!(!text.to_ascii_lowercase().contains("transfer-encoding"), "{text}");

    let streamed = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n";
    let origin = crate::support::origin::Recorder::start(std::net::Ipv4Addr::LOCALHOST, move |_| {
        crate::support::origin::Reply::keep(streamed)
    })
    .await;
    let rig = crate::support::rig::Rig::to(origin.addr());
    let mut wire = rig.wire().await;
    wire.send(format!(
        "GET / HTTP/1.0\r\nHost: {HOST}\r\nConnection: keep-alive\r\n\r\n"
    ))
    .await;
    let (bytes, _) = wire.rest().await;
    let text = String::from_utf8_lossy(&bytes);
    assert!(
        text.ends_with("\r\n\r\nabcd"),
        "the end of the connection is the end of the body: {text}"
    );
}
