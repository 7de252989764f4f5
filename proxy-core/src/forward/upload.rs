//! Ends an upload whose answer is complete: nobody will read the rest of it, and its client should hear so at
//! once (RFC 9113, section 8.1; RFC 9112, section 9.6).

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::body::{Body, BoxError, OnEnd};

/// Stops the upload of one request.
#[derive(Debug)]
pub(crate) struct Upload(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// All of the body was read, or nobody reads it any more.
    ended: AtomicBool,
    stopped: AtomicBool,
    reader: AtomicWaker,
}

/// The request body of an [`Upload`]. When it is stopped it drops what it reads from, which is how the server
/// side learns that it has to end the upload, and fails, which is how the client side does.
struct Stoppable {
    body: Body,
    shared: Arc<Shared>,
}

/// Makes the body of a request one that can be stopped; `None` if there is nothing to stop.
pub(crate) fn stoppable(body: Body) -> (Body, Option<Upload>) {
    // Nobody waits for a body that is there already.
    if body.is_whole() || body.is_end_stream() {
        return (body, None);
    }
    let shared = Arc::<Shared>::default();
    let stoppable = Stoppable {
        body,
        shared: Arc::clone(&shared),
    };
    (Body::new(stoppable), Some(Upload(shared)))
}

// === impl Upload ===

impl Upload {
    /// Stops the upload as soon as `response` has ended, unless it has ended before.
    pub(crate) fn end_with(self, response: Response<Body>) -> Response<Body> {
        if self.0.ended.load(Ordering::Acquire) {
            return response;
        }
        response.map(|body| Body::new(body).on_end(Box::new(self)))
    }
}

impl OnEnd for Upload {
    fn end(self: Box<Self>, _complete: bool) {
        self.0.stopped.store(true, Ordering::Release);
        self.0.reader.wake();
    }
}

// === impl Stoppable ===

impl HttpBody for Stoppable {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.shared.reader.register(cx.waker());
        if self.shared.stopped.load(Ordering::Acquire) {
            self.body = Body::empty();
            return Poll::Ready(Some(Err("the answer is complete".into())));
        }
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.shared.ended.store(true, Ordering::Release);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Stoppable {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;
    use crate::body::read_all;

    /// A body that never says anything.
    struct Silent;

    impl HttpBody for Silent {
        type Data = Bytes;
        type Error = BoxError;

        fn poll_frame(
            self: Pin<&mut Self>,
            _cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
            Poll::Pending
        }
    }

    #[tokio::test]
    async fn the_end_of_the_answer_stops_an_open_upload() {
        let (mut body, upload) = stoppable(Body::new(Silent));
        let answer = upload.unwrap().end_with(Response::new(Body::full("answer")));
        let (answer, upload) = tokio::join!(read_all(answer.into_body()), body.frame());
        assert_eq!(answer.unwrap().0, b"answer"[..]);
        assert!(upload.unwrap().is_err());
    }

    #[tokio::test]
    async fn an_answer_that_has_ended_already_stops_the_upload_too() {
        let (mut body, upload) = stoppable(Body::new(Silent));
        let _answer = upload.unwrap().end_with(Response::new(Body::empty()));
        assert!(body.frame().await.unwrap().is_err());
    }

    #[tokio::test]
    async fn an_upload_that_has_ended_costs_the_answer_nothing() {
        let (body, upload) = stoppable(Body::new(Body::full("all of it")));
        assert_eq!(read_all(body).await.unwrap().0, b"all of it"[..]);
        let answer = upload.unwrap().end_with(Response::new(Body::full("answer")));
        assert_eq!(read_all(answer.into_body()).await.unwrap().0, b"answer"[..]);
    }

    #[test]
    fn a_body_that_is_there_has_nothing_to_stop() {
        assert!(stoppable(Body::full("all of it")).1.is_none());
    }

    #[test]
    fn a_request_without_a_body_has_nothing_to_stop() {
        assert!(stoppable(Body::empty()).1.is_none());
    }
}
