//! A stream that gives and takes one byte at a time, and nothing in between.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Every second read and write is pending; the others move one byte.
#[derive(Debug)]
pub(crate) struct Dribble<S> {
    io: S,
    reads: bool,
    writes: bool,
}

// === impl Dribble ===

impl<S> Dribble<S> {
    pub(crate) fn new(io: S) -> Self {
        Self {
            io,
            reads: false,
            writes: false,
        }
    }
}

fn is_turn(turn: &mut bool, cx: &Context<'_>) -> bool {
    *turn = !*turn;
    if !*turn {
        return true;
    }
    cx.waker().wake_by_ref();
    false
}

impl<S: AsyncRead + Unpin> AsyncRead for Dribble<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !is_turn(&mut self.reads, cx) {
            return Poll::Pending;
        }
        let mut byte = [0];
        let mut one = ReadBuf::new(&mut byte);
        let read = Pin::new(&mut self.io).poll_read(cx, &mut one);
        to.put_slice(one.filled());
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Dribble<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if !is_turn(&mut self.writes, cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.io).poll_write(cx, data.get(..1).unwrap_or_default())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
