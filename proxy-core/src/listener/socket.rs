//! A client's socket, which resets the connection where a clean end would lie.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tracing::debug;

use crate::http::connection::ConnState;

/// The socket of a client connection. If it is dropped in the middle of an answer that only its end completes, the
/// client sees a reset: whatever the reason is, be it an upstream that failed or a stop that waited long enough.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    state: Arc<ConnState>,
}

// === impl Socket ===

impl Socket {
    pub(super) fn new(stream: TcpStream, state: Arc<ConnState>) -> Self {
        Self { stream, state }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.state.has_open_end()
            && let Err(error) = self.stream.set_zero_linger()
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
