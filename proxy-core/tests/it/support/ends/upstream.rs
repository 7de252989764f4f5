//! The upstream's end of an exchange.

use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{Request, Response};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::super::h2_client;
use super::super::message::{Framing, Head};
use super::super::origin::Origin;
use super::super::wait::within;
use super::super::wire::Wire;
use super::client::{list, map};
use super::{Back, Ending};

/// Accepts the exchanges of an upstream one after the other.
pub(crate) struct Upstreams {
    origin: Origin,
    back: Back,
    connections: Vec<Http2Connection>,
}

/// The upstream's end of one exchange.
pub(crate) enum UpstreamEnd {
    Http1 {
        wire: Wire,
        head: Head,
        chunked: bool,
    },
    Http2 {
        head: http::request::Parts,
        request: RecvStream,
        answer: SendResponse<Bytes>,
        body: Option<SendStream<Bytes>>,
    },
}

struct Http2Connection {
    requests: mpsc::UnboundedReceiver<(Request<RecvStream>, SendResponse<Bytes>)>,
    _driver: AbortOnDropHandle<()>,
}

// === impl Upstreams ===

impl Upstreams {
    pub(crate) async fn bind(back: Back) -> Self {
        Self {
            origin: Origin::bind(Ipv4Addr::LOCALHOST).await,
            back,
            connections: Vec::new(),
        }
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.origin.addr()
    }

    /// The next exchange. Over HTTP/1 it must come on a new connection; over HTTP/2 it may come on one that is open.
    pub(crate) async fn next(&mut self) -> UpstreamEnd {
        if self.back == Back::Http1 {
            let mut wire = self.origin.accept().await;
            let head = wire.head().await;
            return UpstreamEnd::Http1 {
                wire,
                head,
                chunked: false,
            };
        }
        let (request, answer) = loop {
            tokio::select! {
                biased;
                Some(exchange) = next_of(&mut self.connections) => break exchange,
                stream = self.origin.accept_stream() => self.connections.push(Http2Connection::over(stream)),
            }
        };
        let (head, request) = request.into_parts();
        UpstreamEnd::Http2 {
            head,
            request,
            answer,
            body: None,
        }
    }
}

// === impl Http2Connection ===

impl Http2Connection {
    fn over(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("the socket is open");
        let (found, requests) = mpsc::unbounded_channel();
        let driver = tokio::spawn(async move {
            let mut connection = h2::server::handshake(stream)
                .await
                .expect("the proxy speaks HTTP/2");
            // Errors of the connection show up on its streams.
            while let Some(Ok(exchange)) = connection.accept().await {
                if found.send(exchange).is_err() {
                    break;
                }
            }
        });
        Self {
            requests,
            _driver: AbortOnDropHandle::new(driver),
        }
    }
}

// === impl UpstreamEnd ===

impl UpstreamEnd {
    /// The method of the request.
    pub(crate) fn method(&self) -> String {
        match self {
            Self::Http1 { head, .. } => head.method().to_owned(),
            Self::Http2 { head, .. } => head.method.to_string(),
        }
    }

    /// The target of the request.
    pub(crate) fn target(&self) -> String {
        match self {
            Self::Http1 { head, .. } => head.target().to_owned(),
            Self::Http2 { head, .. } => head
                .uri
                .path_and_query()
                .map(ToString::to_string)
                .unwrap_or_default(),
        }
    }

    /// The authority of an HTTP/2 request.
    pub(crate) fn authority(&self) -> Option<String> {
        match self {
            Self::Http1 { .. } => None,
            Self::Http2 { head, .. } => head.uri.authority().map(ToString::to_string),
        }
    }

    /// The values of a field of the request.
    pub(crate) fn fields(&self, name: &str) -> Vec<String> {
        match self {
            Self::Http1 { head, .. } => head.all(name),
            Self::Http2 { head, .. } => list(&head.headers)
                .into_iter()
                .filter(|(field, _)| field == name)
                .map(|(_, value)| value)
                .collect(),
        }
    }

    /// Waits for exactly these bytes of the request's body.
    pub(crate) async fn expect(&mut self, bytes: &str) {
        let mut got = Vec::new();
        while got.len() < bytes.len() {
            let piece = match self {
                Self::Http1 { wire, head, .. } if head.request_framing() == Framing::Chunked => {
                    wire.chunk().await
                }
                Self::Http1 { wire, .. } => Some(wire.exactly(bytes.len()).await),
                Self::Http2 { request, .. } => h2_client::piece(request).await.map(Into::into),
            };
            got.extend(piece.unwrap_or_else(|| panic!("the body ended before {bytes:?}")));
        }
        assert_eq!(String::from_utf8_lossy(&got), bytes);
    }

