//! Bodies, as filters see them: not at all, unless they want to.

use std::error::Error;
use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use http::StatusCode;

/// Why a body failed.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// A body that comes in pieces.
pub type StreamBody = Pin<Box<dyn http_body::Body<Data = Bytes, Error = BoxError> + Send>>;

/// What a filter makes of a body.
pub type Wrap = Box<dyn FnOnce(StreamBody) -> StreamBody + Send>;

/// The body of an answer that a filter gives.
#[derive(Default)]
pub enum Body {
    /// None.
    #[default]
    Empty,
    /// All of it.
    Full(Bytes),
    /// Piece by piece.
    Stream(StreamBody),
}

/// The body of a request or an answer, which a filter may replace or wrap.
#[derive(Debug, Default)]
pub struct BodySlot {
    length: Option<u64>,
    change: Option<BodyChange>,
}

/// A body that a filter does not let through. It is the error that the body of a request ends with; the client gets the
/// status if there is no answer yet.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a filter refuses the body with {status}")]
pub struct BodyRefused {
    status: StatusCode,
}

/// What becomes of a body.
pub enum BodyChange {
    /// Another one takes its place.
    Replace(Body),
    /// It passes through this on its way.
    Wrap {
        /// What it passes through.
        wrap: Wrap,
        /// Whether it is as long as before.
        keeps_length: bool,
    },
}

// === impl Body ===

impl Body {
    /// The length in bytes, if it is known.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::Empty => Some(0),
            Self::Full(data) => Some(data.len() as u64),
            Self::Stream(body) => body.size_hint().exact(),
        }
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl From<Bytes> for Body {
    fn from(data: Bytes) -> Self {
        if data.is_empty() {
            Self::Empty
        } else {
            Self::Full(data)
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "empty",
            Self::Full(_) => "full",
            Self::Stream(_) => "stream",
        })
    }
}

// === impl BodyRefused ===

impl BodyRefused {
    /// With this status.
    #[must_use]
    pub fn new(status: StatusCode) -> Self {
        Self { status }
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

// === impl BodySlot ===

impl BodySlot {
    /// Of a body of this many bytes, if that is known.
    #[must_use]
    pub fn new(length: Option<u64>) -> Self {
        Self { length, change: None }
    }

    /// How many bytes it has, if that is known.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Puts another body in its place. Whoever runs the filters makes the field Content-Length fit.
    pub fn replace(&mut self, body: impl Into<Body>) {
        let body = body.into();
        self.length = body.length();
        self.change = Some(BodyChange::Replace(body));
    }

    /// Lets it pass through `wrap`, which may change how long it is. Whoever runs the filters removes Content-Length.
    pub fn wrap(&mut self, wrap: impl FnOnce(StreamBody) -> StreamBody + Send + 'static) {
        self.length = None;
        self.add(Box::new(wrap), false);
    }

    /// Lets it pass through `wrap`, which only looks at it or slows it down.
    pub fn watch(&mut self, wrap: impl FnOnce(StreamBody) -> StreamBody + Send + 'static) {
        self.add(Box::new(wrap), true);
    }

    /// What is to be done, for whoever runs the filters.
    pub fn take_change(&mut self) -> Option<BodyChange> {
        self.change.take()
    }

    fn add(&mut self, wrap: Wrap, keeps_length: bool) {
        self.change = Some(match self.change.take() {
            None => BodyChange::Wrap { wrap, keeps_length },
            Some(BodyChange::Replace(body)) => BodyChange::Replace(match body {
                Body::Empty if keeps_length => Body::Empty,
                Body::Empty => Body::Stream(wrap(Box::pin(Whole(None)))),
                Body::Full(data) => Body::Stream(wrap(Box::pin(Whole(Some(data))))),
                Body::Stream(body) => Body::Stream(wrap(body)),
            }),
            Some(BodyChange::Wrap {
                wrap: first,
                keeps_length: kept,
            }) => BodyChange::Wrap {
                wrap: Box::new(move |body| wrap(first(body))),
                keeps_length: kept && keeps_length,
            },
        });
    }
}

impl fmt::Debug for BodyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replace(body) => f.debug_tuple("Replace").field(body).finish(),
            Self::Wrap { keeps_length, .. } => f
                .debug_struct("Wrap")
                .field("keeps_length", keeps_length)
                .finish(),
        }
    }
}

/// A body that is there as a whole.
struct Whole(Option<Bytes>);

impl http_body::Body for Whole {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, BoxError>>> {
        std::task::Poll::Ready(self.0.take().map(|data| Ok(http_body::Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        http_body::SizeHint::with_exact(self.0.as_ref().map_or(0, |data| data.len() as u64))
    }
}
