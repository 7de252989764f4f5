//! A response's head, against the reference and httparse; whole and in two pieces. The first byte chooses the
//! method of its request.

use bytes::BytesMut;
use http::Method;
use http1_codec::{Framing, HeadLimits, HeadReader, MAX_FIELDS};

use super::drive::splits;
use super::observed::{Fields, of_map, sorted};
use super::reference::{self, End, Read};

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    status: u16,
    fields: Fields,
    end: End,
    keep_alive: bool,
    taken: usize,
}

/// Reads `data`.
///
/// # Panics
///
/// If two readers disagree.
pub fn check(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else {
        return;
    };
    let method = method(*choice);
    let whole = ours(&[data], &method);
    for pieces in splits(data) {
        assert_eq!(ours(&pieces, &method), whole);
    }
    match (reference::response(data, method.as_str()), &whole) {
        (Read::Whole(theirs, taken), Some(ours)) => {
            let theirs = Seen {
                status: theirs.status,
                fields: sorted(theirs.fields),
                end: theirs.end,
                keep_alive: theirs.keep_alive,
                taken,
            };
            assert_eq!(*ours, theirs);
        }
        (Read::Part | Read::Wrong, None) => {}
        (theirs, ours) => panic!("ours: {ours:?}, the reference: {theirs:?}"),
    }
    if let Some(seen) = whole {
        check_httparse(data, &seen);
    }
}

/// The method of the request that an answer is for.
pub(crate) fn method(choice: u8) -> Method {
    match choice % 3 {
        0 => Method::GET,
        1 => Method::HEAD,
        _ => Method::POST,
    }
}

fn ours(pieces: &[&[u8]], method: &Method) -> Option<Seen> {
    let (mut reader, mut buffer) = (HeadReader::default(), BytesMut::new());
    let mut given = 0;
    for piece in pieces {
        buffer.extend_from_slice(piece);
        given += piece.len();
        let limits = HeadLimits::default();
        let Some(head) = reader.response(&mut buffer, &limits, method).ok()? else {
            continue;
        };
        return Some(Seen {
            status: head.response.status().as_u16(),
            fields: of_map(head.response.headers()),
            end: match head.framing {
                Framing::None => End::Length(0),
                Framing::Length(length) => End::Length(length),
                Framing::Chunked => End::Chunked,
                Framing::Close => End::Close,
            },
            keep_alive: head.keep_alive,
            taken: given - buffer.len(),
        });
    }
    None
}

fn check_httparse(data: &[u8], seen: &Seen) {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut parsed = httparse::Response::new(&mut fields);
    assert!(matches!(parsed.parse(data), Ok(httparse::Status::Complete(taken)) if taken == seen.taken));
    assert_eq!(parsed.code, Some(seen.status));
    let fields = parsed
        .headers
        .iter()
        .map(|field| (field.name.to_ascii_lowercase(), field.value.to_vec()));
    assert_eq!(sorted(fields.collect()), seen.fields);
}
