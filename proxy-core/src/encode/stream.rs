//! A body that is compressed while it passes through.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::HeaderMap;
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::OF_BYTES;
use super::coder::Until;
use super::lease::Lease;
use crate::body::{Around, Body, BoxError};

/// How much is compressed before other requests of the worker have their turn: well below a millisecond.
const TURN: usize = 32 * 1024;

/// Output that is handed on without waiting for more.
const ENOUGH: usize = 16 * 1024;

/// What a piece costs besides its bytes, so that many small ones end a turn too.
const PIECE: usize = 64;

/// `body`, compressed. If `at_once`, the client can read whatever has come from `body` so far whenever that
/// pauses; else the encoder may keep some of it until there is more.
pub(super) fn compressed(body: Body, lease: Lease, at_once: bool) -> Body {
    Body::around(Compressed {
        body,
        input: Bytes::new(),
        out: Vec::new(),
        lease: Some(lease),
        at_once,
        is_dirty: false,
        turn: 0,
        trailers: None,
    })
}

struct Compressed {
    body: Body,
    /// What came and is not compressed yet.
    input: Bytes,
    out: Vec<u8>,
    /// Until the end, or a failure.
    lease: Option<Lease>,
    at_once: bool,
    /// Something was compressed since the last flush.
    is_dirty: bool,
    /// How much was compressed in this turn.
    turn: usize,
    trailers: Option<HeaderMap>,
}

type Polled = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

// === impl Compressed ===

impl Compressed {
    fn run(&mut self, input: &[u8], until: Until) -> Result<(), BoxError> {
        let Some(lease) = &mut self.lease else {
            return Ok(());
        };
        let result = lease.run(input, until, &mut self.out);
        if result.is_err() || until == Until::Complete {
            self.lease = None;
        }
        self.is_dirty = until == Until::Taken;
        Ok(result?)
    }

    /// Compresses some of the input.
    fn take(&mut self) -> Result<(), BoxError> {
        let length = self.input.len().min(TURN.saturating_sub(self.turn).max(1));
        let piece = self.input.split_to(length);
        self.turn += length + PIECE;
        self.run(&piece, Until::Taken)
    }

    /// The body has paused.
    fn pause(&mut self) -> Polled {
        self.turn = 0;
        if self.at_once
            && self.is_dirty
            && let Err(error) = self.run(&[], Until::Readable)
        {
            return Poll::Ready(Some(Err(error)));
        }
        self.output()
            .map_or(Poll::Pending, |frame| Poll::Ready(Some(Ok(frame))))
    }

    fn output(&mut self) -> Option<Frame<Bytes>> {
        let out = std::mem::take(&mut self.out);
        (!out.is_empty()).then(|| Frame::data(out.into()))
    }

    /// What there is behind the end.
    fn rest(&mut self) -> Option<Frame<Bytes>> {
        self.output()
            .or_else(|| self.trailers.take().map(Frame::trailers))
    }

    fn ended(&mut self, trailers: Option<HeaderMap>) -> Result<(), BoxError> {
        self.trailers = trailers.map(|mut trailers| {
            for name in &OF_BYTES {
                trailers.remove(name);
            }
            trailers
        });
        self.run(&[], Until::Complete)
    }
}

impl HttpBody for Compressed {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        loop {
            if self.lease.is_none() {
                return Poll::Ready(self.rest().map(Ok));
            }
            if self.out.len() >= ENOUGH {
                return Poll::Ready(self.output().map(Ok));
            }
            if self.turn >= TURN {
                self.turn = 0;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let done = if self.input.is_empty() {
                match Pin::new(&mut self.body).poll_frame(cx) {
                    Poll::Pending => return self.pause(),
                    Poll::Ready(None) => self.ended(None),
                    Poll::Ready(Some(Err(error))) => Err(error),
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(data) => {
                            self.input = data;
                            continue;
                        }
                        Err(frame) => self.ended(frame.into_trailers().ok()),
                    },
                }
            } else {
                self.take()
            };
            if let Err(error) = done {
                // A body that was cut must not look complete: the encoder ends nothing.
                self.lease = None;
                self.out.clear();
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.lease.is_none() && self.out.is_empty() && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_end_stream() {
            SizeHint::with_exact(0)
        } else {
            SizeHint::default()
        }
    }
}

impl Around for Compressed {
    fn inner(&mut self) -> &mut Body {
        &mut self.body
    }
}
