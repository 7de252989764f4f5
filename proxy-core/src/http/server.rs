//! Drives one client connection: HTTP/1.1 or HTTP/2 on any byte stream, one service for both.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;
use http1_codec::server::{Command, Control as _, RequestBody};
use http1_codec::{HeadError, HeadLimits, Stream};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tracing::debug;

use super::connection::{ConnState, Connection, InFlight, Offer};
use super::frames::FrameLimits;
use super::io::ServerIo;
use super::target::MAX_TARGET;
use crate::body::{Body, BoxError};
use crate::request::PeerName;
use crate::tasks::StreamExecutor;

/// What every HTTP/2 connection starts with (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How many bytes of a stream may wait for a client. There are many streams on one connection.
const SEND_BUFFER: usize = 64 * 1024;

/// How many streams of a connection may be reset by the proxy: an honest client that does not know the limit of streams
/// yet is refused some hundred. Those that are reset for a fault are limited by [`super::frames`].
const MOST_RESETS: usize = 1_024;

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
    /// Whether a line of an HTTP/1 head may end with a line feed alone. Default false.
    pub(crate) bare_line_feeds: bool,
    /// The most streams at once on an HTTP/2 connection. Default 250.
    pub(crate) max_streams: u32,
    /// What clients of HTTP/2 may send that asks for nothing.
    pub(crate) frames: FrameLimits,
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

    /// Answers a head of HTTP/1 that is no request.
    fn refuse(&self, error: HeadError, connection: &Connection) -> Response<Body>;
}

/// The requests of one connection.
struct Requests<V> {
    connection: Arc<Connection>,
    service: V,
}

/// Why a stream of HTTP/2 is reset.
#[derive(Debug, Error)]
enum Unserved<A: std::error::Error + 'static> {
    /// It came after the client was told to open no more. The library finds the reason by which the client knows that
    /// it may ask elsewhere.
    #[error("the connection takes no further stream")]
    Late(#[source] h2::Error),
    /// Its head says that it has no body, and a body came.
    #[error("the request is malformed")]
    Malformed(#[source] hyper::Error),
    #[error(transparent)]
    Aborted(A),
}

/// A response body of HTTP/2 that keeps its request counted until the last byte is out.
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
            bare_line_feeds: false,
            max_streams: 250,
            frames: FrameLimits::default(),
        }
    }
}

impl HttpSettings {
    fn head_limits(&self) -> HeadLimits {
        HeadLimits {
            size: self.max_head as usize,
            fields: self.max_fields,
            target: MAX_TARGET,
            bare_line_feed: self.bare_line_feeds,
        }
    }
}

// === the two drivers ===

/// Serves `stream` until it is closed, drained or told to close. If its protocol is `known`, `ahead` was read before.
pub(crate) async fn serve<S, V>(
    mut stream: S,
    known: Option<Protocol>,
    ahead: Bytes,
    connection: Arc<Connection>,
    settings: HttpSettings,
    service: V,
) where
    S: Stream + 'static,
    V: Service,
{
    let peer = PeerName(connection.peer());
    let (protocol, read_ahead) = match known {
        Some(protocol) => (protocol, ahead),
        None if settings.h2c => match unless_closed(connection.state(), sniff(&mut stream)).await {
            Some(Ok(found)) => found,
            Some(Err(_)) | None => return,
        },
        None => (Protocol::Http1, ahead),
    };
    if protocol == Protocol::Http1 && !settings.http1 {
        debug!(%peer, "HTTP/1 is not among the protocols of this listener");
        return;
    }
    let requests = Requests { connection, service };
    match protocol {
        Protocol::Http1 => {
            let control = Arc::clone(requests.connection.state());
            control.set_checked();
            let limits = settings.head_limits();
            if let Err(error) =
                http1_codec::server::serve(stream, read_ahead, limits, control, requests).await
            {
                debug!(%peer, %error, "client connection ended");
            }
        }
        // Boxed: many more connections are of HTTP/1.1 and would carry the room for it.
        Protocol::Http2 => Box::pin(serve_http2(stream, read_ahead, settings, requests)).await,
    }
}

async fn serve_http2<S, V>(stream: S, read_ahead: Bytes, settings: HttpSettings, requests: Requests<V>)
where
    S: Stream + 'static,
    V: Service,
{
    let (state, peer) = (
        Arc::clone(requests.connection.state()),
        PeerName(requests.connection.peer()),
    );
    state.set_multiplexed();
    let io = TokioIo::new(ServerIo::new(
        stream,
        read_ahead,
        Arc::clone(&state),
        settings.frames,
    ));
    let requests = Arc::new(requests);
    let service = service_fn(move |request: Request<Incoming>| {
        let requests = Arc::clone(&requests);
        async move {
            let Requests { connection, service } = &*requests;
            if connection.state().refuses_streams() {
                return Err(Unserved::Late(h2::Reason::REFUSED_STREAM.into()));
            }
            let in_flight = connection.state().begin();
            let request = begun(request).await.map_err(Unserved::Malformed)?;
            let answer = service.call(request, connection).await;
            let response = answer.map_err(Unserved::Aborted)?;
            Ok(response.map(|body| CountedBody {
                body,
                offer: in_flight.offer(),
                request: in_flight,
            }))
        }
    });
    // A peer that vanished is found by TCP keepalive, one that says nothing by the sweeper: a PING of HTTP/2
    // would find neither sooner, and costs each frame a look at the clock.
    let connection = hyper::server::conn::http2::Builder::new(StreamExecutor)
        .max_concurrent_streams(settings.max_streams)
        .max_header_list_size(settings.max_head)
        .max_local_error_reset_streams(MOST_RESETS)
        .enable_connect_protocol()
        .max_send_buf_size(SEND_BUFFER)
        .serve_connection(io, service);
    let mut connection = pin!(connection);
    let mut draining = false;
    let result = poll_fn(|cx| {
        if let Poll::Ready(result) = connection.as_mut().poll(cx) {
            return Poll::Ready(result);
        }
        match state.poll_command(cx) {
            Some(Command::Drain) if !draining => {
                draining = true;
                connection.as_mut().graceful_shutdown();
                connection.as_mut().poll(cx)
            }
            Some(Command::TimeOut | Command::Close) => Poll::Ready(Ok(())),
            Some(Command::Drain) | None => Poll::Pending,
        }
    });
    if let Err(error) = result.await {
        debug!(%peer, %error, "client connection ended");
    }
}

/// A request whose head may be passed on. One of no length is first known to be one at its end: what comes instead makes it
/// malformed (RFC 9113, section 8.1.1), and nothing of such a request is passed on.
async fn begun(request: Request<Incoming>) -> Result<Request<Body>, hyper::Error> {
    let (head, mut body) = request.into_parts();
    if body.size_hint().exact() == Some(0) && !body.is_end_stream() {
        while let Some(frame) = body.frame().await {
            frame?;
        }
        return Ok(Request::from_parts(head, Body::empty()));
    }
    Ok(Request::from_parts(head, body.into()))
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
    tokio::select! {
        biased;
        done = work => Some(done),
        _ = state.commanded() => None,
    }
}

// === impl Requests ===

impl<V: Service> http1_codec::server::Service for Requests<V> {
    type Body = Body;
    type Error = V::Abort;

    // No async function: its future would hold the request once more.
    fn call(
        &self,
        request: Request<RequestBody>,
    ) -> impl Future<Output = Result<Response<Body>, V::Abort>> + Send {
        self.service.call(request.map(Body::from), &self.connection)
    }

    fn refuse(&self, error: HeadError) -> Response<Body> {
        self.service.refuse(error, &self.connection)
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
