//! What is running: immutable, loaded once for each request.

use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderName;

use super::access_log::AccessLogs;
use crate::failure_log::FailureGates;
use crate::http::forwarded::IpSet;
use crate::routing::routes::Routes;
use crate::upstream::cluster::Cluster;
use crate::upstream::resolve::Name;

/// The compiled configuration.
#[derive(Debug, Default)]
pub(crate) struct View {
    pub(crate) servers: Vec<ServerView>,
    pub(crate) clusters: Vec<Cluster>,
}

/// One server: the sites behind a set of listeners.
#[derive(Debug)]
pub(crate) struct ServerView {
    pub(crate) name: String,
    pub(crate) routes: Routes,
    pub(crate) trusted_proxies: IpSet,
    /// The fields that name the client, in order of preference. Default `X-Forwarded-For`.
    pub(crate) client_ip_fields: Vec<HeaderName>,
    /// How long a request body may take in all. Default: no limit.
    pub(crate) body_timeout: Option<Duration>,
    /// How long writing a response may take in all. Default: no limit.
    pub(crate) write_timeout: Option<Duration>,
    pub(crate) logs: Option<AccessLogs>,
    pub(crate) gates: FailureGates,
}

// === impl View ===

impl View {
    /// Every name whose addresses matter, each once.
    pub(crate) fn names(&self) -> Vec<Arc<Name>> {
        let mut names: Vec<Arc<Name>> = Vec::new();
        for upstream in self
            .clusters
            .iter()
            .flat_map(|cluster| cluster.source.upstreams())
        {
            if !names.iter().any(|name| Arc::ptr_eq(name, upstream.name())) {
                names.push(Arc::clone(upstream.name()));
            }
        }
        names
    }
}
