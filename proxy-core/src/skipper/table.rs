//! One table of routes: immutable, replaced whole.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use eskip::Template;
use eskip::filters::{AccessLog, Filter, Wants};
use eskip::routing::{InvalidRoute, RouteTable};
use http::StatusCode;

use super::source::Source;
use crate::forward::view::Clusters;

/// The routes of one `eskip` handler, as they are now.
#[derive(Debug)]
pub(crate) struct Table {
    /// Where they come from.
    pub(crate) source: Arc<Source>,
    pub(crate) routes: RouteTable<Route>,
    /// What their backends are.
    pub(crate) clusters: Clusters,
    /// As they were written, without those that are left out.
    pub(crate) listed: Vec<eskip::Route>,
    /// Those that are left out, and why.
    pub(crate) invalid: Vec<InvalidRoute>,
    /// When it was made.
    pub(crate) made: SystemTime,
    /// Whether all that they come from was read at least once. Until then no request is answered.
    pub(crate) is_complete: bool,
    pub(crate) rules: Rules,
}

/// What holds for all routes of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Whether backends are told the Host of the request, unless a filter says otherwise.
    pub(crate) preserve_host: bool,
    /// Whether predicates see the host in lower case, without its port and a dot at the end.
    pub(crate) normalize_host: bool,
    /// How often a request may go through the table again.
    pub(crate) most_loopbacks: u32,
    /// The status of a request that no route is for.
    pub(crate) default_status: StatusCode,
}

/// What is done with the requests of one route.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) filters: Box<[Placed]>,
    pub(crate) backend: Backend,
    /// What the backend is chosen by, if it is chosen by a hash.
    pub(crate) hashed_by: Option<HashedBy>,
    pub(crate) preserve_host: Option<bool>,
    /// How long the client has for its body; else as the server says.
    pub(crate) read_timeout: Option<Duration>,
    /// How long the client has to take the answer; else as the server says.
    pub(crate) write_timeout: Option<Duration>,
    /// Which answers have a line in the access log; else as the server says.
    pub(crate) access_log: Option<AccessLog>,
}

/// What `consistentHash` goes by.
#[derive(Debug)]
pub(crate) enum HashedBy {
    /// The first address of X-Forwarded-For, else that of who is connected.
    Source,
    Template(Template),
}

/// A filter at its place in a route.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) filter: Box<dyn Filter>,
    pub(crate) wants: Wants,
}

/// Where requests go behind the filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    /// To the cluster of this number in the table.
    Cluster(usize),
    /// Nowhere: filters answer, or it is 404.
    Shunt,
    /// Through the table again.
    Loopback,
    /// Where filters say, by these clusters.
    Dynamic { http: usize, https: usize },
}

// === impl Placed ===

impl From<Box<dyn Filter>> for Placed {
    fn from(filter: Box<dyn Filter>) -> Self {
        let wants = filter.wants();
        Self { filter, wants }
    }
}
