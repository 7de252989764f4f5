//! How requests go out.

use http::{HeaderMap, Request};

use crate::support::{Frames, Kept, TestBody, connected, each_wire, get, read, request, send};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Sends a request and expects it to be exactly this on the wire, and its connection to be reusable.
async fn goes_out(request: impl Fn() -> Request<TestBody>, text: &str) {
    each_wire(async |wire| {
        let (connection, mut server) = connected(wire);
        let kept = Kept::default();
        let client = async {
            let answer = send(connection, request(), &kept).await.unwrap();
            assert_eq!(read(answer).await.1, "ok");
        };
        let serves = async {
            server.expect(text).await;
            server.send(ANSWER).await;
        };
        tokio::join!(client, serves);
        server.expect_silence().await;
        assert_eq!(kept.len(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_has_the_framing_of_its_body() {
    goes_out(|| get("/a?b"), "GET /a?b HTTP/1.1\r\nhost: a\r\n\r\n").await;
    goes_out(
        || request("POST", "/", TestBody::empty()),
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n",
    )
    .await;
    goes_out(
        || request("POST", "/", TestBody::full("abc")),
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc",
    )
    .await;
    goes_out(
        || request("GET", "/", TestBody::full("abc")),
        "GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc",
    )
    .await;
    goes_out(
        || {
            let frames = Frames::default().data("abc").wait().data("").data("de");
            request("GET", "/", TestBody::new(frames))
        },
        "GET / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    )
    .await;
    goes_out(
        || {
            let frames = Frames::default().wait().data("abc").trailer("x-sum", "7");
            request("PUT", "/", TestBody::new(frames))
        },
        "PUT / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 7\r\n\r\n",
    )
    .await;
    goes_out(
        || {
            let frames = Frames::default().data("abc").trailer("x-sum", "7").of_length(3);
            request("PUT", "/", TestBody::new(frames))
        },
        "PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn framing_fields_that_a_request_brings_count_for_nothing() {
    goes_out(
        || {
            let mut request = request("GET", "http://b.test", TestBody::empty());
            let mut headers = HeaderMap::new();
            headers.insert("host", "b.test".parse().unwrap());
            headers.insert("content-length", "7".parse().unwrap());
            headers.insert("transfer-encoding", "gzip".parse().unwrap());
            *request.headers_mut() = headers;
            request
        },
        "GET / HTTP/1.1\r\nhost: b.test\r\ncontent-length: 0\r\n\r\n",
    )
    .await;
}
