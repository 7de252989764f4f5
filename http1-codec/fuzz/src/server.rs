//! A client's bytes into the server driver, against the reference: which requests its service sees, and how many
//! answers come out.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use http1_codec::server::{self, RequestBody, Service, serve};
use http1_codec::{HeadError, HeadLimits};

use super::drive::{drive, splits};
use super::observed::{Fields, of_map, sorted};
use super::reference::{self, Read};

/// A request that was seen: method, target, fields, and its body unless that was cut or malformed.
type Seen = (String, Vec<u8>, Fields, Option<Vec<u8>>);

#[derive(Default)]
struct Recorder(Mutex<Vec<Seen>>);

/// A whole body.
#[derive(Default)]
struct Full(Bytes);

/// Serves `data`.
///
/// # Panics
///
/// If the driver and the reference disagree.
pub fn check(data: &[u8]) {
    let expected = expected(data);
    check_run(&[data], &expected);
    for pieces in splits(data) {
        check_run(&pieces, &expected);
    }
}

fn check_run(pieces: &[&[u8]], expected: &[Seen]) {
    let recorder = Arc::new(Recorder::default());
    let (served, written) = drive(pieces, |io| {
        let service = Arc::clone(&recorder);
        serve(io, Bytes::new(), HeadLimits::default(), Arc::new(()), service)
    });
    assert!(served.is_some(), "a connection whose client has left ends");
    let seen = recorder.0.lock().expect("no panic");
    assert_eq!(*seen, expected);
    let answers = answers(&written, seen.iter().map(|seen| seen.0.as_str()));
    let statuses: Vec<bool> = seen.iter().map(|seen| seen.3.is_some()).collect();
    assert_eq!(&answers[..seen.len()], statuses);
    // A head that is cut may be refused before its end, or left unanswered.
    let rest = &answers[seen.len()..];
    assert!(rest.is_empty() || rest == [false], "{rest:?}");
}

/// What the reference sees.
fn expected(data: &[u8]) -> Vec<Seen> {
    let (mut seen, mut at) = (Vec::new(), 0);
    loop {
        let (request, length) = match reference::request(&data[at..]) {
            Read::Whole(request, length) => (request, length),
            Read::Part | Read::Wrong => return seen,
        };
        at += length;
        let body = reference::body(&data[at..], request.end, false);
        let (body, goes_on) = match body {
            Read::Whole(body, length) => {
                at += length;
                (Some(body.data), request.keep_alive)
            }
            Read::Part | Read::Wrong => (None, false),
        };
        let target = http::Uri::try_from(&request.target[..]).expect("a target");
        seen.push((
            request.method,
            target.to_string().into_bytes(),
            sorted(request.fields),
            body,
        ));
        if !goes_on {
            return seen;
        }
    }
}

/// Which of the answers say that all is well. Those to HEAD have no body; interim ones do not count.
fn answers<'m>(written: &[u8], mut methods: impl Iterator<Item = &'m str>) -> Vec<bool> {
    let (mut answers, mut at) = (Vec::new(), 0);
    while at < written.len() {
        let mut method = methods.next().unwrap_or("GET");
        loop {
            let Read::Whole(head, length) = reference::response(&written[at..], method) else {
                panic!("no answer: {:?}", String::from_utf8_lossy(&written[at..]));
            };
            at += length;
            let Read::Whole(_, length) = reference::body(&written[at..], head.end, false) else {
                panic!("no body: {:?}", String::from_utf8_lossy(&written[at..]));
            };
            at += length;
            if head.status >= 200 {
                answers.push(head.status == 200);
                break;
            }
            assert_eq!(head.status, 100);
            method = if method == "HEAD" { "HEAD" } else { "GET" };
        }
    }
    answers
}

impl Service for Recorder {
    type Body = Full;
    type Error = ();

    async fn call(&self, request: Request<RequestBody>) -> Result<Response<Full>, ()> {
        let (head, mut body) = request.into_parts();
        let mut data = Some(Vec::new());
        while let Some(frame) = body.frame().await {
            match (frame.map(Frame::into_data), &mut data) {
                (Ok(Ok(piece)), Some(data)) => data.extend_from_slice(&piece),
                (Ok(_), _) => {}
                (Err(_), data) => {
                    *data = None;
                    break;
                }
            }
        }
        let status = if data.is_some() { 200 } else { 400 };
        let echo = data.clone().unwrap_or_default();
        self.0.lock().expect("no panic").push((
            head.method.to_string(),
            head.uri.to_string().into_bytes(),
            of_map(&head.headers),
            data,
        ));
        let mut response = Response::new(Full(echo.into()));
        *response.status_mut() = status.try_into().expect("a status");
        Ok(response)
    }

    fn refuse(&self, error: HeadError) -> Response<Full> {
        let mut response = Response::new(Full(error.reason().into()));
        *response.status_mut() = error.status();
        response
    }
}

impl http_body::Body for Full {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let data = std::mem::take(&mut self.0);
        Poll::Ready((!data.is_empty()).then_some(Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

impl server::Body for Full {}
