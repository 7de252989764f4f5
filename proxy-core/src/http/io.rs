//! The byte stream under a client's HTTP/2 connection: replays what was read ahead, and counts activity for the
//! sweeper.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http1_codec::server::Control as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::connection::ConnState;
use super::frames::{FrameLimits, FrameMeter};

/// A client's byte stream.
#[derive(Debug)]
pub(crate) struct ServerIo<S> {
    stream: S,
    read_ahead: Bytes,
    state: Arc<ConnState>,
    frames: FrameMeter,
}

/// The client sends more frames that ask for nothing than any honest one does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TooManyFrames;

// === impl ServerIo ===

impl<S> ServerIo<S> {
    /// Reads `read_ahead` first, then from `stream`, which must keep to the `limits`.
    pub(crate) fn new(stream: S, read_ahead: Bytes, state: Arc<ConnState>, limits: FrameLimits) -> Self {
        state.on_read(read_ahead.len());
        Self {
            stream,
            read_ahead,
            state,
            frames: FrameMeter::new(limits),
        }
    }

    /// Notes what came of writing `slices`.
    fn note_write(&mut self, result: &Poll<io::Result<usize>>, slices: &[IoSlice<'_>]) {
        self.state.on_write(result.is_ready());
        let Poll::Ready(Ok(mut written)) = *result else {
            return;
        };
        for slice in slices {
            let taken = slice.get(..written.min(slice.len())).unwrap_or_default();
            self.frames.wrote(taken);
            written -= taken.len();
        }
    }

    /// Counts the frames of what came.
    fn count(&mut self, came: &[u8]) -> Poll<io::Result<()>> {
        if self.frames.read(came, Instant::now) {
            Poll::Ready(Ok(()))
        } else {
            Poll::Ready(Err(io::Error::other(TooManyFrames)))
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ServerIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.read_ahead.is_empty() {
            let length = self.read_ahead.len().min(buffer.remaining());
            let ahead = self.read_ahead.split_to(length);
            buffer.put_slice(&ahead);
            return self.count(&ahead);
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        let came = buffer.filled().get(before..).unwrap_or_default();
        self.state.on_read(came.len());
        self.count(came)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ServerIo<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, data);
        self.note_write(&result, &[IoSlice::new(data)]);
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.note_write(&result, slices);
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_flush(cx);
        if result.is_pending() {
            self.state.on_write(false);
        }
        result
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl std::fmt::Display for TooManyFrames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the client sends too many frames that ask for nothing")
    }
}

impl std::error::Error for TooManyFrames {}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn what_was_read_ahead_comes_first() {
        let (near, mut far) = tokio::io::duplex(64);
        let mut io = ServerIo::new(
            near,
            Bytes::from_static(b"ab"),
            Arc::default(),
            FrameLimits::default(),
        );
        far.write_all(b"cd").await.unwrap();
        drop(far);

        let mut text = String::new();
        io.read_to_string(&mut text).await.unwrap();

        assert_eq!(text, "abcd");
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_counts_as_stalled() {
        let (near, _far) = tokio::io::duplex(2);
        let state = Arc::<ConnState>::default();
        let mut io = ServerIo::new(near, Bytes::new(), Arc::clone(&state), FrameLimits::default());

        tokio::select! {
            biased;
            _ = io.write_all(b"103") => unreachable!("there is no room"),
            () = std::future::ready(()) => {}
        }

        assert!(state.activity().write_blocked);
    }
}
