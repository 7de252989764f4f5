//! The one body type of the pipeline: whatever is streamed through, in either direction.

mod rejoined;

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use eskip::filters;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use http1_codec::Upgraded;
use http1_codec::client::{Outgoing, Streaming};
use http1_codec::server::RequestBody;
use hyper::body::Incoming;

use self::rejoined::Rejoined;
use crate::forward::pods::Visit;
use crate::http::trailers::Way;
use crate::upstream::channel::GiveBack;
use crate::upstream::connect::Io;
use crate::upstream::load::InFlight;

/// Any error of a foreign body.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// A request or response body. Data passes through as it comes; nothing is buffered.
///
/// A body that ends early yields an error, never a clean end, so that a cut message is not taken for a
/// complete one. Trailer fields that could change framing, routing or credentials are dropped
/// (RFC 9110, section 6.5.1); those of a request that goes to an upstream are, unless they are made to trail.
pub struct Body {
    kind: Kind,
    way: Way,
    on_end: Option<Box<dyn OnEnd>>,
    held: Option<Held>,
}

/// What is counted for as long as an answer's body has not ended.
#[derive(Debug)]
#[expect(dead_code, reason = "what is held ends when it is dropped")]
pub(crate) enum Held {
    /// A request to an upstream.
    Upstream(InFlight),
    /// A request to a pod.
    Pod(Visit),
}

enum Kind {
    Empty,
    Full(Bytes),
    /// Of a client, over HTTP/1.
    Client(RequestBody),
    /// Of an upstream, over HTTP/1.
    Upstream(Streaming<Io, Body, Option<GiveBack>>),
    /// Of either, over HTTP/2.
    Incoming(Incoming),
    /// No body: the connection of an upstream that speaks another protocol from now on.
    Upgraded(Box<Upgraded<Io>>),
    Foreign(UnsyncBoxBody<Bytes, BoxError>),
    /// Another one, with something around it.
    Around(Box<dyn Around>),
}

/// A body that is another one with something around it.
pub(crate) trait Around: HttpBody<Data = Bytes, Error = BoxError> + Send + Unpin {
    /// What it is around.
    fn inner(&mut self) -> &mut Body;
}

/// Told once how a body ended: `complete` if all of it was read, else it was dropped or failed.
pub(crate) trait OnEnd: Send {
    fn end(self: Box<Self>, complete: bool);
}

// === impl Body ===

impl Body {
    /// A body without data.
    pub fn empty() -> Self {
        Kind::Empty.into()
    }

    /// A body of one piece.
    pub fn full(data: impl Into<Bytes>) -> Self {
        let data = data.into();
        if data.is_empty() {
            Self::empty()
        } else {
            Kind::Full(data).into()
        }
    }

