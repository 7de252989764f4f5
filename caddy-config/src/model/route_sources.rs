//! Where routes come from beside the configuration, and who may change them.

mod store;

use std::{path::PathBuf, time::Duration};

use serde::Serialize;

pub use self::store::{
    DataLoss, NewerDocuments, RouteSnapshot, RouteStore, StoreKind, StoreUrl, StoreUrlError,
};
use super::{Secret, http::nanos};
use crate::check::route_sources as check;

/// `apps.http.route_sources`: sources of hosts that come and go while the proxy runs. They are served by the servers whose
/// [`route_sources`](super::Server::route_sources) is set. After reading, there is at least one source, and one such server.
///
/// Of several sources that define a host the store counts before Kubernetes, that before Docker, and that before files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RouteSources {
    /// Files with hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<RouteFiles>,
    /// Labels of containers or services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker: Option<DockerRoutes>,
    /// Resources of a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<KubernetesRoutes>,
    /// A store that replicas share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<RouteStore>,
    /// Who may ask for hosts, and change them, by the admin endpoint; their names differ. Without any, that is whoever can
    /// reach it from the same machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<RoutesToken>,
}

/// Files with hosts, read again while the proxy runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RouteFiles {
    /// The files, at least one; a relative path is one from the working directory.
    pub paths: Vec<PathBuf>,
    /// The time between two looks at them, at least 10 ms; nanoseconds in JSON. `None` is 2 seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub poll: Option<Duration>,
    /// What happens when a file goes, or is empty; `None` is [`WhenMissing::Keep`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_missing: Option<WhenMissing>,
}

/// What happens to the hosts of a file that is not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WhenMissing {
    /// They stay, and it is reported.
    Keep,
    /// They go.
    Clear,
}

/// Labels of containers or services.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DockerRoutes {
    /// Where the daemon is: `unix://`, `tcp://`, `http://` or `https://`; `None` is `unix:///var/run/docker.sock`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Whose labels are read; `None` is [`DockerMode::Container`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<DockerMode>,
    /// The time between two complete looks, beside what the daemon tells by itself, at least 10 ms; nanoseconds in JSON. `None`
    /// is 15 seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub interval: Option<Duration>,
    /// The networks that containers are reached by, the first that a container is in; empty is any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<String>,
    /// How TLS is spoken to the daemon, with `tcp://` and `https://`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<DockerTls>,
}

/// Whose labels are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DockerMode {
    /// Those of containers.
    Container,
    /// Those of services of a swarm.
    Swarm,
}

/// How TLS is spoken to a daemon. All files are PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DockerTls {
    /// The authorities that vouch for the daemon.
    pub ca: PathBuf,
    /// The client's certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// Resources of a cluster: Ingresses and what they name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KubernetesRoutes {
    /// A file that says how the cluster is reached; `None` is with what the cluster puts into each of its pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<PathBuf>,
    /// The class of Ingresses that are served; `None` is `doorway`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The namespaces that are watched; empty is all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// `NAMESPACE/NAME` of the Service whose addresses are written into the status of Ingresses; `None`: none are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish_service: Option<String>,
    /// Where certificates of Secrets are put; `None` is below the data directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_directory: Option<PathBuf>,
}

/// Who may ask for hosts, and perhaps change them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoutesToken {
    /// Whose it is, for the history of what changes; at most 64 letters, digits, `-`, `_`, `.` and `@`.
    pub name: String,
    /// What it is good for.
    pub access: TokenAccess,
    /// What is shown for it: at least 16 characters, or `{env.NAME}` for what the variable has when the proxy starts.
    pub secret: Secret,
}

/// What a token is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TokenAccess {
    /// Asking.
    Read,
    /// Asking and changing.
    Write,
}

// === impl RouteSources ===

impl RouteSources {
    /// Whether routes come from nowhere.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.file.is_none() && self.docker.is_none() && self.kubernetes.is_none() && self.store.is_none()
    }
}

// === impl RoutesToken ===

impl RoutesToken {
    /// The variable of the environment that holds the secret, if it is not written itself.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        check::variable(self.secret.expose())
    }
}

// === impl WhenMissing ===

impl WhenMissing {
    pub(crate) const WORDS: [(&'static str, Self); 2] = [("keep", Self::Keep), ("clear", Self::Clear)];
}

// === impl DockerMode ===

impl DockerMode {
    pub(crate) const WORDS: [(&'static str, Self); 2] =
        [("container", Self::Container), ("swarm", Self::Swarm)];
}

// === impl TokenAccess ===

impl TokenAccess {
    pub(crate) const WORDS: [(&'static str, Self); 2] = [("read", Self::Read), ("write", Self::Write)];
}
