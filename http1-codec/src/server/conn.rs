//! What the driver of a connection and the body of its request share: the byte stream and what was read of it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::header::HeaderMap;
use http_body::Frame;
use tokio::io::{AsyncRead, AsyncWrite};

use super::held::Held;
use super::request_body::{RequestBody, Source};
use super::{Control, Found, Phase};
use crate::body::{BodyReader, Piece};
use crate::buffers;
use crate::error::BodyError;
use crate::framing::Framing;
use crate::head::{HeadLimits, HeadReader};
use crate::outbox::Outbox;
use crate::write;

/// How much of further requests is read while one is in flight.
const AHEAD: usize = 16 * 1024;

/// A connection, locked for one look at a time and never over a wait.
pub(super) struct Shared<S, C> {
    conn: Mutex<Conn<S>>,
    pub(super) control: Arc<C>,
}

pub(super) struct Conn<S> {
    io: Held<S>,
    buffer: BytesMut,
    head: HeadReader,
    body: BodyReader,
    fault: Option<BodyError>,
    /// The client waits for a 100 before it sends the body.
    expects: bool,
    /// The client may end its side before it has its answer.
    may_half_close: bool,
    ended: bool,
    /// Which request on this connection it is: a body of an earlier one reads nothing.
    number: u64,
    /// Nobody reads the body any more.
    unread: bool,
    /// Interim heads.
    interim: Outbox,
    /// Interim heads were written, and not flushed yet.
    flushing: bool,
    /// An answer has begun: nothing interim may come any more.
    answering: bool,
    driver: Option<Waker>,
    reader: Option<Waker>,
}

/// Begins the body of the request whose head was just read.
pub(super) fn begin<S, C>(
    shared: &Arc<Shared<S, C>>,
    framing: Framing,
    expects: bool,
    keep_alive: bool,
) -> RequestBody
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    C: Control,
{
    let mut conn = shared.lock();
    conn.number += 1;
    conn.body = BodyReader::new(framing);
    conn.fault = None;
    conn.expects = expects && conn.buffer.is_empty();
    conn.may_half_close = !keep_alive;
    conn.unread = false;
    conn.answering = false;
    conn.flushing = false;
    match framing {
        Framing::None => RequestBody::empty(),
        Framing::Length(length) if length <= conn.buffer.len() as u64 => match conn.next_piece() {
            Ok(Piece::Data(data)) => RequestBody::full(data),
            _ => RequestBody::empty(),
        },
        _ => RequestBody::stream(Arc::<Shared<S, C>>::clone(shared), conn.number),
    }
}

// === impl Shared ===

