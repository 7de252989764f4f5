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
}
