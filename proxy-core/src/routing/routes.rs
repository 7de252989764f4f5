//! Compiled routes.

use std::sync::Arc;

use super::doors::Doors;
use super::header_ops::{HeaderOps, ResponseOps};
use super::host_index::HostIndex;
use super::matcher::MatcherSet;
use super::respond::StaticResponse;
use crate::request::Context;

/// The routes of a server, with an index of their hosts.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    pub(crate) list: Vec<Route>,
    pub(crate) index: HostIndex,
}

/// One route: if a matcher set matches, its handlers run.
#[derive(Debug, Default)]
pub(crate) struct Route {
    /// Of the routes of one group only the first that matches runs.
    pub(crate) group: Option<usize>,
    /// Empty: matches everything.
    pub(crate) matchers: Vec<MatcherSet>,
    pub(crate) handlers: Vec<Handler>,
    /// After this route's handlers nothing else runs.
    pub(crate) terminal: bool,
}

/// What a route does.
#[derive(Debug)]
pub(crate) enum Handler {
    Doors(Arc<Doors>),
    Headers(Box<Headers>),
    /// The proxy with this number; the pipeline knows what it stands for.
    Proxy(usize),
    Static(Box<StaticResponse>),
    Subroute(Vec<Route>),
}

/// A `header` handler.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    pub(crate) request: HeaderOps,
    pub(crate) response: Option<ResponseOps>,
}

// === impl Routes ===

impl Routes {
    pub(crate) fn new(list: Vec<Route>) -> Self {
        let index = HostIndex::new(&list);
        Self { list, index }
    }
}

// === impl Route ===

impl Route {
    pub(crate) fn matches(&self, cx: &Context) -> bool {
        self.matchers.is_empty() || self.matchers.iter().any(|set| set.matches(cx))
    }
}
