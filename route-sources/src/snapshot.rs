//! What a source of routes says.

use std::fmt;
use std::sync::Arc;

use route_store::{HostDocument, HostName, Revision};
use serde::Serialize;
use tokio::sync::watch;

/// The kind of a source. Of several that define a host, the largest counts.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Files.
    File,
    /// Labels of containers or services.
    Docker,
    /// Resources of a cluster.
    Kubernetes,
    /// A store that replicas share.
    Store,
}

/// Everything that a source defines at one time.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Its routes, in its order. Of two for one host the first counts, and the other is reported.
    ///
    /// A route that is as before is the same [`Arc`] as before: then nobody needs to compare it.
    pub routes: Vec<Route>,
    /// What could not be made a route of.
    pub invalid: Vec<Invalid>,
    /// The revision of the store that it is of.
    pub revision: Option<Revision>,
    /// Why this is not the newest that there is, such as an outage.
    pub stale: Option<String>,
}

/// What a source says of one host.
#[derive(Clone, Debug)]
pub enum Route {
    /// It is served like this.
    Document(Arc<HostDocument>),
    /// It is the source's, but cannot be served: requests get 503, and no other source's route instead.
    Held(Arc<Held>),
    /// The configuration of the proxy serves it.
    Configured(Arc<HostName>),
}

/// A host that cannot be served.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The host.
    pub host: HostName,
    /// Why.
    pub reason: String,
}

/// Something that no route could be made of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Invalid {
    /// The host that it is about, as it was written, if that is known.
    pub host: Option<String>,
    /// Where it is: a file and line, a container, a resource.
    pub place: String,
    /// What is wrong, and what to do.
    pub reason: String,
    /// Whether an earlier route of the same source serves the host on.
    pub kept: bool,
}

/// What requests see of a store's routes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Applied {
    /// The revision of the store.
    pub revision: Revision,
    /// Since when, in seconds since 1970.
    pub at: u64,
    /// How many of its routes are not served as they are written.
    pub invalid: u64,
}

/// Where a source puts its snapshots. A new one takes the place of one that was not read yet, so nothing can fill up.
#[derive(Clone, Debug)]
pub struct Publisher(watch::Sender<Option<Arc<Snapshot>>>);

/// Where the snapshots of a source come out.
#[derive(Clone, Debug)]
pub struct Snapshots(watch::Receiver<Option<Arc<Snapshot>>>);

/// Both ends for one source.
pub fn channel() -> (Publisher, Snapshots) {
    let (sender, receiver) = watch::channel(None);
    (Publisher(sender), Snapshots(receiver))
}

// === impl Kind ===

impl Kind {
    /// All kinds, the one that counts least first.
    pub const ALL: [Self; 4] = [Self::File, Self::Docker, Self::Kubernetes, Self::Store];

    /// The kind in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Docker => "docker",
            Self::Kubernetes => "kubernetes",
            Self::Store => "store",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Route ===

impl Route {
    /// The host that it is about.
    pub fn host(&self) -> &HostName {
        match self {
            Self::Document(document) => document.host(),
            Self::Held(held) => &held.host,
            Self::Configured(host) => host,
        }
    }

    /// Whether both are one value, which is quicker to say than whether they are equal.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Document(one), Self::Document(other)) => Arc::ptr_eq(one, other),
            (Self::Held(one), Self::Held(other)) => Arc::ptr_eq(one, other),
            (Self::Configured(one), Self::Configured(other)) => one == other,
            _ => false,
        }
    }
}

// === impl Publisher ===

impl Publisher {
    /// Gives the newest snapshot.
    pub fn publish(&self, snapshot: Snapshot) {
        self.0.send_replace(Some(Arc::new(snapshot)));
    }
}

// === impl Snapshots ===

impl Snapshots {
    /// Waits for a snapshot that was not seen yet; `None` once the source has ended and its last one was seen.
    pub async fn next(&mut self) -> Option<Arc<Snapshot>> {
        loop {
            self.0.changed().await.ok()?;
            let newest = self.0.borrow_and_update().clone();
            if newest.is_some() {
                return newest;
            }
        }
    }
}
