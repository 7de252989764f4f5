//! A request's head, against the reference, httparse and hyper; whole and in two pieces.

use std::convert::Infallible;
use std::sync::Mutex;

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::Empty;
use http1_codec::{Framing, HeadLimits, HeadReader, MAX_FIELDS};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;

use super::drive::{drive, splits};
use super::observed::{Fields, of_map, sorted};
use super::reference::{self, End, Read};

/// What was made of a head.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    method: String,
    target: Vec<u8>,
    fields: Fields,
    /// `None`: chunked.
    length: Option<u64>,
}

/// Reads `data`.
///
/// # Panics
///
/// If two readers disagree.
pub fn check(data: &[u8]) {
    let whole = ours(&[data]);
    for pieces in splits(data) {
        assert_eq!(ours(&pieces), whole);
    }
    match (reference::request(data), &whole) {
        (Read::Whole(theirs, used), Some((ours, keep_alive, taken))) => {
            assert_eq!(*ours, of_reference(theirs.clone()));
            assert_eq!((*keep_alive, *taken), (theirs.keep_alive, used));
        }
        (Read::Part | Read::Wrong, None) => {}
        (theirs, ours) => panic!("ours: {ours:?}, the reference: {theirs:?}"),
    }
    if let Some((seen, ..)) = whole {
        let target = check_httparse(data, &seen);
        // hyper keeps the two largest numbers for itself, and refuses the characters that are encoded here.
        let is_known = http::Uri::try_from(target).is_ok();
        if is_known && seen.length.is_none_or(|length| length < u64::MAX - 1) {
            assert_eq!(hyper(data).as_ref(), Some(&seen));
        }
    }
}

/// The head, whether the connection goes on, and how many bytes were taken.
fn ours(pieces: &[&[u8]]) -> Option<(Seen, bool, usize)> {
    let (mut reader, mut buffer) = (HeadReader::default(), BytesMut::new());
    let mut given = 0;
    for piece in pieces {
        buffer.extend_from_slice(piece);
        given += piece.len();
        let Some(head) = reader.request(&mut buffer, &HeadLimits::default()).ok()? else {
            continue;
        };
        let seen = Seen {
            method: head.request.method().to_string(),
            target: head.request.uri().to_string().into_bytes(),
            fields: of_map(head.request.headers()),
            length: match head.framing {
                Framing::None => Some(0),
                Framing::Length(length) => Some(length),
                Framing::Chunked => None,
                Framing::Close => panic!("a request never ends with its connection"),
            },
        };
        return Some((seen, head.keep_alive, given - buffer.len()));
    }
    None
}

fn of_reference(request: reference::Request) -> Seen {
    Seen {
        method: request.method,
        target: as_printed(&request.target),
        fields: sorted(request.fields),
        length: match request.end {
            End::Length(length) => Some(length),
            End::Chunked => None,
            End::Close => panic!("a request never ends with its connection"),
        },
    }
}

/// A target as its type prints it: with a path, and its scheme in lower case.
fn as_printed(target: &[u8]) -> Vec<u8> {
    let uri = http::Uri::try_from(target).expect("a target");
    uri.to_string().into_bytes()
}

/// The target as it was sent.
fn check_httparse<'d>(data: &'d [u8], seen: &Seen) -> &'d str {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    assert!(matches!(parsed.parse(data), Ok(httparse::Status::Complete(_))));
    assert_eq!(parsed.method, Some(seen.method.as_str()));
    let fields = parsed
        .headers
        .iter()
        .map(|field| (field.name.to_ascii_lowercase(), field.value.to_vec()));
    assert_eq!(sorted(fields.collect()), seen.fields);
    parsed.path.expect("a whole head")
}

/// What hyper's server gives its service.
fn hyper(data: &[u8]) -> Option<Seen> {
    let seen = Mutex::new(None);
    let service = hyper::service::service_fn(|request: hyper::Request<Incoming>| {
        seen.lock().expect("no panic").get_or_insert_with(|| Seen {
            method: request.method().to_string(),
            target: request.uri().to_string().into_bytes(),
            fields: of_map(request.headers()),
            length: request.body().size_hint().exact(),
        });
        std::future::ready(Ok::<_, Infallible>(hyper::Response::new(Empty::<Bytes>::new())))
    });
    drive(&[data], |io| {
        hyper::server::conn::http1::Builder::new()
            .half_close(true)
            .serve_connection(TokioIo::new(io), service)
    });
    seen.into_inner().expect("no panic")
}
