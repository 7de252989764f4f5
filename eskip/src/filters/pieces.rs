//! Bodies that are all there, for tests.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as _, Frame};

use super::body::{Body, BodyChange, BodySlot, BoxError, StreamBody};

/// A body that comes in these pieces.
pub(crate) struct Pieces(VecDeque<Frame<Bytes>>);

// === impl Pieces ===

impl Pieces {
    pub(crate) fn of<T: Into<Bytes>>(pieces: impl IntoIterator<Item = T>) -> Self {
        Self(
            pieces
                .into_iter()
                .map(|piece| Frame::data(piece.into()))
                .collect(),
        )
    }

    pub(crate) fn with_trailers(mut self, trailers: HeaderMap) -> Self {
        self.0.push_back(Frame::trailers(trailers));
        self
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

/// All of a body that never waits.
pub(crate) fn read(
    body: Pin<&mut (dyn http_body::Body<Data = Bytes, Error = BoxError> + Send)>,
) -> Result<Bytes, BoxError> {
    pieces(body).map(|pieces| pieces.concat().into())
}

/// All of a body that never waits, in its pieces.
pub(crate) fn pieces(
    mut body: Pin<&mut (dyn http_body::Body<Data = Bytes, Error = BoxError> + Send)>,
) -> Result<Vec<Bytes>, BoxError> {
    let mut cx = Context::from_waker(Waker::noop());
    let mut pieces = Vec::new();
    while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
        pieces.extend(frame?.into_data().ok());
    }
    Ok(pieces)
}

/// What becomes of a body that comes in these pieces.
pub(crate) fn passed<T: Into<Bytes>>(
    slot: &mut BodySlot,
    given: impl IntoIterator<Item = T>,
) -> Result<Vec<Bytes>, BoxError> {
    let given: StreamBody = Box::pin(Pieces::of(given));
    let mut body = match slot.take_change() {
        None => given,
        Some(BodyChange::Wrap { wrap, .. }) => wrap(given),
        Some(BodyChange::Replace(Body::Empty)) => return Ok(Vec::new()),
        Some(BodyChange::Replace(Body::Full(data))) => return Ok(vec![data]),
        Some(BodyChange::Replace(Body::Stream(body))) => body,
    };
    assert!(!body.is_end_stream() || body.size_hint().exact() == Some(0));
    pieces(body.as_mut())
}

/// All ways to cut an ASCII text into three.
pub(crate) fn cuts(text: &'static str) -> Vec<[&'static str; 3]> {
    let mut cuts = Vec::new();
    for second in 0..=text.len() {
        let (begin, end) = text.split_at(second);
        cuts.extend((0..=second).map(|first| [begin.split_at(first).0, begin.split_at(first).1, end]));
    }
    cuts
}
