//! Bodies that are counted, and the answer's that ends the line.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::Access;
use crate::body::{Around, Body, BoxError, OnEnd};
use crate::error::{Phase, Reason, TookTooLong};

type Polled = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

/// A request's body.
pub(super) struct Metered {
    pub(super) body: Body,
    pub(super) read: Arc<AtomicU64>,
}

/// What a request's body counts for that came in one piece, if anybody reads it.
pub(super) struct Whole {
    pub(super) length: u64,
    pub(super) read: Arc<AtomicU64>,
}

/// Writes the line when the body has ended, or when it is dropped before.
pub(super) struct Logged {
    body: Body,
    access: Box<Access>,
    ended: bool,
}

// === impl Whole, Metered, Logged ===

impl OnEnd for Whole {
    fn end(self: Box<Self>, complete: bool) {
        if complete {
            self.read.store(self.length, Ordering::Relaxed);
        }
    }
}

impl Logged {
    pub(super) fn new(body: Body, access: Box<Access>) -> Self {
        Self {
            body,
            access,
            ended: false,
        }
    }
}

impl HttpBody for Metered {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            self.read.fetch_add(length(frame), Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl HttpBody for Logged {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => self.access.entry.size += length(frame),
            Some(Err(error)) => {
                self.ended = true;
                let reason = if error.is::<TookTooLong>() {
                    Reason::Stalled
                } else {
                    Reason::Cut
                };
                self.access.entry.failure.get_or_insert((reason, Phase::Answer));
            }
            None => self.ended = true,
        }
        self.ended |= self.body.is_end_stream();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Around for Logged {
    fn inner(&mut self) -> &mut Body {
        &mut self.body
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        if !self.ended {
            self.access.leave(Phase::Answer);
        }
    }
}

fn length(frame: &Frame<Bytes>) -> u64 {
    frame.data_ref().map_or(0, |data| data.len() as u64)
}
