//! Limits on a whole body, for those who configure them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http1_codec::server::Command;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use super::connection::ConnState;
use super::sweep::TICK;
use crate::body::{Around, Body, BoxError};
use crate::error::{Reason, TooLong, TookTooLong};

struct Limited {
    body: Body,
    deadline: Pin<Box<Sleep>>,
    _watch: Option<AbortOnDropHandle<()>>,
}

/// `body`, which fails when it is not complete within `limit`. Without a limit, and if all of it is there, it stays as it
/// is.
pub(crate) fn within(body: Body, limit: Option<Duration>) -> Body {
    match limit {
        Some(limit) if !body.is_whole() && !body.is_end_stream() && !limit.is_zero() => {
            Body::around(Limited {
                body,
                deadline: Box::pin(sleep(limit)),
                _watch: None,
            })
        }
        _ => body,
    }
}

/// `body` on its way to a client, which has `limit` for all of it. `watch` ends with it.
pub(crate) fn taken_within(body: Body, limit: Duration, watch: Option<AbortOnDropHandle<()>>) -> Body {
    Body::around(Limited {
        body,
        deadline: Box::pin(sleep(limit)),
        _watch: watch,
    })
}

/// Closes the connection soon after `limit`: while a client takes nothing nobody asks for more of the body, and so it
/// cannot fail.
pub(crate) async fn close_after(limit: Duration, state: Arc<ConnState>) {
    sleep(limit.saturating_add(TICK)).await;
    state.cut(Reason::Stalled);
    state.command(Command::Close);
}

/// `body`, which fails when it is not complete at `deadline`.
pub(crate) fn until(body: Body, deadline: Instant) -> Body {
    if body.is_whole() || body.is_end_stream() {
        return body;
    }
    let deadline = Box::pin(sleep_until(deadline));
    Body::around(Limited {
        body,
        deadline,
        _watch: None,
    })
}

struct Measured {
    body: Body,
    left: u64,
}

/// `body`, which fails as soon as more than `most` bytes of it have come.
pub(crate) fn up_to(body: Body, most: u64) -> Body {
    Body::around(Measured { body, left: most })
}

impl HttpBody for Measured {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let length = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, |data| data.len() as u64),
            Some(Err(_)) | None => 0,
        };
        match self.left.checked_sub(length) {
            Some(left) => {
                self.left = left;
                Poll::Ready(frame)
            }
            None => Poll::Ready(Some(Err(TooLong.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Around for Measured {
    fn inner(&mut self) -> &mut Body {
        &mut self.body
    }
}

impl HttpBody for Limited {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.deadline.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(TookTooLong.into())));
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Around for Limited {
    fn inner(&mut self) -> &mut Body {
        &mut self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::read_all;

    struct Silent;

    impl HttpBody for Silent {
        type Data = Bytes;
        type Error = BoxError;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_takes_too_long_fails() {
        let error = read_all(within(Body::new(Silent), Some(Duration::from_secs(9))))
            .await
            .unwrap_err();
        assert!(error.is::<TookTooLong>());
    }

    #[tokio::test]
    async fn a_body_that_is_longer_than_it_may_be_fails() {
        let chunks = || {
            Body::new(http_body_util::StreamBody::new(futures_util::stream::iter(
                ["ab", "cd"].map(|data| Ok::<_, BoxError>(Frame::data(Bytes::from(data)))),
            )))
        };
        assert_eq!(read_all(up_to(chunks(), 4)).await.unwrap().0, b"abcd");
        assert!(read_all(up_to(chunks(), 3)).await.unwrap_err().is::<TooLong>());
    }

    #[tokio::test]
    async fn a_body_in_time_is_untouched() {
        let body = within(Body::full("abc"), Some(Duration::from_secs(9)));
        assert_eq!(read_all(body).await.unwrap().0, b"abc");
    }
}
