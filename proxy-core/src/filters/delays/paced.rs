//! A body that comes more slowly than it could.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use eskip::filters::{Args, BoxError, StreamBody};
use eskip::routing::ArgsError;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{self, Instant, Sleep};

use crate::filters::bodies::Polled;

/// How fast a body is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Pace {
    /// Bytes after which there is a delay. Not 0.
    size: usize,
    delay: Duration,
    /// Whether the delay counts from when the bytes before began to come, not from when all of them had.
    from_begin: bool,
}

struct Paced {
    body: StreamBody,
    pace: Pace,
    /// What came and must wait.
    rest: Bytes,
    /// Bytes that may still be sent before the next delay.
    room: usize,
    /// When the last of the delays was over.
    begun: Instant,
    delay: Option<Pin<Box<Sleep>>>,
}

/// Slows `body` down.
pub(super) fn paced(body: StreamBody, pace: Pace) -> StreamBody {
    Box::pin(Paced {
        body,
        pace,
        rest: Bytes::new(),
        room: pace.size,
        begun: Instant::now(),
        delay: Some(Box::pin(time::sleep(pace.delay))),
    })
}

// === impl Pace ===

impl Pace {
    /// KiB a second.
    pub(super) fn bandwidth(args: &mut Args<'_>) -> Result<Self, ArgsError> {
        let kib = args.number("KiB a second")?;
        if kib <= 0.0 {
            return Err(args.expected("a bandwidth above 0"));
        }
        let size = 512;
        let delay =
            Duration::try_from_secs_f64(0.5 / kib).map_err(|_| args.expected("a higher bandwidth"))?;
        // Timers are no finer than a millisecond: what is faster comes in larger pieces.
        let times = Duration::from_millis(10).as_nanos() / delay.as_nanos().max(1);
        let times = usize::try_from(times).unwrap_or(usize::MAX).clamp(1, 1 << 16);
        let delay = delay.saturating_mul(u32::try_from(times).unwrap_or(u32::MAX));
        Ok(Self {
            size: size * times,
            delay,
            from_begin: true,
        })
    }

    /// Bytes, and the delay before each so many.
    pub(super) fn chunks(args: &mut Args<'_>) -> Result<Self, ArgsError> {
        let size = args.whole("a number of bytes")?;
        if size == 0 {
            return Err(args.expected("a number of bytes above 0"));
        }
        Ok(Self {
            size,
            delay: args.duration("a delay")?,
            from_begin: false,
        })
    }
}

// === impl Paced ===

impl Paced {
    /// What may be sent of `data` now; the rest of it waits.
    fn take(&mut self, mut data: Bytes) -> Polled {
        let piece = data.split_to(self.room.min(data.len()));
        self.rest = data;
        self.room -= piece.len();
        if self.room == 0 {
            self.room = self.pace.size;
            let from = if self.pace.from_begin {
                self.begun
            } else {
                Instant::now()
            };
            self.delay = Some(Box::pin(time::sleep_until(from + self.pace.delay)));
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

impl HttpBody for Paced {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        if let Some(delay) = &mut self.delay {
            ready!(delay.as_mut().poll(cx));
            self.delay = None;
            self.begun = Instant::now();
        }
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            return self.take(rest);
        }
        match ready!(self.body.as_mut().poll_frame(cx)) {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => self.take(data),
                Err(frame) => Poll::Ready(Some(Ok(frame))),
            },
            end => Poll::Ready(end),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        match self.body.size_hint().exact() {
            Some(length) => SizeHint::with_exact(length.saturating_add(rest)),
            None => SizeHint::default(),
        }
    }
}
