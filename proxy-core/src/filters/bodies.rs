//! Bodies around bodies, which filters put there.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use eskip::filters::{Body, BoxError, StreamBody};
use http::{Response, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};

/// What polling a body gives.
pub(super) type Polled = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

/// A body that keeps something until it has ended, failed or is dropped.
struct Holding<T> {
    body: StreamBody,
    held: Option<T>,
}

/// Keeps `held` until `body` has ended, failed or is dropped.
pub(super) fn hold<T: Send + Unpin + 'static>(body: StreamBody, held: T) -> StreamBody {
    if body.is_end_stream() {
        return body;
    }
    let held = Some(held);
    Box::pin(Holding { body, held })
}

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

/// An answer without a body.
pub(super) fn bare(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = status;
    response
}

// === impl Holding ===

impl<T: Unpin> HttpBody for Holding<T> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let frame = ready!(self.body.as_mut().poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) || self.body.is_end_stream() {
            self.held = None;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt as _;

    use super::*;
    use crate::filters::trial::pieces;

    #[tokio::test]
    async fn what_is_held_is_let_go_at_the_end_of_the_body_not_before() {
        let held = Arc::new(());
        let mut body = hold(pieces(&["a", "b"]), Arc::clone(&held));
        body.frame().await.unwrap().unwrap();
        assert_eq!(Arc::strong_count(&held), 2);
        body.frame().await.unwrap().unwrap();
        assert!(body.frame().await.is_none());
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn what_is_held_is_let_go_with_a_body_that_nobody_reads() {
        let held = Arc::new(());
        drop(hold(pieces(&["a"]), Arc::clone(&held)));
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[tokio::test]
    async fn bytes_are_counted_to_the_end_or_to_where_nobody_reads_on() {
        let (told, heard) = std::sync::mpsc::channel();
        let counted = || {
            let told = told.clone();
            count(pieces(&["ab", "c"]), move |bytes, complete| {
                told.send((bytes, complete)).unwrap();
            })
        };
        crate::filters::trial::read(counted()).await.unwrap();
        let mut left = counted();
        left.frame().await.unwrap().unwrap();
        drop(left);
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), [(3, true), (2, false)]);
    }
}