impl<S, C> Shared<S, C> {
    pub(super) fn new(io: S, read_ahead: BytesMut, control: Arc<C>) -> Self {
        let conn = Conn {
            io: Held::new(io),
            buffer: read_ahead,
            head: HeadReader::default(),
            body: BodyReader::new(Framing::None),
            fault: None,
            expects: false,
            may_half_close: false,
            ended: false,
            number: 0,
            unread: false,
            interim: Outbox::default(),
            flushing: false,
            answering: false,
            driver: None,
            reader: None,
        };
        Self {
            conn: Mutex::new(conn),
            control,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Conn<S>> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The byte stream, and what was read of it. Whoever still has the body of a request has nothing of it.
    pub(super) fn take_io(&self) -> Option<(S, Bytes)> {
        let mut conn = self.lock();
        conn.end_message();
        let io = conn.io.take()?;
        Some((io, std::mem::take(&mut conn.buffer).freeze()))
    }
}

impl<S, C> Source for Shared<S, C>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    C: Control,
{
    fn poll_body(&self, number: u64, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let mut conn = self.lock();
        if conn.number != number {
            return Poll::Ready(Some(Err(BodyError::Over)));
        }
        let polled = conn.poll_body(cx, &*self.control);
        if polled.is_pending() {
            self.control.on_phase(Phase::Body);
            conn.reader = Some(cx.waker().clone());
        } else if conn.reader.take().is_some() {
            self.control.on_phase(Phase::Request);
        }
        if conn.body.is_complete() {
            conn.tell_driver();
        }
        polled
    }

    fn remaining(&self, number: u64) -> Option<u64> {
        let conn = self.lock();
        (conn.number == number).then(|| conn.body.remaining()).flatten()
    }

    fn is_complete(&self, number: u64) -> bool {
        let conn = self.lock();
        conn.number == number && conn.body.is_complete()
    }

    fn leave(&self, number: u64) {
        let mut conn = self.lock();
        if conn.number == number {
            conn.unread = true;
            if conn.reader.take().is_some() {
                self.control.on_phase(Phase::Request);
            }
            conn.tell_driver();
        }
    }
}

// === impl Conn ===

impl<S> Conn<S> {
    /// Whether a part of a head is there.
    pub(super) fn has_begun(&self) -> bool {
        self.head.has_begun() || !self.buffer.is_empty()
    }

    /// Nothing is read of the body any more by whoever may still hold it: what comes is not for them.
    pub(super) fn end_message(&mut self) {
        self.number += 1;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// Makes the body fail that is still read. False if there is no such body.
    pub(super) fn fail_body(&mut self, error: BodyError) -> bool {
        if self.body.is_complete() || self.fault.is_some() || self.unread {
            return false;
        }
        self.fault = Some(error);
        // It stays the reader until it was here: so the phase changes then.
        if let Some(reader) = &self.reader {
            reader.wake_by_ref();
        }
        true
    }

    /// Whether what nobody has read yet of the request is little enough to read it for the sake of the next one.
    /// A client that still waits for a 100 may or may not send its body now.
    pub(super) fn unread_is_bounded(&self, limit: u64) -> bool {
        if self.body.is_complete() {
            return true;
        }
        let is_small = self.body.remaining().is_some_and(|left| left <= limit);
        self.fault.is_none() && !self.expects && (!self.unread || is_small)
    }

    /// Whether nothing of the request is left to read.
    pub(super) fn is_body_read(&self) -> bool {
        self.body.is_complete()
    }

    /// Whether nothing of what the client sent is unread, as far as is known.
    pub(super) fn is_all_read(&self) -> bool {
        self.body.is_complete() && self.buffer.is_empty()
    }

    pub(super) fn write_interim(&mut self, head: &[u8]) {
        if !self.answering && self.interim.has_room() {
            self.interim.text().extend_from_slice(head);
        }
    }

    /// The driver watches the connection whenever nobody reads the body.
    fn tell_driver(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    fn next_piece(&mut self) -> Result<Piece, BodyError> {
        match self.fault {
            Some(fault) => Err(fault),
            None => self
                .body
                .next(&mut self.buffer)
                .inspect_err(|fault| self.fault = Some(*fault)),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Conn<S> {
    /// What comes next.
    pub(super) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        limits: &HeadLimits,
        control: &impl Control,
    ) -> Poll<io::Result<Found>> {
        loop {
            if !self.buffer.is_empty() {
                match self.head.request(&mut self.buffer, limits) {
                    Ok(Some(head)) => return Poll::Ready(Ok(Found::Head(head))),
                    Ok(None) => {}
                    Err(error) => return Poll::Ready(Ok(Found::Error(error))),
                }
            }
            if self.ended {
                return Poll::Ready(Ok(Found::End));
            }
            match ready!(buffers::poll_read(&mut self.io, &mut self.buffer, cx))? {
                0 => self.ended = true,
                bytes => control.on_read(bytes),
            }
        }
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        control: &impl Control,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.expects && !self.answering {
            self.expects = false;
            write::interim_head(self.interim.text(), StatusCode::CONTINUE, &HeaderMap::new());
        }
        loop {
            match self.next_piece() {
                Ok(Piece::Data(data)) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Ok(Piece::Trailers(trailers)) => return Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
                Ok(Piece::End) => return Poll::Ready(None),
                Ok(Piece::More) => {}
                Err(fault) => return Poll::Ready(Some(Err(fault))),
            }
            if self.poll_interim(cx, control).is_err() {
                self.ended = true;
            }
            let read = if self.ended {
                Ok(0)
            } else {
                ready!(buffers::poll_read(&mut self.io, &mut self.buffer, cx))
            };
            match read {
                Ok(0) | Err(_) => {
                    self.ended = true;
                    self.fault = Some(BodyError::Cut);
                }
                Ok(bytes) => control.on_read(bytes),
            }
        }
    }

    /// Writes interim heads. They go out while the request is waited for, so nothing waits for them.
    fn poll_interim(&mut self, cx: &mut Context<'_>, control: &impl Control) -> io::Result<()> {
        if self.interim.is_empty() && !self.flushing {
            return Ok(());
        }
        self.flushing = true;
        match self
            .interim
            .poll_write(&mut self.io, cx, || control.on_write(true))
        {
            Poll::Ready(Ok(())) => match Pin::new(&mut self.io).poll_flush(cx) {
                Poll::Ready(flushed) => {
                    self.flushing = false;
                    flushed
                }
                Poll::Pending => Ok(()),
            },
            Poll::Ready(Err(error)) => Err(error),
            Poll::Pending => {
                control.on_write(false);
                Ok(())
            }
        }
    }

    /// Ready once the client has left. It is watched while a request is in flight and its body is not read.
    pub(super) fn poll_watch(&mut self, cx: &mut Context<'_>, control: &impl Control) -> Poll<()> {
        if self.poll_interim(cx, control).is_err() {
            return Poll::Ready(());
        }
        if !self.body.is_complete() {
            self.driver = Some(cx.waker().clone());
            return Poll::Pending;
        }
        // A few requests ahead are enough: what follows them waits in the kernel.
        while !self.ended && self.buffer.len() < AHEAD {
            match ready!(buffers::poll_read(&mut self.io, &mut self.buffer, cx)) {
                Ok(0) if self.may_half_close || !self.buffer.is_empty() => {
                    self.ended = true;
                }
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(bytes) => control.on_read(bytes),
            }
        }
        Poll::Pending
    }

    /// Writes what is in `outbox`, behind all interim heads.
    pub(super) fn poll_write(
        &mut self,
        outbox: &mut Outbox,
        cx: &mut Context<'_>,
        control: &impl Control,
    ) -> Poll<io::Result<()>> {
        self.answering = true;
        let Self { io, interim, .. } = self;
        let mut written = interim.poll_write(io, cx, || control.on_write(true));
        if matches!(written, Poll::Ready(Ok(()))) {
            written = outbox.poll_write(io, cx, || control.on_write(true));
        }
        if matches!(written, Poll::Ready(Ok(()))) {
            written = Pin::new(io).poll_flush(cx);
        }
        if written.is_pending() {
            control.on_write(false);
        }
        written
    }

    /// Reads and drops the rest of a body that nobody reads, if that is at most `limit` bytes. True once it is
    /// all there.
    pub(super) fn poll_unread(
        &mut self,
        cx: &mut Context<'_>,
        limit: u64,
        control: &impl Control,
    ) -> Poll<bool> {
        while !self.body.is_complete() {
            if !self.unread || !self.unread_is_bounded(limit) {
                return Poll::Ready(false);
            }
            if let Some(Err(_)) = ready!(self.poll_body(cx, control)) {
                return Poll::Ready(false);
            }
        }
        Poll::Ready(true)
    }

    /// Ends our side; ready once the client has ended its own, or has sent more than `left` bytes.
    pub(super) fn poll_close(&mut self, cx: &mut Context<'_>, left: &mut usize) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.io).poll_shutdown(cx))?;
        while *left > 0 {
            self.buffer.clear();
            match ready!(buffers::poll_read(&mut self.io, &mut self.buffer, cx))? {
                0 => return Poll::Ready(Ok(())),
                bytes if bytes > *left => return Poll::Ready(Ok(())),
                bytes => *left -= bytes,
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests;
