//! A server's bytes into the client side, against the reference: which answer is read, and whether its connection
//! is kept. The first byte chooses the method of the request.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request};
use http_body::Frame;
use http_body_util::{BodyExt as _, Empty};
use http1_codec::HeadLimits;
use http1_codec::client::{Answer, Connection, Keep, Outgoing};
use tokio::io::DuplexStream;

use super::drive::{drive, splits};
use super::observed::{Fields, of_map, sorted};
use super::reference::{self, End, Read};
use super::response_head::method;

/// An answer: status, fields, and its body unless that was cut or malformed; `None` if it went to another
/// protocol.
type Seen = (u16, Fields, Option<Option<(Vec<u8>, Fields)>>);

struct Nothing(Empty<Bytes>);

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Connection<DuplexStream>>>>);

/// Reads the answer that is `data`.
///
/// # Panics
///
/// If the client side and the reference disagree.
pub fn check(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else {
        return;
    };
    let method = method(*choice);
    let (expected, keeps, end) = expected(data, method.as_str());
    let (seen, kept) = ours(&[data], &method);
    assert_eq!(seen, expected);
    assert_eq!(kept, keeps && end == data.len());
    for pieces in splits(data) {
        let (seen, kept) = ours(&pieces, &method);
        assert_eq!(seen, expected);
        let ends = end == data.len() || end == pieces[0].len();
        assert!(!kept || (keeps && ends), "kept behind {end}");
    }
}

fn ours(pieces: &[&[u8]], method: &Method) -> (Option<Seen>, bool) {
    let kept = Kept::default();
    let mut request = Box::new(Request::new(Nothing(Empty::new())));
    *request.method_mut() = method.clone();
    let (seen, _) = drive(pieces, |io| {
        let kept = kept.clone();
        async move {
            let limits = HeadLimits::default();
            let answer = Connection::new(io).send(request, &[], &limits, kept, |_| {});
            let (head, body) = answer.await.ok()?.into_parts();
            let body = match body {
                Answer::Whole(whole) => Some(Some((whole.to_vec(), Fields::new()))),
                Answer::Upgraded(_) => None,
                Answer::Streaming(mut body) => {
                    let (mut data, mut trailers) = (Vec::new(), Fields::new());
                    let mut whole = true;
                    while let Some(frame) = body.frame().await {
                        match frame.map(Frame::into_data) {
                            Ok(Ok(piece)) => data.extend_from_slice(&piece),
                            Ok(Err(other)) => trailers = of_map(&other.into_trailers().expect("trailers")),
                            Err(_) => whole = false,
                        }
                    }
                    Some(whole.then_some((data, trailers)))
                }
            };
            Some((head.status.as_u16(), of_map(&head.headers), body))
        }
    });
    let kept = kept.0.lock().expect("no panic").len();
    assert!(kept <= 1);
    (seen.expect("an end"), kept == 1)
}

/// What the reference reads, whether the connection may go on, and where the answer ends.
fn expected(data: &[u8], method: &str) -> (Option<Seen>, bool, usize) {
    let mut at = 0;
    loop {
        let Read::Whole(head, length) = reference::response(&data[at..], method) else {
            return (None, false, at);
        };
        at += length;
        if head.status < 200 && head.status != 101 {
            continue;
        }
        let fields = sorted(head.fields);
        if head.status == 101 {
            return (Some((101, fields, None)), false, at);
        }
        let body = reference::body(&data[at..], head.end, true);
        let Read::Whole(body, length) = body else {
            return (Some((head.status, fields, Some(None))), false, at);
        };
        let keeps = head.keep_alive && head.end != End::Close;
        let body = (body.data, sorted(body.trailers));
        return (Some((head.status, fields, Some(Some(body)))), keeps, at + length);
    }
}

impl http_body::Body for Nothing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        std::pin::Pin::new(&mut self.0).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}

impl Outgoing for Nothing {
    fn put_back(&mut self, _: Bytes) {
        panic!("there is no data");
    }
}

impl Keep<DuplexStream> for Kept {
    fn keep(self, connection: Connection<DuplexStream>) {
        self.0.lock().expect("no panic").push(connection);
    }
}
