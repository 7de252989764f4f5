//! One connection to an upstream that can take a request.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, ready};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tracing::debug;

use super::http2::{Http2, Place};
use super::pool::{Pool, PoolLimits};
use crate::body::{Body, OnEnd};
use crate::error::{Failure, Reason};
use crate::tasks::Tasks;

/// The most bytes of an HTTP/1.1 connection that are read ahead: the limit of an answer's head, and what each
/// client that takes nothing can make the proxy hold.
const READ_BUFFER: usize = 64 * 1024;

/// Which HTTP an upstream speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Protocol {
    /// HTTP/1.1 without TLS.
    Http1,
    /// HTTP/2 by prior knowledge, without TLS.
    H2c,
}

/// A connection that can take one request now.
#[derive(Debug)]
pub(crate) enum Channel {
    Http1(Http1),
    Http2(Place),
}

/// An HTTP/1.1 connection between two requests.
#[derive(Debug)]
pub(crate) struct Http1 {
    sender: http1::SendRequest<Body>,
    reads: Arc<AtomicU32>,
    address: SocketAddr,
    reused: bool,
}

/// A request that got no answer.
#[derive(Debug)]
pub(crate) struct SendFailure {
    /// The request, if no byte of it was sent.
    pub(crate) unsent: Option<Box<Request<Body>>>,
    /// The connection had served before and gave no byte back, or is of HTTP/2 and ended: the upstream had
    /// most likely closed it without looking at the request.
    pub(crate) was_stale: bool,
    pub(crate) failure: Failure,
}

/// Counts reads, so that a failed request knows whether any byte of an answer came.
#[derive(Debug)]
struct CountedIo {
    stream: TcpStream,
    reads: Arc<AtomicU32>,
}

/// Gives an HTTP/1.1 connection back to its pool once the response was read to its end.
struct GiveBack {
    channel: Http1,
    pool: Arc<Pool>,
    limits: PoolLimits,
}

// === impl Channel ===

impl Channel {
    /// Begins HTTP on a new connection, which other requests to `address` find in `pool` if it can serve them.
    pub(crate) async fn open(
        stream: TcpStream,
        address: SocketAddr,
        protocol: Protocol,
        tasks: &Tasks,
        pool: Option<(&Arc<Pool>, PoolLimits)>,
    ) -> Result<Self, Failure> {
        match protocol {
            Protocol::Http1 => {
                let reads = Arc::<AtomicU32>::default();
                let io = TokioIo::new(CountedIo {
                    stream,
                    reads: Arc::clone(&reads),
                });
                let (sender, connection) = http1::Builder::new()
                    .max_buf_size(READ_BUFFER)
                    .handshake(io)
                    .await
                    .map_err(failure)?;
                tasks.spawn("upstream", async move {
                    if let Err(error) = connection.with_upgrades().await {
                        debug!(%address, %error, "upstream connection ended");
                    }
                });
                Ok(Self::Http1(Http1 {
                    sender,
                    reads,
                    address,
                    reused: false,
                }))
            }
            Protocol::H2c => {
                let (opened, place) = Http2::open(stream, tasks).await.map_err(failure)?;
                if let Some((pool, limits)) = pool {
                    pool.share(address, opened, limits);
                }
                Ok(Self::Http2(place))
            }
        }
    }

    /// Sends a request and waits for the head of its answer. An HTTP/1.1 connection goes back to `pool`
    /// when the body of the answer was read to its end; without one it is closed then.
    pub(crate) async fn send(
        self,
        request: Box<Request<Body>>,
        pool: Option<(&Arc<Pool>, PoolLimits)>,
    ) -> Result<Response<Body>, SendFailure> {
        match self {
            Self::Http1(channel) => channel.send(request, pool).await,
            Self::Http2(place) => place.send(request).await,
        }
    }
}

// === impl Http1 ===

impl Http1 {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.sender.is_ready()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    async fn send(
        mut self,
        request: Box<Request<Body>>,
        pool: Option<(&Arc<Pool>, PoolLimits)>,
    ) -> Result<Response<Body>, SendFailure> {
        let reads = self.reads.load(Ordering::Relaxed);
        match self.sender.try_send_request(*request).await {
            Ok(response) => Ok(self.watch(response, pool)),
            Err(error) => {
                let silent = self.reads.load(Ordering::Relaxed) == reads;
                Err(SendFailure::new(error, self.reused && silent))
            }
        }
    }

    fn watch(
        mut self,
        response: Response<Incoming>,
        pool: Option<(&Arc<Pool>, PoolLimits)>,
    ) -> Response<Body> {
        let Some((pool, limits)) =
            pool.filter(|_| response.status() != http::StatusCode::SWITCHING_PROTOCOLS)
        else {
            return response.map(Body::from);
        };
        self.reused = true;
        let give_back = GiveBack {
            channel: self,
            pool: Arc::clone(pool),
            limits,
        };
        response.map(|body| Body::from(body).on_end(Box::new(give_back)))
    }
}

// === impl GiveBack ===

impl OnEnd for GiveBack {
    fn end(self: Box<Self>, complete: bool) {
        // After a part of a body the connection would still carry the rest of it.
        if complete {
            self.pool.give_back(self.channel, self.limits);
        }
    }
}

// === impl SendFailure ===

impl SendFailure {
    pub(super) fn new(mut error: hyper::client::conn::TrySendError<Request<Body>>, was_stale: bool) -> Self {
        Self {
            unsent: error.take_message().map(Box::new),
            was_stale,
            failure: failure(error.into_error()),
        }
    }
}

fn failure(error: hyper::Error) -> Failure {
    let reason = if error.is_user() {
        // The only part of a request that can fail on our side is the body that the client sends.
        Reason::ClientBody
    } else if error.is_parse() {
        Reason::BadResponse
    } else {
        Reason::Closed
    };
    Failure::from(reason).with_source(error)
}

// === impl CountedIo ===

impl AsyncRead for CountedIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for CountedIo {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
