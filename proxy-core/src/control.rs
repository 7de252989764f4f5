//! What is running, and how it is replaced while it runs.
//!
//! The reconciler is the only writer of the view and of the set of listeners. What it decides about listeners is in
//! `change`, which is pure.

mod change;
mod facts;
mod figures;
mod hosts;
mod listeners;
mod reconciler;
mod routes;
mod sources;
mod sources_api;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use caddy_config::Config;
use route_sources::Status;

use crate::config::BuildErrors;

pub use facts::{Authority, BreakerState, GeoState, PodState, RouteListing, UpstreamState};
pub(crate) use reconciler::Reconciler;
pub(crate) use sources_api::{Access, HostState, ServedHost, SourcesApi, SourcesView, Tokens};

/// Replaces the configuration of a running proxy, and tells what it is. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Control(pub(crate) Arc<Reconciler>);

/// Something beside the servers that a configuration is for, such as the log of the process. It takes part in each load
/// after it has joined: see [`Control::join`].
pub trait Part: fmt::Debug + Send + Sync {
    /// Does everything that can fail, such as opening files and sockets, and changes nothing. May wait for disks and names.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with what `config` says of this part. Then the load is refused.
    fn prepare(&self, config: &Config) -> Result<Commit, BuildErrors>;
}

/// Makes what was prepared run. It is called when nothing can fail any more, and dropped if anything else did.
pub type Commit = Box<dyn FnOnce() + Send>;

/// What a load has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The number of the configuration: 1 is the one that the proxy was built with.
    pub revision: u64,
    /// What works but should be looked at.
    pub warnings: Vec<String>,
    /// Addresses that are listened on since.
    pub added: Vec<String>,
    /// Addresses that are not listened on any more. Their connections end within the grace period.
    pub removed: Vec<String>,
    /// How many listeners were not touched. New connections to them get what the new configuration says of TLS and of
    /// limits; all get its routes.
    pub kept: usize,
}

// === impl Control ===

impl Control {
    /// Replaces the configuration, or changes nothing.
    ///
    /// Loads come one after the other. Once begun, a load is finished even if its future is dropped. When it returns,
    /// new sockets are open and removed ones are closed; connections of removed listeners may still be ending.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with `config`, all at once; then the old one serves on as if nothing had happened.
    pub async fn load(&self, config: Config) -> Result<Applied, BuildErrors> {
        Arc::clone(&self.0).load(config).await
    }

    /// Lets `part` take part in every load from now on.
    pub fn join(&self, part: Arc<dyn Part>) {
        self.0.join(part);
    }

    /// The number of the configuration that is running; see [`Applied::revision`].
    pub fn revision(&self) -> u64 {
        self.0.revision()
    }

    /// The TCP addresses that are listened on now, with the ports that the system chose for port 0.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.tcp_addresses()
    }

    /// Every upstream that the configuration names, and what it has to do, in the order of their addresses.
    pub fn upstreams(&self) -> Vec<UpstreamState> {
        self.0.upstreams()
    }

    /// The pods that requests with a token reached within the last hour, or still use, in the order of their addresses.
    pub fn pods(&self) -> Vec<PodState> {
        self.0.pods()
    }

    /// The routes of `eskip` handlers as they are now, and those that were left out.
    pub fn routes(&self) -> RouteListing {
        self.0.routes()
    }

    /// What there is to say of the sources of hosts: how many routes they have, conflicts, what is wrong.
    pub fn hosts(&self) -> Status {
        self.0.routes_status()
    }

    /// The databases that say where clients are, in the order of the configuration.
    pub fn geo(&self) -> Vec<GeoState> {
        self.0.geo()
    }

    /// The metrics of the process, in the text format of Prometheus that suits a client best that sends this `Accept`,
    /// and the `Content-Type` of that.
    pub fn metrics(&self, accept: Option<&str>) -> (&'static str, String) {
        let page = self.0.metrics(accept);
        (page.content_type, page.text)
    }

    /// Counts a configuration that was refused before it could be loaded.
    pub(crate) fn refused(&self) {
        self.0.refused();
    }

    /// Counts a request to the admin API.
    pub(crate) fn asked(&self, code: u16, method: &'static str, path: &'static str, failed: bool) {
        self.0.asked(code, method, path, failed);
    }

    /// The internal certificate authority. It is looked for, never made.
    pub fn authority(&self) -> Option<Authority> {
        self.0.authority()
    }

    /// Stops the proxy as the token of [`Proxy::run`](crate::Proxy::run) does.
    pub fn stop(&self) {
        self.0.stop();
    }
}