    /// Waits for the end of the request; no more bytes of the body may come.
    pub(crate) async fn ending(&mut self) -> Ending {
        match self {
            Self::Http1 { wire, head, .. } if head.request_framing() == Framing::Chunked => {
                assert_eq!(wire.chunk().await, None, "no more bytes than expected");
                let lines = wire.trailers().await.into_iter();
                Ending::Clean(lines.map(|line| line.to_ascii_lowercase()).collect())
            }
            Self::Http1 { .. } => Ending::Clean(Vec::new()),
            Self::Http2 { request, .. } => match h2_client::read(request).await {
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

    /// Like [`UpstreamEnd::ending`], but a cut connection is an answer and not a failure.
    pub(crate) async fn ending_or_cut(&mut self) -> Ending {
        match self {
            Self::Http1 { wire, .. } => {
                let (bytes, _) = wire.rest().await;
                if bytes.ends_with(b"0\r\n\r\n") {
                    Ending::Clean(Vec::new())
                } else {
                    Ending::Cut
                }
            }
            Self::Http2 { .. } => self.ending().await,
        }
    }

    /// Sends an interim response.
    pub(crate) async fn interim(&mut self, status: u16, fields: &[(&str, &str)]) {
        match self {
            Self::Http1 { wire, .. } => wire.send(head(status, fields, "")).await,
            Self::Http2 { answer, .. } => {
                answer
                    .send_informational(response(status, fields))
                    .expect("the stream is open");
            }
        }
    }

    /// Sends the head of a response whose body is streamed.
    pub(crate) async fn respond(&mut self, status: u16, fields: &[(&str, &str)]) {
        match self {
            Self::Http1 { wire, chunked, .. } => {
                *chunked = !fields
                    .iter()
                    .any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
                let coding = if *chunked {
                    "Transfer-Encoding: chunked\r\n"
                } else {
                    ""
                };
                wire.send(head(status, fields, coding)).await;
            }
            Self::Http2 { answer, body, .. } => {
                *body = Some(
                    answer
                        .send_response(response(status, fields), false)
                        .expect("the stream is open"),
                );
            }
        }
    }

    /// Sends a whole response without a body, whatever its fields announce.
    pub(crate) async fn respond_bare(&mut self, status: u16, fields: &[(&str, &str)]) {
        match self {
            Self::Http1 { wire, .. } => wire.send(head(status, fields, "")).await,
            Self::Http2 { answer, .. } => {
                answer
                    .send_response(response(status, fields), true)
                    .expect("the stream is open");
            }
        }
    }

    /// Sends bytes until nobody takes more of them or `limit` is reached, and gives how many were taken. Over
    /// HTTP/2 only.
    pub(crate) async fn send_until_blocked(&mut self, limit: usize) -> usize {
        let Self::Http2 { body, .. } = self else {
            panic!("flow control is HTTP/2's")
        };
        let body = opened(body);
        let mut taken = 0;
        while taken < limit {
            body.reserve_capacity(64 << 10);
            // The proxy is given a while to take more; a proxy that takes no more is what the test wants to see.
            let room = tokio::time::timeout(Duration::from_millis(300), poll_fn(|cx| body.poll_capacity(cx)));
            let Ok(Some(room)) = room.await else { break };
            let room = room.expect("the stream is open");
            body.send_data(Bytes::from(vec![b'x'; room]), false)
                .expect("the stream is open");
            taken += room;
        }
        taken
    }

    /// Sends one piece of the response's body.
    pub(crate) async fn send(&mut self, piece: &str) {
        match self {
            Self::Http1 {
                wire, chunked: true, ..
            } => wire.send_chunk(piece).await,
            Self::Http1 { wire, .. } => wire.send(piece).await,
            Self::Http2 { body, .. } => {
                let bytes = Bytes::copy_from_slice(piece.as_bytes());
                opened(body).send_data(bytes, false).expect("the stream is open");
            }
        }
    }

    /// Ends the response's body with these trailers.
    pub(crate) async fn finish(&mut self, trailers: &[(&str, &str)]) {
        match self {
            Self::Http1 {
                wire, chunked: true, ..
            } => {
                let lines = trailers
                    .iter()
                    .map(|(name, value)| format!("{name}: {value}\r\n"));
                wire.send(format!("0\r\n{}\r\n", lines.collect::<String>())).await;
            }
            Self::Http1 { .. } => {}
            Self::Http2 { body, .. } if trailers.is_empty() => {
                opened(body)
                    .send_data(Bytes::new(), true)
                    .expect("the stream is open");
            }
            Self::Http2 { body, .. } => opened(body)
                .send_trailers(map(trailers))
                .expect("the stream is open"),
        }
    }

    /// Cuts the response: a closed connection over HTTP/1, a reset stream over HTTP/2.
    pub(crate) fn cut(self) {
        match self {
            Self::Http1 { .. } => {}
            Self::Http2 { mut body, .. } => opened(&mut body).send_reset(Reason::INTERNAL_ERROR),
        }
    }

    /// Waits until the proxy gives the exchange up.
    pub(crate) async fn until_aborted(&mut self) {
        match self {
            Self::Http1 { wire, .. } => {
                let _last_words = wire.rest().await;
            }
            Self::Http2 { answer, body, .. } => {
                let reset = match body {
                    Some(body) => within("a reset by the proxy", poll_fn(|cx| body.poll_reset(cx))).await,
                    None => within("a reset by the proxy", poll_fn(|cx| answer.poll_reset(cx))).await,
                };
                reset.expect("the stream is reset by its peer");
            }
        }
    }
}

/// The next request on any of these connections; none if there is no connection.
async fn next_of(connections: &mut [Http2Connection]) -> Option<(Request<RecvStream>, SendResponse<Bytes>)> {
    poll_fn(|cx| {
        use std::task::Poll;
        for connection in connections.iter_mut() {
            if let Poll::Ready(Some(exchange)) = connection.requests.poll_recv(cx) {
                return Poll::Ready(Some(exchange));
            }
        }
        Poll::Pending
    })
    .await
}

fn opened(body: &mut Option<SendStream<Bytes>>) -> &mut SendStream<Bytes> {
    body.as_mut().expect("the head was sent before the body")
}

fn head(status: u16, fields: &[(&str, &str)], coding: &str) -> String {
    let lines = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
    format!(
        "HTTP/1.1 {status} Scripted\r\n{}{coding}\r\n",
        lines.collect::<String>()
    )
}

fn response(status: u16, fields: &[(&str, &str)]) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = status.try_into().expect("a valid status");
    *response.headers_mut() = map(fields);
    response
}
