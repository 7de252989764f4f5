//! Serialising: heads with one framing field, chunks and trailers.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, StatusCode};

use crate::framing::Framing;

/// What ends a chunked body without trailers.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The framing field of an outgoing message. There is never more than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FramingField {
    /// Neither: there is no body, or it ends with the connection.
    None,
    Length(u64),
    Chunked,
}

// === impl FramingField ===

impl From<Framing> for FramingField {
    fn from(framing: Framing) -> Self {
        match framing {
            Framing::None | Framing::Close => Self::None,
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked,
        }
    }
}

/// Among a request's extensions: it goes to another proxy, and so its target goes out in absolute form, with the
/// request's Host (RFC 9112, section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToProxy {
    /// The scheme of the target, such as `http`.
    pub scheme: &'static str,
}

/// Writes a request's head, with `added` behind its fields. The target goes out in origin form unless the request is for
/// a proxy ([`ToProxy`]); a request without a Host gets an empty one (RFC 9112, section 3.2).
pub(crate) fn request_head<B>(
    to: &mut Vec<u8>,
    request: &Request<B>,
    added: &[(HeaderName, HeaderValue)],
    framing: FramingField,
) {
    put(to, request.method().as_str().as_bytes());
    put(to, b" ");
    if let Some(ToProxy { scheme }) = request.extensions().get() {
        // The host is a valid one, or the request would not have come so far.
        put(to, scheme.as_bytes());
        put(to, b"://");
        let host = request.headers().get(header::HOST);
        put(to, host.map_or(&[][..], HeaderValue::as_bytes));
    }
    match request.uri().path_and_query() {
        Some(target) if target.as_str().starts_with('?') => {
            put(to, b"/");
            put(to, target.as_str().as_bytes());
        }
        Some(target) => put(to, target.as_str().as_bytes()),
        None => put(to, b"/"),
    }
    put(to, b" HTTP/1.1\r\n");
    let mut has_host = false;
    fields(to, request.headers(), |name| {
        has_host |= name == header::HOST;
        is_framing(name)
    });
    if !has_host {
        put(to, b"host: \r\n");
    }
    for (name, value) in added {
        field(to, name, value);
    }
    framing_field(to, framing);
    put(to, b"\r\n");
}

/// How the head of a response says what becomes of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// Nothing is said: it stays, as the version has it, or it is upgraded.
    Implied,
    KeepAlive,
    Close,
}

/// Writes a response's head; `date` is added unless there is one (RFC 9110, section 6.6.1).
pub(crate) fn response_head(
    to: &mut Vec<u8>,
    status: StatusCode,
    headers: &HeaderMap,
    framing: FramingField,
    persistence: Persistence,
    date: Option<&HeaderValue>,
) {
    status_line(to, status);
    let switches = status == StatusCode::SWITCHING_PROTOCOLS;
    let mut has_date = false;
    fields(to, headers, |name| match *name {
        header::CONNECTION => !switches,
        header::DATE => {
            has_date = true;
            false
        }
        _ => is_framing(name),
    });
    match persistence {
        Persistence::Implied => {}
        Persistence::KeepAlive => put(to, b"connection: keep-alive\r\n"),
        Persistence::Close => put(to, b"connection: close\r\n"),
    }
    framing_field(to, framing);
    if let Some(date) = date.filter(|_| !has_date) {
        field(to, &header::DATE, date);
    }
    put(to, b"\r\n");
}

/// An interim (1xx) response, with `headers` as they are but for framing.
pub fn interim_head(to: &mut Vec<u8>, status: StatusCode, headers: &HeaderMap) {
    status_line(to, status);
    fields(to, headers, is_framing);
    put(to, b"\r\n");
}

/// The size line of a chunk.
pub(crate) fn chunk_size(to: &mut Vec<u8>, size: usize) {
    let digits = (usize::BITS - size.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        let digit = (size >> (place * 4)) & 0xf;
        to.extend(b"0123456789abcdef".get(digit));
    }
    put(to, b"\r\n");
}

/// The last chunk with trailers.
pub(crate) fn trailers(to: &mut Vec<u8>, trailers: &HeaderMap) {
    put(to, b"0\r\n");
    fields(to, trailers, is_framing);
    put(to, b"\r\n");
}

fn status_line(to: &mut Vec<u8>, status: StatusCode) {
    if status == StatusCode::OK {
        return put(to, b"HTTP/1.1 200 OK\r\n");
    }
    put(to, b"HTTP/1.1 ");
    put(to, status.as_str().as_bytes());
    put(to, b" ");
    put(to, status.canonical_reason().unwrap_or_default().as_bytes());
    put(to, b"\r\n");
}

fn fields(to: &mut Vec<u8>, headers: &HeaderMap, mut is_dropped: impl FnMut(&HeaderName) -> bool) {
    for (name, value) in headers {
        if !is_dropped(name) {
            field(to, name, value);
        }
    }
}

