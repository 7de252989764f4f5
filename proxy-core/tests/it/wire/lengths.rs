//! HTTP/2 requests whose body is not as long as they say.

use super::Bench;
use crate::support::frames::{
    self, DATA, END_HEADERS, END_STREAM, Frames, HEADERS, Outcome, block, frame, get,
};

/// The head of a request without a body, whose stream stays open.
fn head(path: &[u8]) -> Vec<u8> {
    let mut lines = get(path, &[(b"content-length", b"0")]);
    lines[0] = (b":method", b"POST");
    frame(HEADERS, END_HEADERS, 1, &block(&lines))
}

#[tokio::test]
async fn data_behind_a_length_of_nothing_is_refused_and_nothing_of_the_request_passed_on() {
    let bench = Bench::start().await;
    for flags in [0, END_STREAM] {
        for at_once in [true, false] {
            let mut client = Frames::connect(&bench.rig, &[]).await;
            let data = frame(DATA, flags, 1, b"GET /smuggled HTTP/1.1\r\n\r\n");
            if at_once {
                client.send(&[head(b"/none"), data].concat()).await;
            } else {
                client.send(&head(b"/none")).await;
                bench.rig.canary().await;
                client.send(&data).await;
            }
            let outcome = client.outcome(1).await;
            assert_eq!(outcome, Outcome::Reset(1), "flags {flags}, at once: {at_once}");
            client.send(&frames::request(3, &get(b"/next", &[]))).await;
            assert_eq!(client.outcome(3).await, Outcome::Status(200));
            bench.rig.canary().await;
        }
    }
    let requests = bench.origin.requests();
    assert!(requests.iter().all(|request| request.head.target() != "/none"));
    assert!(
        requests
            .iter()
            .all(|request| request.head.target() != "/smuggled")
    );
}

#[tokio::test]
async fn a_length_of_nothing_whose_end_comes_later_is_an_ordinary_request() {
    let bench = Bench::start().await;
    for end in [frame(DATA, END_STREAM, 1, b""), {
        let trailers = block(&[(b"x-a", b"b")]);
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &trailers)
    }] {
        bench.origin.take_requests();
        let mut client = Frames::connect(&bench.rig, &[]).await;
        client.send(&head(b"/none")).await;
        client.send(&end).await;
        assert_eq!(client.outcome(1).await, Outcome::Status(200));
        let recorded = bench.origin.only_request();
        assert_eq!((recorded.head.method(), recorded.body.len()), ("POST", 0));
        assert_eq!(recorded.head.all("content-length"), ["0"]);
    }
}
