//! What the driver of a connection and the body of its request share: the byte stream and what was read of it.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::header::HeaderMap;
use http_body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Control, Phase};
use crate::body::{BodyReader, Piece};
use crate::buffers;
use crate::error::{BodyError, HeadError};
use crate::framing::Framing;
use crate::head::{HeadLimits, HeadReader, RequestHead};
use crate::outbox::Outbox;
use crate::write;

/// A connection, locked for one look at a time and never over a wait.
pub(super) struct Shared<S, C> {
    conn: Mutex<Conn<S>>,
    pub(super) control: Arc<C>,
}

pub(super) struct Conn<S> {
    io: S,
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
    /// An answer has begun: nothing interim may come any more.
    answering: bool,
    driver: Option<Waker>,
    reader: Option<Waker>,
}

/// The body of a request.
///
/// It is read from the connection as it is asked for. A body that ends early is an error, never a clean end.
pub struct RequestBody(Kind);

enum Kind {
    Empty,
    Full(Bytes),
    Stream(Arc<dyn Source>, u64),
}

/// A connection that gives the body of its request with some number.
trait Source: Send + Sync {
    fn poll_body(&self, number: u64, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>>;
    /// How many bytes are left, if that is known.
    fn remaining(&self, number: u64) -> Option<u64>;
    fn is_complete(&self, number: u64) -> bool;
    /// Nobody reads the body any more.
    fn leave(&self, number: u64);
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
    match framing {
        Framing::None => RequestBody(Kind::Empty),
        Framing::Length(length) if length <= conn.buffer.len() as u64 => match conn.next_piece() {
            Ok(Piece::Data(data)) => RequestBody(Kind::Full(data)),
            _ => RequestBody(Kind::Empty),
        },
        _ => RequestBody(Kind::Stream(Arc::<Shared<S, C>>::clone(shared), conn.number)),
    }
}

// === impl Shared ===

impl<S, C> Shared<S, C> {
    pub(super) fn new(io: S, read_ahead: BytesMut, control: Arc<C>) -> Self {
        let conn = Conn {
            io,
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

    /// The byte stream, and what was read of it.
    pub(super) fn into_io(self) -> (S, Bytes) {
        let conn = self.conn.into_inner().unwrap_or_else(PoisonError::into_inner);
        (conn.io, conn.buffer.freeze())
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

    /// Makes the body fail that is still read. False if there is no such body.
    pub(super) fn fail_body(&mut self, error: BodyError) -> bool {
        if self.body.is_complete() || self.fault.is_some() || self.unread {
            return false;
        }
        self.fault = Some(error);
        if let Some(reader) = self.reader.take() {
            reader.wake();
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
    /// The next head; an error in it; or `None` at the end of the connection.
    pub(super) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        limits: &HeadLimits,
        control: &impl Control,
    ) -> Poll<io::Result<Option<Result<RequestHead, HeadError>>>> {
        loop {
            if !self.buffer.is_empty() {
                match self.head.request(&mut self.buffer, limits) {
                    Ok(Some(head)) => return Poll::Ready(Ok(Some(Ok(head)))),
                    Ok(None) => {}
                    Err(error) => return Poll::Ready(Ok(Some(Err(error)))),
                }
            }
            if self.ended {
                return Poll::Ready(Ok(None));
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
        if self.interim.is_empty() {
            return Ok(());
        }
        match self
            .interim
            .poll_write(&mut self.io, cx, || control.on_write(true))
        {
            Poll::Ready(Ok(())) => match Pin::new(&mut self.io).poll_flush(cx) {
                Poll::Ready(Err(error)) => Err(error),
                _ => Ok(()),
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
        // One request ahead is enough: what follows it waits in the kernel.
        if self.ended || !self.buffer.is_empty() {
            return Poll::Pending;
        }
        match ready!(buffers::poll_read(&mut self.io, &mut self.buffer, cx)) {
            Ok(0) if self.may_half_close => {
                self.ended = true;
                Poll::Pending
            }
            Ok(0) | Err(_) => Poll::Ready(()),
            Ok(bytes) => {
                control.on_read(bytes);
                Poll::Pending
            }
        }
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

// === impl RequestBody ===

impl RequestBody {
    /// A body without data.
    pub fn empty() -> Self {
        Self(Kind::Empty)
    }

    /// The whole body, if it came with its head.
    pub fn whole(&mut self) -> Option<Bytes> {
        match &mut self.0 {
            Kind::Empty => Some(Bytes::new()),
            Kind::Full(data) => {
                let data = std::mem::take(data);
                self.0 = Kind::Empty;
                Some(data)
            }
            Kind::Stream(..) => None,
        }
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &self.0 {
            Kind::Stream(source, number) => source.poll_body(*number, cx),
            Kind::Empty => Poll::Ready(None),
            Kind::Full(_) => Poll::Ready(self.whole().map(|data| Ok(Frame::data(data)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Empty => true,
            Kind::Full(_) => false,
            Kind::Stream(source, number) => source.is_complete(*number),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Full(data) => SizeHint::with_exact(data.len() as u64),
            Kind::Stream(source, number) => source
                .remaining(*number)
                .map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Kind::Stream(source, number) = &self.0 {
            source.leave(*number);
        }
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0 {
            Kind::Empty => "empty",
            Kind::Full(_) => "full",
            Kind::Stream(..) => "stream",
        };
        f.debug_tuple("RequestBody").field(&kind).finish()
    }
}
