//! A body whose beginning was read before.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::{Around, Body, BoxError};

/// A body whose first piece was taken and put back.
pub(super) struct Rejoined {
    pub(super) first: Option<Bytes>,
    pub(super) rest: Body,
}

// === impl Rejoined ===

impl HttpBody for Rejoined {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.first.take() {
            Some(data) => Poll::Ready(Some(Ok(Frame::data(data)))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, |data| data.len() as u64);
        match self.rest.size_hint().exact() {
            Some(rest) => SizeHint::with_exact(first.saturating_add(rest)),
            None => SizeHint::default(),
        }
    }
}

impl Around for Rejoined {
    fn inner(&mut self) -> &mut Body {
        &mut self.rest
    }
}
