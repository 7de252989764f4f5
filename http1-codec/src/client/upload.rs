//! The request's way out.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header;
use http::{HeaderName, HeaderValue, Method, Request};
use http_body::Frame;
use tokio::io::AsyncWrite;

use super::{Cause, Outgoing};
use crate::outbox::{Outbox, Wrapping};
use crate::write::{self, FramingField};

/// After so many writes at once others on the thread have their turn.
const TURNS: u32 = 8;

/// The request's way out.
#[derive(Debug)]
pub(super) struct Upload<B> {
    pub(super) request: Box<Request<B>>,
    outbox: Outbox,
    wrapping: Wrapping,
    /// What is left to send of a body of known length.
    left: Option<u64>,
    /// The first piece, until any byte is written.
    pub(super) first: Option<Bytes>,
    pub(super) state: UploadState,
    pub(super) wrote: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UploadState {
    /// More of the body is to come.
    Open,
    /// All of it is in the outbox.
    Ending,
    /// All of it is written.
    Complete,
    /// The connection takes no more. Its answer may be there all the same.
    Broken,
}

// === impl Upload ===

impl<B: Outgoing> Upload<B> {
    pub(super) fn new(request: Box<Request<B>>, added: &[(HeaderName, HeaderValue)]) -> Self {
        let body = request.body();
        let (framing, left) = match (body.is_end_stream(), body.size_hint().exact()) {
            (true, _) if states_length(&request) => (FramingField::Length(0), Some(0)),
            (true, _) => (FramingField::None, Some(0)),
            (false, Some(length)) => (FramingField::Length(length), Some(length)),
            (false, None) => (FramingField::Chunked, None),
        };
        let mut outbox = Outbox::default();
        write::request_head(outbox.text(), &request, added, framing);
        Self {
            request,
            outbox,
            wrapping: if left.is_none() {
                Wrapping::Chunks
            } else {
                Wrapping::Plain
            },
            left,
            first: None,
            state: if left == Some(0) {
                UploadState::Ending
            } else {
                UploadState::Open
            },
            wrote: false,
        }
    }

    /// Whether nothing of the request is left to send, or nothing of it will be.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.state, UploadState::Complete | UploadState::Broken)
    }

    /// Sends what can be sent now. Only the body can fail: a connection that takes no more may still answer.
    pub(super) fn poll<S: AsyncWrite + Unpin>(
        &mut self,
        io: &mut S,
        cx: &mut Context<'_>,
    ) -> Result<(), Cause<B::Error>> {
        for _ in 0..TURNS {
            if self.is_settled() {
                return Ok(());
            }
            let waits = !self.fill(cx)?;
            match self.poll_write(io, cx) {
                Poll::Ready(Ok(())) if self.state == UploadState::Ending => {
                    self.state = UploadState::Complete
                }
                Poll::Ready(Ok(())) if waits => return Ok(()),
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => self.state = UploadState::Broken,
                Poll::Pending => return Ok(()),
            }
        }
        if !self.is_settled() {
            // Others on this thread have their turn first.
            cx.waker().wake_by_ref();
        }
        Ok(())
    }

    /// Takes what is there of the body; false if more is to come later.
    fn fill(&mut self, cx: &mut Context<'_>) -> Result<bool, Cause<B::Error>> {
        while self.state == UploadState::Open
            && self.outbox.has_room()
            && (self.wrote || self.first.is_none())
        {
            match Pin::new(self.request.body_mut()).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => self.add(frame)?,
                Poll::Ready(Some(Err(error))) => return Err(Cause::Body(error)),
                Poll::Ready(None) => self.end()?,
                Poll::Pending => return Ok(false),
            }
        }
        Ok(true)
    }

    fn add(&mut self, frame: Frame<Bytes>) -> Result<(), Cause<B::Error>> {
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(other) => return self.add_trailers(other),
        };
        if !self.wrote {
            self.first = Some(data.clone());
        }
        let mut last = self.request.body().is_end_stream();
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(data.len() as u64).ok_or(Cause::Length)?;
            if last && *left > 0 {
                return Err(Cause::Length);
            }
            last |= *left == 0;
        }
        self.outbox.data(data, self.wrapping, last);
        if last {
            self.state = UploadState::Ending;
        }
        Ok(())
    }

    fn add_trailers(&mut self, frame: Frame<Bytes>) -> Result<(), Cause<B::Error>> {
        match frame.into_trailers() {
            Ok(trailers) if self.wrapping == Wrapping::Chunks && !trailers.is_empty() => {
                self.outbox.trailers(&trailers);
                self.state = UploadState::Ending;
                Ok(())
            }
            Ok(_) | Err(_) => self.end(),
        }
    }

    fn end(&mut self) -> Result<(), Cause<B::Error>> {
        if self.left.is_some_and(|left| left > 0) {
            return Err(Cause::Length);
        }
        self.outbox.data(Bytes::new(), self.wrapping, true);
        self.state = UploadState::Ending;
        Ok(())
    }

    fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        io: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let Self {
            outbox, wrote, first, ..
        } = self;
        ready!(outbox.poll_write(io, cx, || {
            *wrote = true;
            *first = None;
        }))?;
        Pin::new(io).poll_flush(cx)
    }
}

/// Whether a request without a body says so: those whose method usually has one, and those that did.
fn states_length<B>(request: &Request<B>) -> bool {
    matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH)
        || request.headers().contains_key(header::CONTENT_LENGTH)
}
