//! Framings that two readers could take differently, and clients of HTTP/1.0.

use super::{Bench, answers};
use crate::support::rig::HOST;

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
