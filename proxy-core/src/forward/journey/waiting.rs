//! What a request may have to wait for, and how it goes on then.

use std::pin::Pin;

use eskip::filters::Resume;
use http::Response;

use super::{Journey, Next, Sent};
use crate::auth::Verdict;
use crate::body::{Body, BoxError};
use crate::encode::{self, Encode};
use crate::forward::view::ClusterId;
use crate::routing::routes::Authenticate;
use crate::routing::trace::Tracer;
use crate::skipper::table::{Placed, Route};
use crate::upstream::discovery::Found;

/// Rare, and so of a size of its own: every request's future would carry the room for it.
pub(in crate::forward) type Waiting<'a> = Pin<Box<dyn Future<Output = Waited<'a>> + Send + 'a>>;

/// What was waited for.
pub(in crate::forward) enum Waited<'a> {
    /// Whether the request may pass.
    Verdict(&'a Authenticate, Verdict),
    /// The upstreams for the proxy of a number.
    Found(ClusterId, Box<Found<'a>>),
    /// The first piece of an answer that may be compressed.
    Piece {
        encode: &'a Encode,
        asked: encode::Asked,
        response: Box<Response<Body>>,
        first: Option<u64>,
    },
    /// A request's body for the proxy with this number, as much of it as is read before it is sent.
    Request {
        number: ClusterId,
        body: Result<Body, BoxError>,
    },
    /// What a filter of a request waited for; then come the rest of its route's.
    Filter {
        /// `None`: it panicked.
        resume: Option<Resume>,
        rest: &'a [Placed],
        route: &'a Route,
    },
    /// What a filter of an answer waited for.
    FilterOfAnswer {
        /// `None`: it panicked.
        resume: Option<Resume>,
        placed: &'a Placed,
        response: Box<Response<Body>>,
    },
    /// An answer and as much of its body as is read before it is passed on.
    Answer {
        sent: Box<Sent<'a>>,
        answer: Result<Box<Response<Body>>, BoxError>,
    },
}

// === impl Journey ===

impl<'a, T: Tracer<'a>> Journey<'a, T> {
    /// Goes on with what was waited for.
    pub(in crate::forward) fn resume(&mut self, waited: Waited<'a>) -> Next<'a> {
        match waited {
            Waited::Verdict(users, verdict) => match self.judge(users, verdict) {
                Some(next) => next,
                None => self.walk(),
            },
            Waited::Found(number, found) => match self.found(number, found) {
                Some(next) => next,
                None => self.walk(),
            },
            Waited::Piece {
                encode,
                asked,
                mut response,
                first,
            } => {
                encode.answer(asked, &mut response, first, &self.worker.encoders);
                self.settle(*response)
            }
            Waited::Request { number, body } => match self.buffered(number, body) {
                Some(next) => next,
                None => self.walk(),
            },
            Waited::Answer { sent, answer } => match self.answer_buffered(&sent, answer) {
                Some(next) => next,
                None => self.walk(),
            },
            Waited::Filter { resume, rest, route } => match self.filter_waited(resume, rest, route) {
                Some(next) => next,
                None => self.walk(),
            },
            Waited::FilterOfAnswer {
                resume,
                placed,
                response,
            } => self.answer_waited(resume, placed, *response),
        }
    }
}
