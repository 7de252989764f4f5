//! Drives one client connection: HTTP/1.1 or HTTP/2 on any byte stream, one service for both.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tracing::debug;

use super::connection::{Command, ConnState, Connection, InFlight, Offer};
use super::io::ServerIo;
use crate::body::{Body, BoxError};
use crate::tasks::StreamExecutor;

/// What every HTTP/2 connection starts with (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How many bytes of a stream may wait for a client. There are many streams on one connection.
const SEND_BUFFER: usize = 64 * 1024;

/// The protocols and limits of a listener's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HttpSettings {
    /// HTTP/1.1 is spoken.
    pub(crate) http1: bool,
    /// HTTP/2 is spoken on TLS, by ALPN.
    pub(crate) http2: bool,
    /// HTTP/2 is spoken without TLS, by prior knowledge.
    pub(crate) h2c: bool,
    /// The largest request head in bytes. Default 64 KiB.
    pub(crate) max_head: u32,
    /// The most header fields of a request. Default 100.
    pub(crate) max_fields: usize,
    /// The most streams at once on an HTTP/2 connection. Default 250.
    pub(crate) max_streams: u32,
}

/// Which HTTP version a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// Answers requests.
pub(crate) trait Service: Clone + Send + Sync + 'static {
    /// Why a connection is closed without an answer.
    type Abort: std::error::Error + Send + Sync + 'static;

    /// Answers one request. Dropping the future means that the client is gone.
    fn call(
        &self,
        request: Request<Body>,
        connection: &Connection,
    ) -> impl Future<Output = Result<Response<Body>, Self::Abort>> + Send;
}

/// A response body that keeps its request counted until the last byte is out.
struct CountedBody {
    body: Body,
    /// Whether the client is to take the next piece. While it is not, the upstream is awaited.
    offer: Option<Offer>,
    request: InFlight,
}

// === impl HttpSettings ===

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            http1: true,
            http2: true,
            h2c: true,
            max_head: 64 * 1024,
            max_fields: 100,
            max_streams: 250,
        }
    }
}

// === the two drivers ===

/// Serves `stream` until it is closed, drained or told to close.
pub(crate) async fn serve<S, V>(
    mut stream: S,
    known: Option<Protocol>,
    connection: Arc<Connection>,
    settings: HttpSettings,
    service: V,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    V: Service,
{
    let (state, peer) = (Arc::clone(connection.state()), connection.peer());
    let (protocol, read_ahead) = match known {
        Some(protocol) => (protocol, Bytes::new()),
        None if settings.h2c => match unless_closed(&state, sniff(&mut stream)).await {
            Some(Ok(found)) => found,
            Some(Err(_)) | None => return,
        },
        None => (Protocol::Http1, Bytes::new()),
    };
    if protocol == Protocol::Http1 && !settings.http1 {
        debug!(%peer, "HTTP/1 is not among the protocols of this listener");
        return;
    }
    let io = TokioIo::new(ServerIo::new(stream, read_ahead, Arc::clone(&state)));
    let shared = Arc::new((connection, service));
    let service = service_fn(move |request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let (connection, service) = &*shared;
            let in_flight = connection.state().begin();
            let response = service.call(request.map(Body::from), connection).await?;
            Ok::<_, V::Abort>(response.map(|body| CountedBody {
                body,
                offer: in_flight.offer(),
                request: in_flight,
            }))
        }
    });
    let result = match protocol {
        Protocol::Http1 => serve_http1(io, &state, settings, service).await,
        // Boxed: many more connections are of HTTP/1.1 and would carry the room for it.
        Protocol::Http2 => Box::pin(serve_http2(io, &state, settings, service)).await,
    };
    if let Err(error) = result {
        debug!(%peer, %error, "client connection ended");
    }
}

