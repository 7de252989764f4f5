//! What the admin API is told of the sources of routes, and asks of them.

mod tokens;

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use route_sources::{HostDocument, HostName, Kind, Revision};
use route_store::{Problems, Store};
use serde_json::Value;

pub(crate) use self::tokens::{Access, Tokens};

/// The sources of routes as the admin API sees them. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct SourcesApi {
    /// The store that documents are written to, if the configuration has one.
    pub(crate) store: Option<Arc<dyn Store>>,
    /// What the sources have said so far.
    pub(crate) view: Arc<dyn SourcesView>,
    /// Who may ask.
    pub(crate) tokens: Arc<Tokens>,
}

/// What the sources have said, and what may be asked of them.
pub(crate) trait SourcesView: fmt::Debug + Send + Sync {
    /// What became of the routes of all sources, as an object of JSON without secrets.
    fn status(&self) -> BoxFuture<'_, Value>;

    /// The hosts that requests are answered for, sorted: the first `limit` of those behind `after`.
    fn hosts<'a>(&'a self, after: Option<&'a str>, limit: usize) -> BoxFuture<'a, Vec<ServedHost>>;

    /// The revision of the store that requests see here; `None` before the first.
    fn applied(&self) -> Option<Revision>;

    /// Whether the proxy could serve a document that is valid by itself; everything that keeps it from that otherwise.
    fn check<'a>(&'a self, document: &'a HostDocument) -> BoxFuture<'a, Result<(), Problems>>;

    /// Has the source of the store look at once, as it was just written to.
    fn sync(&self);

    /// Forgets a route whose container is gone. `false` if none is remembered for this host.
    fn forget(&self, host: &HostName) -> bool;

    /// Takes what the store has now for what is meant, though it has lost what it held. `false` if nothing that it
    /// has lost is served.
    fn accept_loss(&self) -> bool;
}

/// A host that requests are answered for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServedHost {
    /// The name that requests have.
    pub(crate) host: HostName,
    /// The host of the document, if `host` is an alias of that.
    pub(crate) alias_of: Option<HostName>,
    /// The source that counts.
    pub(crate) source: Kind,
    /// What requests get.
    pub(crate) state: HostState,
}

/// What requests for a host get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostState {
    /// What its document says.
    Served,
    /// What the configuration says.
    Configured,
    /// 503, for this reason.
    Unavailable(String),
    /// What an earlier document says, as the newest one cannot be served for this reason.
    Kept(String),
}
