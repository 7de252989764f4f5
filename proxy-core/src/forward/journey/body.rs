//! The body of a client's request, among the routes.

use http::header;
use http_body::Body as _;

use super::{Journey, Next};
use crate::body::Body;
use crate::error::Reason;
use crate::http::limit;
use crate::routing::template::Template;
use crate::routing::trace::Tracer;

/// The client's body.
pub(super) enum RequestBody {
    Whole(Body),
    /// One upstream has it.
    Spent,
}

// === impl Journey ===

impl<'a, T: Tracer<'a>> Journey<'a, T> {
    pub(super) fn limit_body(&mut self, most: u64) -> Option<Next<'a>> {
        let RequestBody::Whole(body) = &mut self.body else {
            return None;
        };
        let length = body.size_hint();
        if length.lower() > most {
            return self.fail(Reason::BodyTooLong.into());
        }
        if length.exact().is_none() {
            let unlimited = std::mem::replace(body, Body::empty());
            *body = limit::up_to(unlimited, most);
        }
        None
    }

    pub(super) fn set_body(&mut self, text: &Template) {
        let text = text.render(&self.cx);
        let headers = &mut self.cx.parts.headers;
        headers.remove(header::TRANSFER_ENCODING);
        headers.insert(header::CONTENT_LENGTH, text.len().into());
        self.body = RequestBody::Whole(Body::full(text));
    }
}

// === impl RequestBody ===

impl RequestBody {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Spent => false,
        }
    }

    /// How long it is, if that is known.
    pub(super) fn length(&self) -> Option<u64> {
        match self {
            Self::Whole(body) => body.size_hint().exact(),
            Self::Spent => None,
        }
    }

    pub(super) fn is_spent(&self) -> bool {
        matches!(self, Self::Spent)
    }

    /// The body, if not all of it is there.
    pub(super) fn take_coming(&mut self) -> Option<Body> {
        match self {
            Self::Whole(body) if !body.is_whole() && !body.is_end_stream() => {
                Some(std::mem::replace(body, Body::empty()))
            }
            Self::Whole(_) | Self::Spent => None,
        }
    }

    /// The body, for the one upstream that gets it. An empty one is for all.
    pub(super) fn take(&mut self) -> Option<Body> {
        match self {
            Self::Whole(body) if body.is_end_stream() => Some(Body::empty()),
            Self::Whole(_) => match std::mem::replace(self, Self::Spent) {
                Self::Whole(body) => Some(body),
                Self::Spent => None,
            },
            Self::Spent => None,
        }
    }
}
