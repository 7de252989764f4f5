//! Compiled routes.

use std::sync::Arc;

use super::copy::CopyFields;
use super::doors::Doors;
use super::geo::Geo;
use super::header_ops::{HeaderOps, ResponseOps};
use super::host_index::HostIndex;
use super::map::Map;
use super::matcher::{self, Matched, MatcherSet};
use super::respond::{Raise, StaticResponse, Status};
use super::rewrite::Rewrite;
use super::slots::Slot;
use super::template::Template;
use super::vars::Assign;
use crate::auth::BasicAuth;
use crate::encode::Encode;
use crate::request::Context;

/// The routes of a server, with an index of their hosts.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    pub(crate) list: Vec<Route>,
    /// `None`: no route names a host.
    pub(super) index: Option<Box<HostIndex>>,
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
    /// The number under which its requests are counted, if they are.
    pub(crate) counted: Option<usize>,
}

/// What a route does.
#[derive(Debug)]
pub(crate) enum Handler {
    Authenticate(Box<Authenticate>),
    /// Answers with the answer that was caught, with another status if one is given.
    CopyResponse(Option<Status>),
    CopyFields(Box<CopyFields>),
    Doors(Arc<Doors>),
    Encode(Box<Encode>),
    Geo(Box<Geo>),
    Headers(Box<Headers>),
    /// A named route, by its number.
    Invoke(usize),
    /// A request body may have this many bytes.
    LimitBody(u64),
    Map(Box<Destinations>),
    Metrics(Metrics),
    /// The proxy with this number; the pipeline knows what it stands for.
    Proxy(usize),
    Raise(Box<Raise>),
    Rewrite(Box<Rewrite>),
    /// Skipper's routes: the table of this number.
    Skipper(usize),
    /// A body instead of the client's.
    SetBody(Box<Template>),
    Static(Box<StaticResponse>),
    Subroute(Box<Subroute>),
    Vars(Box<[Assign]>),
}

/// Routes inside a route.
#[derive(Debug, Default)]
pub(crate) struct Subroute {
    pub(crate) routes: Vec<Route>,
    /// Run when one of `routes`, or what follows them, ends with an error.
    pub(crate) errors: Option<Vec<Route>>,
}

/// `authentication`.
#[derive(Debug)]
pub(crate) struct Authenticate {
    /// `None`: nobody may pass.
    pub(crate) basic: Option<BasicAuth>,
    /// Where the name of the user goes.
    pub(crate) user: Slot,
}

/// A `map` and the places of its destinations.
#[derive(Debug)]
pub(crate) struct Destinations {
    pub(crate) map: Arc<Map>,
    pub(crate) slots: Vec<Slot>,
}

/// A `headers` handler.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    pub(crate) request: HeaderOps,
    /// Whether the request's host may be changed.
    pub(crate) touches_host: bool,
    pub(crate) response: Option<ResponseOps>,
}

/// The answer with the numbers of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Metrics {
    /// Whether clients that ask for OpenMetrics get it.
    pub(crate) open_metrics: bool,
}

// === impl Routes ===

impl Routes {
    pub(crate) fn new(list: Vec<Route>) -> Self {
        let names_hosts = list
            .iter()
            .flat_map(|route| &route.matchers)
            .any(|set| set.host.is_some());
        let index = names_hosts.then(|| Box::new(HostIndex::new(&list)));
        Self { list, index }
    }
}

// === impl Route ===

impl Route {
    pub(crate) fn matches(&self, cx: &mut Context) -> Matched {
        matcher::any(&self.matchers, cx)
    }
}
