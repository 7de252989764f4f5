//! Bodies whose bytes are counted, for tests.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use eskip::filters::{BoxError, StreamBody};
use http_body::{Body as HttpBody, SizeHint};

use super::bodies::Polled;

/// A body whose bytes are counted.
struct Counting<F: FnOnce(u64, bool)> {
    body: StreamBody,
    bytes: u64,
    end: Option<F>,
}

/// Calls `end` once with the number of bytes when `body` has ended, failed or is dropped, and whether all of it came.
pub(super) fn count(body: StreamBody, end: impl FnOnce(u64, bool) + Send + Unpin + 'static) -> StreamBody {
    Box::pin(Counting {
        body,
        bytes: 0,
        end: Some(end),
    })
}

// === impl Counting ===

impl<F: FnOnce(u64, bool)> Counting<F> {
    fn finish(&mut self, complete: bool) {
        if let Some(end) = self.end.take() {
            end(self.bytes, complete);
        }
    }
}

impl<F: FnOnce(u64, bool) + Unpin> HttpBody for Counting<F> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let frame = ready!(self.body.as_mut().poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                let length = frame.data_ref().map_or(0, |data| data.len() as u64);
                self.bytes = self.bytes.saturating_add(length);
                if self.body.is_end_stream() {
                    self.finish(true);
                }
            }
            Some(Err(_)) => self.finish(false),
            None => self.finish(true),
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

impl<F: FnOnce(u64, bool)> Drop for Counting<F> {
    fn drop(&mut self) {
        let complete = self.body.is_end_stream();
        self.finish(complete);
    }
}
