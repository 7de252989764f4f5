//! How bodies end, and what of their trailers passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use http::HeaderMap;

use super::*;

struct Record(Arc<AtomicU8>);

impl OnEnd for Record {
    fn end(self: Box<Self>, complete: bool) {
        self.0.fetch_add(if complete { 1 } else { 16 }, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_body_that_was_read_to_its_end_says_so_once() {
    let seen = Arc::new(AtomicU8::new(0));
    let body = Body::full("abc").on_end(Box::new(Record(Arc::clone(&seen))));

    let (data, _) = read_all(body).await.unwrap();

    assert_eq!((data.as_slice(), seen.load(Ordering::Relaxed)), (&b"abc"[..], 1));
}

#[test]
fn a_dropped_body_is_not_complete() {
    let seen = Arc::new(AtomicU8::new(0));
    drop(Body::full("abc").on_end(Box::new(Record(Arc::clone(&seen)))));

    assert_eq!(seen.load(Ordering::Relaxed), 16);
}

#[test]
fn an_empty_body_is_complete_at_once() {
    let seen = Arc::new(AtomicU8::new(0));
    let _body = Body::empty().on_end(Box::new(Record(Arc::clone(&seen))));

    assert_eq!(seen.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn trailers_are_dropped_as_the_way_of_the_body_wants_it() {
    let mut trailers = HeaderMap::new();
    for name in ["content-length", "host", "x-other", "x-checksum-a"] {
        trailers.insert(name, "1".parse().unwrap());
    }
    let body = || {
        let trailers = trailers.clone();
        let data = http_body_util::Full::new(Bytes::from("x"));
        Body::new(data.with_trailers(std::future::ready(Some(Ok(trailers)))))
    };
    for (body, passed) in [
        (body(), ["x-checksum-a", "x-other"].as_slice()),
        (body().upwards(), &["x-checksum-a"]),
    ] {
        let (_, trailers) = read_all(body).await.unwrap();
        let mut names: Vec<_> = trailers.unwrap().keys().map(ToString::to_string).collect();
        names.sort_unstable();
        assert_eq!(names, passed);
    }
}
