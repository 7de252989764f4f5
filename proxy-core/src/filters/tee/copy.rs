//! A copy of a body that is made while the body passes. If whoever takes the copy is slow it is cut; the body never waits
//! for it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use eskip::filters::{BoxError, StreamBody};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::oneshot;

use crate::filters::bodies::Polled;

/// Bytes that may wait for who takes the copy.
const MOST: usize = 128 * 1024;

/// What a copied body is read from.
#[derive(Debug)]
pub(crate) struct Copy {
    shared: Arc<Mutex<Shared>>,
    length: Option<u64>,
}

/// A body that is copied while it passes.
struct Copied {
    body: StreamBody,
    /// `None` once there is nothing more to copy.
    writer: Option<Writer>,
}

/// Dropping it cuts a copy that is not complete.
struct Writer {
    shared: Arc<Mutex<Shared>>,
    /// Dropped when there is nothing more to come.
    _ended: oneshot::Sender<()>,
}

#[derive(Debug, Default)]
struct Shared {
    data: VecDeque<Bytes>,
    bytes: usize,
    end: End,
    reader: Option<Waker>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum End {
    #[default]
    NotYet,
    /// All of the body is there.
    Complete,
    /// The copy is worth nothing.
    Cut,
}

/// Copies `body`, which is `length` bytes long if that is known. The receiver hears, by an error, when nothing more is
/// going to be copied.
pub(crate) fn copy(body: StreamBody, length: Option<u64>) -> (StreamBody, Copy, oneshot::Receiver<()>) {
    let shared = Arc::new(Mutex::new(Shared::default()));
    let (ended, end) = oneshot::channel();
    let reader = Copy {
        shared: Arc::clone(&shared),
        length,
    };
    let writer = Writer {
        shared,
        _ended: ended,
    };
    let is_empty = body.is_end_stream();
    if is_empty {
        writer.finish(End::Complete);
    }
    let writer = (!is_empty).then_some(writer);
    (Box::pin(Copied { body, writer }), reader, end)
}

// === impl Copied ===

impl HttpBody for Copied {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let frame = ready!(self.body.as_mut().poll_frame(cx));
        let is_last = self.body.is_end_stream();
        let Some(writer) = &self.writer else {
            return Poll::Ready(frame);
        };
        let end = match &frame {
            Some(Ok(frame)) => match frame.data_ref() {
                Some(data) if !writer.push(data) => End::Cut,
                _ if is_last => End::Complete,
                _ => End::NotYet,
            },
            Some(Err(_)) => End::Cut,
            None => End::Complete,
        };
        if end != End::NotYet {
            writer.finish(end);
            self.writer = None;
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

// === impl Writer ===

impl Writer {
    /// `false` if there is no room, or nobody who takes it.
    fn push(&self, data: &Bytes) -> bool {
        let mut shared = lock(&self.shared);
        let is_wanted = shared.end == End::NotYet && Arc::strong_count(&self.shared) > 1;
        let bytes = shared.bytes.saturating_add(data.len());
        if !is_wanted || bytes > MOST {
            return false;
        }
        shared.bytes = bytes;
        if !data.is_empty() {
            // A copy of its own, as a piece may be a small part of a large buffer.
            shared.data.push_back(Bytes::copy_from_slice(data));
            shared.wake();
        }
        true
    }

    fn finish(&self, end: End) {
        let mut shared = lock(&self.shared);
        if shared.end == End::NotYet {
            shared.end = end;
            if end == End::Cut {
                shared.data.clear();
            }
            shared.wake();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.finish(End::Cut);
    }
}

// === impl Shared ===

impl Shared {
    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

// === impl Copy ===

impl HttpBody for Copy {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Polled {
        let mut shared = lock(&self.shared);
        if let Some(data) = shared.data.pop_front() {
            shared.bytes -= data.len();
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        match shared.end {
            End::NotYet => {
                shared.reader = Some(cx.waker().clone());
                Poll::Pending
            }
            End::Complete => Poll::Ready(None),
            End::Cut => Poll::Ready(Some(Err("the copy was cut".into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        let shared = lock(&self.shared);
        shared.end == End::Complete && shared.data.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use http_body_util::BodyExt as _;

    use super::*;
    use crate::filters::trial::{pieces, read};

    #[tokio::test]
    async fn a_copy_has_what_the_body_has() {
        let (body, copy, end) = copy(pieces(&["a", "", "bc"]), None);
        assert_eq!(read(body).await.unwrap().concat(), b"abc");
        assert!(end.await.is_err(), "nothing more is copied");
        assert_eq!(read(Box::pin(copy)).await.unwrap(), ["a", "bc"]);
    }

    #[tokio::test]
    async fn a_copy_that_nobody_takes_is_cut_and_the_body_goes_on() {
        let large: &'static str = Box::leak("x".repeat(MOST / 2).into_boxed_str());
        let (body, copy, _) = copy(pieces(&[large, large, "y", "z"]), None);
        assert_eq!(read(body).await.unwrap().concat().len(), MOST + 2);
        assert!(lock(&copy.shared).data.is_empty());
        assert!(read(Box::pin(copy)).await.is_err());
    }

    #[tokio::test]
    async fn a_copy_of_a_body_that_ends_early_is_cut() {
        let (mut body, mut copy, mut end) = copy(pieces(&["a", "b"]), Some(2));
        body.frame().await.unwrap().unwrap();
        copy.frame().await.unwrap().unwrap();
        let mut next = Box::pin(copy.frame());
        assert!((&mut next).now_or_never().is_none() && end.try_recv().is_err());
        drop(body);
        assert!(next.await.unwrap().is_err());
    }

    #[tokio::test]
    async fn nothing_is_kept_for_who_has_left() {
        let (mut body, copy, mut end) = copy(pieces(&["a", "b"]), None);
        drop(copy);
        body.frame().await.unwrap().unwrap();
        assert_eq!(end.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert_eq!(read(body).await.unwrap(), ["b"]);
    }

    #[tokio::test]
    async fn an_empty_body_has_an_empty_copy() {
        let empty: StreamBody = Box::pin(http_body_util::Empty::new().map_err(|never| match never {}));
        let (_, copy, end) = copy(empty, None);
        assert!(copy.is_end_stream() && end.await.is_err());
    }
}