    /// Any other body, such as that of another web framework.
    pub fn new<B>(body: B) -> Self
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Kind::Foreign(body.map_err(Into::into).boxed_unsync()).into()
    }

    /// Calls `on_end` once when the body ended, failed or was dropped.
    pub(crate) fn on_end(mut self, on_end: Box<dyn OnEnd>) -> Self {
        debug_assert!(self.on_end.is_none(), "wrap the body instead");
        if self.is_end_stream() {
            on_end.end(true);
        } else {
            self.on_end = Some(on_end);
        }
        self
    }

    /// Counts the answer until the body has ended, failed or was dropped.
    pub(crate) fn hold(&mut self, held: Held) {
        self.held = Some(held);
    }

    /// What the body was to hold, for what follows it.
    pub(crate) fn release(&mut self) -> Option<Held> {
        self.held.take()
    }

    /// The body of a request that goes to an upstream.
    pub(crate) fn upwards(mut self) -> Self {
        self.way = Way::Up;
        self
    }

    /// A body around another one, for whose sake an upload still goes on while nobody takes it.
    pub(crate) fn around(body: impl Around + 'static) -> Self {
        Kind::Around(Box::new(body)).into()
    }

    /// A body whose first piece was read already.
    pub(crate) fn rejoined(first: Bytes, rest: Self) -> Self {
        Self::around(Rejoined {
            first: Some(first).filter(|first| !first.is_empty()),
            rest,
        })
    }

    /// What follows the head of a 101.
    pub(crate) fn upgraded(connection: Upgraded<Io>) -> Self {
        Kind::Upgraded(Box::new(connection)).into()
    }

    /// Takes what [`Body::upgraded`] was given.
    pub(crate) fn take_upgraded(&mut self) -> Option<Upgraded<Io>> {
        match std::mem::replace(&mut self.kind, Kind::Empty) {
            Kind::Upgraded(connection) => Some(*connection),
            other => {
                self.kind = other;
                None
            }
        }
    }

    /// The same body once more, if all of it is there.
    pub(crate) fn copy(&self) -> Option<Self> {
        let kind = match &self.kind {
            Kind::Empty => Kind::Empty,
            Kind::Full(data) => Kind::Full(data.clone()),
            _ if self.is_end_stream() => Kind::Empty,
            _ => return None,
        };
        let mut copy = Self::from(kind);
        copy.way = self.way;
        Some(copy)
    }

    /// Whether all of it is there.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.kind, Kind::Empty | Kind::Full(_))
    }

    fn without_forbidden_trailers(&self, frame: Frame<Bytes>) -> Frame<Bytes> {
        match frame.into_trailers() {
            Ok(mut trailers) => {
                self.way.strip(&mut trailers);
                Frame::trailers(trailers)
            }
            Err(frame) => frame,
        }
    }

    fn finish(&mut self, complete: bool) {
        self.held = None;
        if let Some(on_end) = self.on_end.take() {
            on_end.end(complete);
        }
    }

    fn poll_inner(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.kind {
            Kind::Empty | Kind::Upgraded(_) => Poll::Ready(None),
            Kind::Full(data) => {
                let data = std::mem::take(data);
                self.kind = Kind::Empty;
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Kind::Client(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            Kind::Upstream(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            Kind::Incoming(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            Kind::Foreign(body) => Pin::new(body).poll_frame(cx),
            Kind::Around(body) => Pin::new(body).poll_frame(cx),
        }
    }
}

impl From<Kind> for Body {
    fn from(kind: Kind) -> Self {
        Self {
            kind,
            way: Way::Down,
            on_end: None,
            held: None,
        }
    }
}

impl From<RequestBody> for Body {
    fn from(mut body: RequestBody) -> Self {
        match body.whole() {
            Some(data) => Self::full(data),
            None => Kind::Client(body).into(),
        }
    }
}

impl From<Streaming<Io, Self, Option<GiveBack>>> for Body {
    fn from(body: Streaming<Io, Self, Option<GiveBack>>) -> Self {
        Kind::Upstream(body).into()
    }
}

impl From<filters::Body> for Body {
    fn from(body: filters::Body) -> Self {
        match body {
            filters::Body::Empty => Self::empty(),
            filters::Body::Full(data) => Self::full(data),
            filters::Body::Stream(stream) => Self::new(stream),
        }
    }
}

impl From<Incoming> for Body {
    fn from(body: Incoming) -> Self {
        if body.is_end_stream() {
            Self::empty()
        } else {
            Kind::Incoming(body).into()
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = match ready!(self.poll_inner(cx)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => {
                self.finish(false);
                return Poll::Ready(Some(Err(error)));
            }
            None => {
                self.finish(true);
                return Poll::Ready(None);
            }
        };
        if self.is_end_stream() {
            self.finish(true);
        }
        Poll::Ready(Some(Ok(self.without_forbidden_trailers(frame))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Empty | Kind::Upgraded(_) => true,
            Kind::Full(_) => false,
            Kind::Client(body) => body.is_end_stream(),
            Kind::Upstream(body) => body.is_end_stream(),
            Kind::Incoming(body) => body.is_end_stream(),
            Kind::Foreign(body) => body.is_end_stream(),
            Kind::Around(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Empty | Kind::Upgraded(_) => SizeHint::with_exact(0),
            Kind::Full(data) => SizeHint::with_exact(data.len() as u64),
            Kind::Client(body) => body.size_hint(),
            Kind::Upstream(body) => body.size_hint(),
            Kind::Incoming(body) => body.size_hint(),
            Kind::Foreign(body) => body.size_hint(),
            Kind::Around(body) => body.size_hint(),
        }
    }
}

impl Outgoing for Body {
    fn put_back(&mut self, data: Bytes) {
        let rest = std::mem::replace(&mut self.kind, Kind::Empty);
        self.kind = match rest {
            Kind::Empty => Kind::Full(data),
            rest => Kind::Around(Box::new(Rejoined {
                first: Some(data),
                rest: rest.into(),
            })),
        };
    }
}

impl http1_codec::server::Body for Body {
    fn poll_aside(&mut self, cx: &mut Context<'_>) {
        match &mut self.kind {
            Kind::Upstream(body) => body.poll_upload(cx),
            Kind::Around(body) => body.inner().poll_aside(cx),
            _ => {}
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.finish(false);
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
            Kind::Empty => "empty",
            Kind::Full(_) => "full",
            Kind::Upgraded(_) => "upgraded",
            Kind::Client(_) | Kind::Upstream(_) | Kind::Incoming(_) | Kind::Foreign(_) | Kind::Around(_) => {
                "stream"
            }
        };
        f.debug_tuple("Body").field(&kind).finish()
    }
}

/// The data and the trailers of a body.
#[cfg(test)]
pub(crate) async fn read_all(mut body: Body) -> Result<(Vec<u8>, Option<http::HeaderMap>), BoxError> {
    let (mut data, mut trailers) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        match frame?.into_data() {
            Ok(piece) => data.extend_from_slice(&piece),
            Err(other) => trailers = other.into_trailers().ok(),
        }
    }
    Ok((data, trailers))
}

#[cfg(test)]
mod tests;
