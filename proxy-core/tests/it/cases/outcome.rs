//! What came on a connection until its end, taken apart into responses.

use crate::support::message::{Framing, Head};

/// One response as a client sees it.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) head: Head,
    pub(super) body: Vec<u8>,
    pub(super) trailers: Vec<String>,
    /// Whether its framing says that all of it came.
    pub(super) whole: bool,
}

/// The responses in `bytes`, which are all that came before the end, to requests of which the first is `method`.
/// `clean` says that the end was no reset.
pub(super) fn responses(mut bytes: &[u8], method: &str, clean: bool) -> Result<Vec<Response>, String> {
    let mut responses: Vec<Response> = Vec::new();
    while !bytes.is_empty() {
        if !bytes.starts_with(b"HTTP/1.") {
            return Err(format!("no response: {}", super::shown(bytes)));
        }
        let Some(length) = position(bytes, b"\r\n\r\n") else {
            return Err(format!("half a head: {}", super::shown(bytes)));
        };
        let (head, rest) = bytes.split_at(length + 4);
        let head = Head::parse(head);
        let first = responses.iter().all(|response| response.head.status() < 200);
        let framing = head.response_framing(if first { method } else { "GET" });
        let (response, rest) = body(head, framing, rest, clean)?;
        responses.push(response);
        bytes = rest;
    }
    Ok(responses)
}

fn body(head: Head, framing: Framing, bytes: &[u8], clean: bool) -> Result<(Response, &[u8]), String> {
    let mut response = Response {
        head,
        body: Vec::new(),
        trailers: Vec::new(),
        whole: true,
    };
    let mut rest = bytes;
    match framing {
        Framing::None => {}
        Framing::Length(length) => {
            response.whole = rest.len() >= length;
            let (body, behind) = rest.split_at(length.min(rest.len()));
            response.body = body.to_vec();
            rest = behind;
        }
        Framing::ToEnd => {
            response.body = rest.to_vec();
            response.whole = clean;
            rest = b"";
        }
        Framing::Chunked => {
            rest = chunks(&mut response, rest)?;
        }
    }
    Ok((response, rest))
}

fn chunks<'b>(response: &mut Response, mut bytes: &'b [u8]) -> Result<&'b [u8], String> {
    response.whole = false;
    loop {
        let Some((size, rest)) = line(bytes) else {
            return Ok(b"");
        };
        let size = std::str::from_utf8(size)
            .ok()
            .and_then(|size| usize::from_str_radix(size, 16).ok())
            .ok_or_else(|| format!("a chunk size: {}", super::shown(size)))?;
        if size == 0 {
            bytes = rest;
            break;
        }
        let (data, rest) = rest.split_at(size.min(rest.len()));
        response.body.extend_from_slice(data);
        match rest {
            [] | [b'\r'] => return Ok(b""),
            [b'\r', b'\n', behind @ ..] => bytes = behind,
            other => return Err(format!("behind a chunk: {}", super::shown(other))),
        }
    }
    loop {
        let Some((trailer, rest)) = line(bytes) else {
            return Ok(b"");
        };
        bytes = rest;
        if trailer.is_empty() {
            response.whole = true;
            return Ok(bytes);
        }
        response
            .trailers
            .push(String::from_utf8_lossy(trailer).into_owned());
    }
}

fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = position(bytes, b"\r\n")?;
    Some((&bytes[..at], &bytes[at + 2..]))
}

fn position(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}