fn field(to: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    put(to, name.as_str().as_bytes());
    put(to, b": ");
    put(to, value.as_bytes());
    put(to, b"\r\n");
}

fn framing_field(to: &mut Vec<u8>, framing: FramingField) {
    match framing {
        FramingField::None => {}
        FramingField::Length(length) => {
            put(to, b"content-length: ");
            decimal(to, length);
            put(to, b"\r\n");
        }
        FramingField::Chunked => put(to, b"transfer-encoding: chunked\r\n"),
    }
}

fn decimal(to: &mut Vec<u8>, mut number: u64) {
    let start = to.len();
    loop {
        to.extend(b"0123456789".get(usize::try_from(number % 10).unwrap_or_default()));
        number /= 10;
        if number == 0 {
            break;
        }
    }
    to.get_mut(start..).unwrap_or_default().reverse();
}

/// Fields that the codec writes by itself.
fn is_framing(name: &HeaderName) -> bool {
    matches!(*name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING)
}

fn put(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut to = Vec::new();
        write(&mut to);
        String::from_utf8(to).unwrap()
    }

    fn request(method: &str, target: &str, headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    #[test]
    fn a_head_has_one_framing_field_whatever_the_map_says() {
        let headers = [
            ("host", "a.test"),
            ("content-length", "005"),
            ("transfer-encoding", "gzip"),
        ];
        let request = request("POST", "/a?b", &headers);
        let head = |framing| text(|to| request_head(to, &request, &[], framing));
        assert_eq!(
            head(FramingField::Length(1_234_567)),
            "POST /a?b HTTP/1.1\r\nhost: a.test\r\ncontent-length: 1234567\r\n\r\n"
        );
        assert_eq!(
            head(FramingField::Length(0)),
            "POST /a?b HTTP/1.1\r\nhost: a.test\r\ncontent-length: 0\r\n\r\n"
        );
        assert!(head(FramingField::Chunked).ends_with("transfer-encoding: chunked\r\n\r\n"));
        assert!(!head(FramingField::None).contains("content-length"));
    }

    #[test]
    fn a_request_for_a_proxy_names_the_whole_url() {
        let mut request = request("GET", "/a?b", &[("host", "a.test:81")]);
        request.extensions_mut().insert(ToProxy { scheme: "https" });
        assert_eq!(
            text(|to| request_head(to, &request, &[], FramingField::None)),
            "GET https://a.test:81/a?b HTTP/1.1\r\nhost: a.test:81\r\n\r\n"
        );
    }

    #[test]
    fn a_request_without_host_gets_an_empty_one() {
        let request = request("GET", "http://a.test?x", &[]);
        let head = text(|to| request_head(to, &request, &[], FramingField::None));
        assert_eq!(head, "GET /?x HTTP/1.1\r\nhost: \r\n\r\n");
    }

    #[test]
    fn added_fields_come_behind_the_others() {
        let added = [(header::VIA, HeaderValue::from_static("1.1 us"))];
        let request = request("GET", "/", &[("host", "a"), ("via", "1.1 them")]);
        let head = text(|to| request_head(to, &request, &added, FramingField::None));
        assert_eq!(
            head,
            "GET / HTTP/1.1\r\nhost: a\r\nvia: 1.1 them\r\nvia: 1.1 us\r\n\r\n"
        );
    }

    #[test]
    fn a_response_says_what_becomes_of_its_connection() {
        let mut headers = HeaderMap::new();
        headers.insert("connection", HeaderValue::from_static("x-hop"));
        let date = HeaderValue::from_static("now");
        let head = |persistence| {
            text(|to| {
                response_head(
                    to,
                    StatusCode::NOT_FOUND,
                    &headers,
                    FramingField::Length(0),
                    persistence,
                    Some(&date),
                )
            })
        };
        assert_eq!(
            head(Persistence::Implied),
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\ndate: now\r\n\r\n"
        );
        assert!(head(Persistence::Close).contains("\r\nconnection: close\r\n"));
        assert!(head(Persistence::KeepAlive).contains("\r\nconnection: keep-alive\r\n"));
    }

    #[test]
    fn a_date_that_is_there_stays() {
        let headers = HeaderMap::from_iter([(header::DATE, HeaderValue::from_static("then"))]);
        let date = HeaderValue::from_static("now");
        let head = text(|to| {
            response_head(
                to,
                StatusCode::OK,
                &headers,
                FramingField::None,
                Persistence::Implied,
                Some(&date),
            );
        });
        assert_eq!(head, "HTTP/1.1 200 OK\r\ndate: then\r\n\r\n");
    }

    #[test]
    fn sizes_of_chunks_are_hexadecimal() {
        for size in [0, 1, 9, 10, 15, 16, 255, 256, 4096, 65_535, usize::MAX] {
            assert_eq!(text(|to| chunk_size(to, size)), format!("{size:x}\r\n"));
        }
    }

    #[test]
    fn numbers_are_plain() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, u64::MAX] {
            assert_eq!(text(|to| decimal(to, number)), number.to_string());
        }
    }
}
