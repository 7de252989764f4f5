//! A connection that speaks another protocol from now on.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Any byte stream.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send + fmt::Debug {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + fmt::Debug> Stream for S {}

/// The byte stream of an upgraded connection. What the peer sent right behind its head comes first.
#[derive(Debug)]
pub struct Upgraded<S> {
    io: S,
    read_ahead: Bytes,
}

// === impl Upgraded ===

impl<S> Upgraded<S> {
    pub(crate) fn new(io: S, read_ahead: Bytes) -> Self {
        Self { io, read_ahead }
    }

    /// The stream, and what was read of it but belongs to the new protocol.
    pub fn into_parts(self) -> (S, Bytes) {
        (self.io, self.read_ahead)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Upgraded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.read_ahead.is_empty() {
            return Pin::new(&mut self.io).poll_read(cx, to);
        }
        let length = self.read_ahead.len().min(to.remaining());
        to.put_slice(self.read_ahead.get(..length).unwrap_or_default());
        self.read_ahead.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Upgraded<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
