//! The first piece of a body, looked at before the head of the answer goes out.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::body::{Around, Body, BoxError};

/// How long a head may be held up for it. Whoever answers with a short text sends it along with the head;
/// whoever does not has a stream, whose head must not wait.
const WAIT: Duration = Duration::from_millis(50);

type Polled = Option<Result<Frame<Bytes>, BoxError>>;

/// A body whose first piece was looked at.
struct Begun {
    first: Option<Polled>,
    body: Body,
}

/// Waits a short while for the first piece of the body, and gives its length. Nothing of the body is lost.
pub(crate) async fn first_piece(response: &mut Response<Body>) -> Option<u64> {
    let mut body = std::mem::replace(response.body_mut(), Body::empty());
    let next = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
    let first = tokio::time::timeout(WAIT, next).await.ok();
    let length = first.as_ref().map(|polled| match polled {
        Some(Ok(frame)) => frame.data_ref().map_or(0, |data| data.len() as u64),
        Some(Err(_)) | None => 0,
    });
    *response.body_mut() = match first {
        Some(first) => Body::around(Begun {
            first: Some(first),
            body,
        }),
        None => body,
    };
    length
}

impl HttpBody for Begun {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Polled> {
        match self.first.take() {
            Some(first) => Poll::Ready(first),
            None => Pin::new(&mut self.body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.first {
            None => self.body.is_end_stream(),
            Some(first) => first.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        // What was looked at is of unknown length, and so is the rest.
        SizeHint::default()
    }
}

impl Around for Begun {
    fn inner(&mut self) -> &mut Body {
        &mut self.body
    }
}
