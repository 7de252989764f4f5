//! The client's end of an exchange.

use bytes::Bytes;
use h2::RecvStream;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::super::h2_client::{self, H2};
use super::super::message::{Framing, Head};
use super::super::rig::{HOST, Rig};
use super::super::wire::{End, Wire};
use super::{Ending, Front};

/// The trailers that a request with a body announces.
const ANNOUNCED: &str = "x-checksum-a, digest";

/// The client's end: one request on a connection of its own.
pub(crate) enum ClientEnd {
    Http1 {
        wire: Wire,
        method: String,
        framing: Framing,
    },
    Http2 {
        stream: h2_client::Stream,
        response: Option<RecvStream>,
        _connection: H2,
    },
}

/// The head of a response.
#[derive(Clone, Debug)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    fields: Vec<(String, String)>,
}

// === impl ClientEnd ===

impl ClientEnd {
    /// Sends the head of a request; with a body, it is chunked over HTTP/1.
    pub(crate) async fn open(front: Front, rig: &Rig, method: &str, path: &str, with_body: bool) -> Self {
        let fields = if with_body {
            format!(
                "Transfer-Encoding: chunked\r\nTE: trailers\r\nConnection: TE\r\nTrailer: {ANNOUNCED}\r\n"
            )
        } else {
            String::new()
        };
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {HOST}\r\n{fields}\r\n");
        let mut wire = match front {
            Front::Http1 => rig.wire().await,
            Front::Http1Tls => rig.tls_wire().await,
            Front::H2c => {
                return Self::open_h2(H2::clear(rig.addr(), HOST).await, method, path, with_body).await;
            }
            Front::H2Tls => {
                return Self::open_h2(H2::tls(rig.addr(), HOST).await, method, path, with_body).await;
            }
        };
        wire.send(head).await;
        Self::Http1 {
            wire,
            method: method.to_owned(),
            framing: Framing::None,
        }
    }

    async fn open_h2(mut connection: H2, method: &str, path: &str, with_body: bool) -> Self {
        let method = method.parse().expect("a valid method");
        let mut request = connection.request(method, path).header("te", "trailers");
        if with_body {
            request = request.header("trailer", ANNOUNCED);
        }
        let request = request.body(());
        let stream = connection
            .open(request.expect("a valid request"), !with_body)
            .await;
        Self::Http2 {
            stream,
            response: None,
            _connection: connection,
        }
    }

    /// Sends one piece of the request's body.
    pub(crate) async fn send(&mut self, piece: &str) {
        match self {
            Self::Http1 { wire, .. } => wire.send_chunk(piece).await,
            Self::Http2 { stream, .. } => stream.send(Bytes::copy_from_slice(piece.as_bytes())),
        }
    }

    /// Ends the request's body with these trailers.
    pub(crate) async fn finish(&mut self, trailers: &[(&str, &str)]) {
        match self {
            Self::Http1 { wire, .. } => {
                let lines = trailers
                    .iter()
                    .map(|(name, value)| format!("{name}: {value}\r\n"));
                wire.send(format!("0\r\n{}\r\n", lines.collect::<String>())).await;
            }
            Self::Http2 { stream, .. } if trailers.is_empty() => stream.finish(),
            Self::Http2 { stream, .. } => stream
                .body
                .send_trailers(map(trailers))
                .expect("the stream is open"),
        }
    }

    /// The status of the next interim response.
    pub(crate) async fn interim(&mut self) -> ResponseHead {
        match self {
            Self::Http1 { wire, .. } => ResponseHead::of(&wire.head().await),
            Self::Http2 { stream, .. } => {
                let interim = stream
                    .interim()
                    .await
                    .expect("an interim response before the final one");
                ResponseHead {
                    status: interim.status().as_u16(),
                    fields: list(interim.headers()),
                }
            }
        }
    }

    /// The head of the response.
    pub(crate) async fn head(&mut self) -> ResponseHead {
        match self {
            Self::Http1 {
                wire,
                method,
                framing,
            } => {
                let head = wire.head().await;
                *framing = head.response_framing(method);
                ResponseHead::of(&head)
            }
            Self::Http2 { stream, response, .. } => {
                let (head, body) = stream.response().await.into_parts();
                *response = Some(body);
                ResponseHead {
                    status: head.status.as_u16(),
                    fields: list(&head.headers),
                }
            }
        }
    }

