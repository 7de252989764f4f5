//! A body, against the reference and hyper; whole and in two pieces. The first byte chooses how it is delimited.

use std::convert::Infallible;
use std::sync::Mutex;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Empty};
use http1_codec::{BodyReader, Framing, Piece};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;

use super::drive::{drive, splits};
use super::observed::{Fields, of_map, sorted};
use super::reference::{self, End, Read};

/// Reads `data`.
///
/// # Panics
///
/// If two readers disagree.
pub fn check(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else {
        return;
    };
    let padded = *choice == 1;
    let (framing, end) = match choice {
        0 | 1 => (Framing::Chunked, End::Chunked),
        2 => (Framing::Close, End::Close),
        length => (
            Framing::Length(u64::from(*length)),
            End::Length(u64::from(*length)),
        ),
    };
    let whole = ours(framing, padded, &[data]);
    for pieces in splits(data) {
        assert_eq!(ours(framing, padded, &pieces), whole);
    }
    let theirs = match reference::body(data, end, padded) {
        Read::Whole(body, taken) => Some((body.data, sorted(body.trailers), taken)),
        Read::Part | Read::Wrong => None,
    };
    assert_eq!(whole, theirs);
    if framing == Framing::Chunked
        && let Some((body, trailers, _)) = whole
    {
        let theirs = hyper(data).expect("hyper reads what we read");
        assert_eq!((&theirs.0, &theirs.1), (&body, &trailers));
    }
}

/// The data, the trailers, and how many bytes were taken. When it shows that a body is malformed depends on its
/// pieces; that it is not read does not.
fn ours(framing: Framing, padded: bool, pieces: &[&[u8]]) -> Option<(Vec<u8>, Fields, usize)> {
    let (mut reader, mut buffer) = (BodyReader::new(framing), BytesMut::new());
    if padded {
        reader = reader.with_padded_sizes();
    }
    let (mut data, mut trailers, mut given) = (Vec::new(), Fields::new(), 0);
    for piece in pieces {
        buffer.extend_from_slice(piece);
        given += piece.len();
        loop {
            match reader.next(&mut buffer) {
                Ok(Piece::Data(piece)) => {
                    assert!(!piece.is_empty());
                    data.extend_from_slice(&piece);
                }
                Ok(Piece::Trailers(fields)) => trailers = of_map(&fields),
                Ok(Piece::End) => {
                    assert!(reader.is_complete());
                    return Some((data, trailers, given - buffer.len()));
                }
                Ok(Piece::More) => break,
                Err(error) => {
                    assert_eq!(reader.end(), Err(error));
                    return None;
                }
            }
        }
    }
    reader.end().ok()?;
    Some((data, trailers, given - buffer.len()))
}

/// What hyper's server reads of a chunked body.
fn hyper(data: &[u8]) -> Option<(Vec<u8>, Fields)> {
    let read = Mutex::new(None);
    let service = hyper::service::service_fn(async |request: hyper::Request<Incoming>| {
        let mut body = request.into_body();
        let (mut data, mut trailers) = (Vec::new(), Fields::new());
        while let Some(frame) = body.frame().await {
            match frame.map(hyper::body::Frame::into_data) {
                Ok(Ok(piece)) => data.extend_from_slice(&piece),
                Ok(Err(other)) => trailers = of_map(&other.into_trailers().expect("trailers")),
                Err(_) => return Ok::<_, Infallible>(hyper::Response::new(Empty::<Bytes>::new())),
            }
        }
        read.lock().expect("no panic").get_or_insert((data, trailers));
        Ok(hyper::Response::new(Empty::new()))
    });
    let head = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    drive(&[head, data], |io| {
        hyper::server::conn::http1::Builder::new()
            .half_close(true)
            .serve_connection(TokioIo::new(io), service)
    });
    read.into_inner().expect("no panic")
}
