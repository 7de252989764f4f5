//! What a `reverse_proxy` does with requests and answers, beside sending them.

use std::time::Duration;

use super::before::Resend;
use super::query::Query;
use super::selection::Selection;
use crate::ip_set::IpSet;
use crate::response_matcher::ResponseMatcher;
use crate::routing::header_ops::{HeaderOps, ResponseOps};
use crate::routing::respond::Status;
use crate::routing::rewrite::Rewrite;
use crate::routing::routes::Route;

/// The part of a compiled `reverse_proxy` that changes heads; its upstreams are in the cluster of the same number.
#[derive(Debug)]
pub(crate) struct Proxy {
    /// Another method or target for the request that is sent.
    pub(crate) rewrite: Option<Rewrite>,
    /// Changes to the request that is sent.
    pub(crate) up: Option<Up>,
    /// Changes to the answer that came.
    pub(crate) down: Option<ResponseOps>,
    /// What is done with certain answers; the first that matches.
    pub(crate) answers: Vec<Answers>,
    /// Peers that are believed beside those of the server.
    pub(crate) trusted: Option<IpSet>,
    /// Which upstream is taken.
    pub(crate) selection: Selection,
    /// What is sent again although it may have reached an application.
    pub(crate) resend: Option<Resend>,
    /// How much of a request's body is read before an upstream is chosen.
    pub(crate) request_buffer: Option<u64>,
    /// How much of an answer's body is read before anything is done with the answer.
    pub(crate) response_buffer: Option<u64>,
    pub(crate) streams: Streams,
    /// What the sources of its upstreams are asked for, by number.
    pub(crate) queries: Vec<Query>,
    /// How long an upstream has for everything: the connection, the head and the body of its answer.
    pub(crate) deadline: Option<Duration>,
    /// Upstreams are not told who the client is. Whoever wants that sets the fields itself.
    pub(crate) is_silent: bool,
    /// Requests name the whole URL, as a proxy expects it.
    pub(crate) absolute: bool,
}

/// What is kept to with upgraded connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streams {
    /// How long they may stay open.
    pub(crate) timeout: Option<Duration>,
    /// How long they may stay open at least after their listener has gone.
    pub(crate) close_delay: Duration,
    /// Bytes of the buffer for each direction.
    pub(crate) buffer: usize,
}

/// One that changes nothing.
pub(crate) static PLAIN: Proxy = Proxy::plain();

// === impl Proxy ===

impl Proxy {
    /// One that changes nothing.
    pub(crate) const fn plain() -> Self {
        Self {
            rewrite: None,
            up: None,
            down: None,
            answers: Vec::new(),
            trusted: None,
            selection: Selection::RANDOM,
            resend: None,
            request_buffer: None,
            response_buffer: None,
            streams: Streams::DEFAULT,
            queries: Vec::new(),
            deadline: None,
            is_silent: false,
            absolute: false,
        }
    }
}

// === impl Streams ===

impl Streams {
    pub(crate) const DEFAULT: Self = Self {
        timeout: None,
        close_delay: Duration::ZERO,
        buffer: 8 * 1024,
    };
}

/// Changes to the fields of a request that is sent.
#[derive(Debug)]
pub(crate) struct Up {
    pub(crate) ops: HeaderOps,
    /// Placeholders tell of the request, so it is needed while it is sent.
    pub(crate) needs_request: bool,
    /// Placeholders tell of the upstream, so the changes are made anew for each that is tried.
    pub(crate) per_upstream: bool,
}

/// What is done with certain answers of an upstream.
#[derive(Debug)]
pub(crate) struct Answers {
    /// Which; by default all.
    pub(crate) only: ResponseMatcher,
    pub(crate) then: Then,
}

/// What is done with an answer.
#[derive(Debug)]
pub(crate) enum Then {
    /// It is passed on with this status.
    Status(Status),
    /// These routes decide. What they leave unanswered goes on behind the proxy.
    Routes(Vec<Route>),
}