    /// Waits for exactly these bytes of the response's body.
    pub(crate) async fn expect(&mut self, bytes: &str) {
        let mut got = Vec::new();
        while got.len() < bytes.len() {
            let piece = match self {
                Self::Http1 {
                    wire,
                    framing: Framing::Chunked,
                    ..
                } => wire.chunk().await,
                Self::Http1 { wire, framing, .. } => {
                    if let Framing::Length(left) = framing {
                        *left = left.checked_sub(bytes.len()).expect("no more than was announced");
                    }
                    Some(wire.exactly(bytes.len()).await)
                }
                Self::Http2 { response, .. } => h2_client::piece(body(response)).await.map(Into::into),
            };
            got.extend(piece.unwrap_or_else(|| panic!("the body ended before {bytes:?}")));
        }
        assert_eq!(String::from_utf8_lossy(&got), bytes);
    }

    /// Waits for the end of the response; no more bytes of the body may come.
    pub(crate) async fn ending(&mut self) -> Ending {
        match self {
            Self::Http1 {
                wire,
                framing: Framing::Chunked,
                ..
            } => {
                // The bytes are judged only at the end of the connection or of the trailer section.
                let mut seen = Vec::new();
                while !seen.ends_with(b"\r\n\r\n") {
                    let (more, end) = wire.more().await;
                    seen.extend(more);
                    if end.is_some() {
                        break;
                    }
                }
                let Some(section) = seen.strip_prefix(b"0\r\n") else {
                    return Ending::Cut;
                };
                let Some(lines) = section.strip_suffix(b"\r\n") else {
                    return Ending::Cut;
                };
                let lines = String::from_utf8_lossy(lines).to_ascii_lowercase();
                Ending::Clean(lines.lines().map(str::to_owned).collect())
            }
            Self::Http1 {
                framing: Framing::Length(0) | Framing::None,
                ..
            } => Ending::Clean(Vec::new()),
            Self::Http1 {
                wire,
                framing: Framing::Length(left),
                ..
            } => {
                let (bytes, _) = wire.rest().await;
                assert!(bytes.len() < *left, "more bytes than expected: {bytes:?}");
                Ending::Cut
            }
            Self::Http1 {
                wire,
                framing: Framing::ToEnd,
                ..
            } => match wire.rest().await {
                (bytes, End::Fin) if bytes.is_empty() => Ending::Clean(Vec::new()),
                (_, End::Fin) => panic!("more bytes than expected"),
                (_, End::Reset) => Ending::Cut,
            },
            Self::Http2 { response, .. } => match h2_client::read(body(response)).await {
                Ok((bytes, trailers)) => {
                    assert!(bytes.is_empty(), "more bytes than expected: {bytes:?}");
                    let trailers = list(&trailers.unwrap_or_default());
                    Ending::Clean(
                        trailers
                            .into_iter()
                            .map(|(name, value)| format!("{name}: {value}"))
                            .collect(),
                    )
                }
                Err(_) => Ending::Cut,
            },
        }
    }

    /// Gives up: the connection is reset, or the stream is.
    pub(crate) fn abort(self) {
        match self {
            Self::Http1 { wire, .. } => wire.reset(),
            Self::Http2 { stream, .. } => stream.cancel(),
        }
    }

    /// Leaves without a word: the connection is closed as by a browser that quits.
    pub(crate) fn leave(self) {
        drop(self);
    }
}

// === impl ResponseHead ===

impl ResponseHead {
    fn of(head: &Head) -> Self {
        Self {
            status: head.status(),
            fields: head.fields().collect(),
        }
    }

    /// The first value of a field.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, value)| value.as_str())
    }
}

fn body(response: &mut Option<RecvStream>) -> &mut RecvStream {
    response.as_mut().expect("the head was read before the body")
}

pub(super) fn map(fields: &[(&str, &str)]) -> HeaderMap {
    let pair = |&(name, value): &(&str, &str)| {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a valid name");
        (name, HeaderValue::from_str(value).expect("a valid value"))
    };
    fields.iter().map(pair).collect()
}

pub(super) fn list(fields: &HeaderMap) -> Vec<(String, String)> {
    let pair = |(name, value): (&HeaderName, &HeaderValue)| {
        (
            name.to_string(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        )
    };
    fields.iter().map(pair).collect()
}
