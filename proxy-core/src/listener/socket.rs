//! A client's socket, which resets the connection where a clean end would lie.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tracing::debug;

use crate::http::connection::ConnState;

/// The socket of a client connection. If it is dropped in the middle of an answer that only its end completes, the
/// client sees a reset: whatever the reason is, be it an upstream that failed or a stop that waited long enough.
#[derive(Debug)]
pub(super) struct Socket {
    /// What was read already and must be read once more, if there is any.
    ahead: Option<Box<Bytes>>,
    stream: Stream,
    state: Arc<ConnState>,
}

/// The two kinds of sockets that clients come by.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

// === impl Socket ===

impl Socket {
    pub(super) fn new(stream: Stream, state: Arc<ConnState>) -> Self {
        Self {
            ahead: None,
            stream,
            state,
        }
    }

    /// What was read too far, to be read again.
    pub(super) fn give_back(&mut self, ahead: Bytes) {
        self.ahead = (!ahead.is_empty()).then(|| Box::new(ahead));
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // A unix socket has no reset: its client sees the end of a stream that should not have ended yet.
        if self.state.has_open_end()
            && let Stream::Tcp(stream) = &self.stream
            && let Err(error) = stream.set_zero_linger()
        {
            debug!(%error, "a cut answer ends like a whole one");
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(ahead) = &mut self.ahead {
            let length = ahead.len().min(to.remaining());
            to.put_slice(&ahead.split_to(length));
            if ahead.is_empty() {
                self.ahead = None;
            }
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, to)
    }
}

impl AsyncWrite for Socket {
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
        // Dropping it tells the client the same, and costs one call of the kernel less.
        if self.state.is_leaving() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

// === impl Stream ===

impl Stream {
    /// Where the connection came in.
    pub(super) fn local_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    /// Probes a silent peer as `keepalive` says.
    pub(super) fn set_keepalive(&self, keepalive: &TcpKeepalive) {
        if let Self::Tcp(stream) = self
            && let Err(error) = SockRef::from(stream).set_tcp_keepalive(keepalive)
        {
            debug!(%error, "the connection is probed as all others are");
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, to),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, to),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