async fn serve_http1<I, V>(io: I, state: &ConnState, settings: HttpSettings, service: V) -> hyper::Result<()>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    V: HttpService<Incoming, ResBody = CountedBody>,
    V::Error: Into<BoxError>,
{
    let connection = hyper::server::conn::http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(settings.max_head as usize)
        .max_headers(settings.max_fields)
        .serve_connection(io, service)
        .with_upgrades();
    let mut connection = pin!(connection);
    loop {
        tokio::select! {
            biased;
            result = connection.as_mut() => return result,
            command = state.woken() => match command {
                None => {}
                Some(Command::Drain) => connection.as_mut().graceful_shutdown(),
                Some(Command::Close) => return Ok(()),
            },
        }
    }
}

async fn serve_http2<I, V>(io: I, state: &ConnState, settings: HttpSettings, service: V) -> hyper::Result<()>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    V: HttpService<Incoming, ResBody = CountedBody>,
    V::Future: Send + 'static,
    V::Error: Into<BoxError>,
{
    state.set_multiplexed();
    // A peer that vanished is found by TCP keepalive, one that says nothing by the sweeper: a PING of HTTP/2
    // would find neither sooner, and costs each frame a look at the clock.
    let connection = hyper::server::conn::http2::Builder::new(StreamExecutor)
        .max_concurrent_streams(settings.max_streams)
        .max_header_list_size(settings.max_head)
        .max_local_error_reset_streams(100)
        .max_send_buf_size(SEND_BUFFER)
        .serve_connection(io, service);
    let mut connection = pin!(connection);
    loop {
        tokio::select! {
            biased;
            result = connection.as_mut() => return result,
            command = state.woken() => match command {
                None => {}
                Some(Command::Drain) => connection.as_mut().graceful_shutdown(),
                Some(Command::Close) => return Ok(()),
            },
        }
    }
}

// === protocol by the first bytes ===

/// Reads until the stream either is or is not HTTP/2 by prior knowledge.
async fn sniff<S: AsyncRead + Unpin>(stream: &mut S) -> std::io::Result<(Protocol, Bytes)> {
    let mut head = BytesMut::with_capacity(2048);
    loop {
        let length = head.len().min(PREFACE.len());
        if head.get(..length) != PREFACE.get(..length) {
            return Ok((Protocol::Http1, head.freeze()));
        }
        if length == PREFACE.len() {
            return Ok((Protocol::Http2, head.freeze()));
        }
        if stream.read_buf(&mut head).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Runs `work` unless the connection is told to drain or close first.
pub(crate) async fn unless_closed<T>(state: &ConnState, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = work.as_mut() => return Some(done),
            command = state.woken() => if command.is_some() { return None },
        }
    }
}

// === counting ===

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.offer = None;
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        if frame.is_ready() {
            self.offer = self.request.offer();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sniffed(pieces: &[&[u8]]) -> Option<(Protocol, Bytes)> {
        use tokio::io::AsyncWriteExt as _;
        let (mut near, mut far) = tokio::io::duplex(256);
        let writer = async {
            for piece in pieces {
                far.write_all(piece).await.unwrap();
                tokio::task::yield_now().await;
            }
            drop(far);
        };
        tokio::join!(sniff(&mut near), writer).0.ok()
    }

    #[tokio::test]
    async fn http2_by_prior_knowledge_is_known_by_its_preface() {
        let (protocol, read) = sniffed(&[b"PRI * HT", b"TP/2.0\r\n\r\nSM\r\n\r\nmore"])
            .await
            .unwrap();
        assert_eq!(protocol, Protocol::Http2);
        assert!(read.starts_with(PREFACE));
    }

    #[tokio::test]
    async fn anything_else_is_http1_and_loses_no_byte() {
        for text in ["GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/1.1\r\n\r\n", "\x16\x03\x01"] {
            let (protocol, read) = sniffed(&[text.as_bytes()]).await.unwrap();
            assert_eq!((protocol, read.as_ref()), (Protocol::Http1, text.as_bytes()));
        }
    }

    #[tokio::test]
    async fn a_preface_cut_short_is_an_end() {
        assert!(sniffed(&[b"PRI * HTTP/2.0\r\n"]).await.is_none());
    }
}
