//! The body of a request, as a service has it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::error::BodyError;

/// The body of a request.
///
/// It is read from the connection as it is asked for. A body that ends early is an error, never a clean end.
pub struct RequestBody(Kind);

enum Kind {
    Empty,
    Full(Bytes),
    Stream(Arc<dyn Source>, u64),
}

/// A connection that gives the body of its request with some number.
pub(super) trait Source: Send + Sync {
    fn poll_body(&self, number: u64, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>>;
    /// How many bytes are left, if that is known.
    fn remaining(&self, number: u64) -> Option<u64>;
    fn is_complete(&self, number: u64) -> bool;
    /// Nobody reads the body any more.
    fn leave(&self, number: u64);
}

// === impl RequestBody ===

impl RequestBody {
    /// A body without data.
    pub fn empty() -> Self {
        Self(Kind::Empty)
    }

    pub(super) fn full(data: Bytes) -> Self {
        Self(Kind::Full(data))
    }

    pub(super) fn stream(source: Arc<dyn Source>, number: u64) -> Self {
        Self(Kind::Stream(source, number))
    }

    /// The whole body, if it came with its head.
    pub fn whole(&mut self) -> Option<Bytes> {
        match &mut self.0 {
            Kind::Empty => Some(Bytes::new()),
            Kind::Full(data) => {
                let data = std::mem::take(data);
                self.0 = Kind::Empty;
                Some(data)
            }
            Kind::Stream(..) => None,
        }
    }
}

impl http_body::Body for RequestBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &self.0 {
            Kind::Stream(source, number) => source.poll_body(*number, cx),
            Kind::Empty => Poll::Ready(None),
            Kind::Full(_) => Poll::Ready(self.whole().map(|data| Ok(Frame::data(data)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Empty => true,
            Kind::Full(_) => false,
            Kind::Stream(source, number) => source.is_complete(*number),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Full(data) => SizeHint::with_exact(data.len() as u64),
            Kind::Stream(source, number) => source
                .remaining(*number)
                .map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Kind::Stream(source, number) = &self.0 {
            source.leave(*number);
        }
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.0 {
            Kind::Empty => "empty",
            Kind::Full(_) => "full",
            Kind::Stream(..) => "stream",
        };
        f.debug_tuple("RequestBody").field(&kind).finish()
    }
}
