//! What waits to be written to a connection: a head, chunks, data. Small pieces go out together in one write,
//! large ones are written from where they are.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use http::header::HeaderMap;
use tokio::io::AsyncWrite;

use crate::buffers;
use crate::write;

/// Pieces up to this size are copied: it is cheaper than one more slice for the kernel.
pub(crate) const COPIED: usize = 1024;

/// No more is taken while this much waits.
const ENOUGH: usize = 16 * 1024;

/// Bytes to be written, in this order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    before: Vec<u8>,
    /// How much of `before` is written.
    written: usize,
    large: Bytes,
    after: &'static [u8],
}

/// How data is framed on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    Plain,
    Chunks,
}

// === impl Outbox ===

impl Outbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.before.len() == self.written && self.large.is_empty() && self.after.is_empty()
    }

    /// Whether more may be added now.
    pub(crate) fn has_room(&self) -> bool {
        self.large.is_empty() && self.after.is_empty() && self.before.len() < ENOUGH
    }

    /// Where heads are written to. Only with nothing behind it.
    pub(crate) fn text(&mut self) -> &mut Vec<u8> {
        debug_assert!(
            self.large.is_empty() && self.after.is_empty(),
            "bytes would be out of order"
        );
        if self.before.capacity() == 0 {
            self.before = buffers::to_write();
        }
        &mut self.before
    }

    /// Adds data; `last` says that nothing comes behind it. Only with room.
    pub(crate) fn data(&mut self, data: Bytes, wrapping: Wrapping, last: bool) {
        if data.is_empty() {
            if last && wrapping == Wrapping::Chunks {
                self.text().extend_from_slice(write::LAST_CHUNK);
            }
            return;
        }
        let after: &'static [u8] = match (wrapping, last) {
            (Wrapping::Plain, _) => b"",
            (Wrapping::Chunks, false) => b"\r\n",
            (Wrapping::Chunks, true) => b"\r\n0\r\n\r\n",
        };
        if wrapping == Wrapping::Chunks {
            write::chunk_size(self.text(), data.len());
        }
        if data.len() <= COPIED {
            self.text().extend_from_slice(&data);
            self.text().extend_from_slice(after);
        } else {
            self.large = data;
            self.after = after;
        }
    }

    /// Ends a chunked body with trailers. Only with room.
    pub(crate) fn trailers(&mut self, trailers: &HeaderMap) {
        write::trailers(self.text(), trailers);
    }

    /// Writes until nothing is left. `on_write` is told each time that the connection takes bytes.
    pub(crate) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        io: &mut S,
        cx: &mut Context<'_>,
        mut on_write: impl FnMut(),
    ) -> Poll<io::Result<()>> {
        while !self.is_empty() {
            let written = ready!(self.poll_some(io, cx))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            on_write();
            self.advance(written);
        }
        self.give_back();
        Poll::Ready(Ok(()))
    }

    fn poll_some<S: AsyncWrite + Unpin>(&self, io: &mut S, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let before = self.before.get(self.written..).unwrap_or_default();
        let io = Pin::new(io);
        match (before.is_empty(), self.large.is_empty()) {
            (_, true) if self.after.is_empty() => io.poll_write(cx, before),
            (true, false) if self.after.is_empty() => io.poll_write(cx, &self.large),
            _ if io.is_write_vectored() => {
                let slices = [
                    IoSlice::new(before),
                    IoSlice::new(&self.large),
                    IoSlice::new(self.after),
                ];
                let skipped = usize::from(before.is_empty());
                io.poll_write_vectored(cx, slices.get(skipped..).unwrap_or_default())
            }
            (false, _) => io.poll_write(cx, before),
            (true, false) => io.poll_write(cx, &self.large),
            (true, true) => io.poll_write(cx, self.after),
        }
    }

    fn advance(&mut self, mut written: usize) {
        let before = (self.before.len() - self.written).min(written);
        self.written += before;
        written -= before;
        let large = self.large.len().min(written);
        self.large.advance(large);
        written -= large;
        self.after = self.after.get(written..).unwrap_or_default();
        if self.large.is_empty() {
            // What it was a part of may be read into again.
            self.large = Bytes::new();
        }
    }

    fn give_back(&mut self) {
        self.written = 0;
        buffers::written(std::mem::take(&mut self.before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_fill_it_to_its_brim() {
        for size in [1, 1000, COPIED, COPIED + 1] {
            let (mut outbox, mut chunks) = (Outbox::default(), 0);
            while outbox.has_room() {
                outbox.data(vec![b'x'; size].into(), Wrapping::Chunks, false);
                chunks += 1;
            }
            let framing = format!("{size:x}\r\n\r\n").len();
            let waits = outbox.before.len() + outbox.large.len() + outbox.after.len();
            assert_eq!(waits, chunks * (size + framing), "{size}");
        }
    }
}
