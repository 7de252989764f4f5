//! What a user says about a cluster.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use route_store::{HostDocument, HostName};

/// How a cluster is read, and what is made of it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How the API is reached.
    pub access: Access,
    /// The class whose Ingresses are served. Default: `doorway`.
    pub class: String,
    /// The controller that an IngressClass must name for its mark as the cluster's default to count. Default:
    /// `doorway/ingress`.
    pub controller: String,
    /// The namespaces that are read; empty for all, which is the default.
    pub namespaces: Vec<String>,
    /// The host that rules without a host, and default backends of Ingresses without rules, are served on. Default: none;
    /// then they are reported.
    pub default_host: Option<HostName>,
    /// The Service, as `namespace/name`, whose addresses are written into the status of Ingresses. Default: none, and no
    /// status is written. The Lease object that decides who writes it, where there is no store, is in that namespace too.
    pub publish_service: Option<String>,
    /// Where certificates are written; only the proxy should be able to read it.
    pub tls_directory: PathBuf,
    /// The domain of the cluster, for names of Services. Default: `cluster.local`.
    pub cluster_domain: String,
    /// Whether Ingresses may bring handlers of their own, which can read files of the proxy. Default: false.
    pub allow_handlers: bool,
    /// Whether Services of type `ExternalName` are followed. Whoever may write Services then reaches whatever the proxy
    /// reaches, its own machine too, as any name may lead there. Default: false.
    pub external_names: bool,
    /// Whether the proxy can serve a document of several namespaces. Default: it can serve all.
    pub check: Check,
    /// After how long everything is listed anew. Default: 10 minutes.
    pub resync: Duration,
    /// How long changes are gathered before a snapshot. Default: 500 ms.
    pub settle: Duration,
    /// The pause after the first failure; it doubles up to 60 times as long. Default: 500 ms.
    pub retry: Duration,
    /// How long the first lists may take before an empty, stale snapshot lets the proxy start. Default: 5 seconds.
    pub patience: Duration,
    /// For how long one replica writes status. Default: 30 seconds.
    pub lease: Duration,
    /// What tells this replica from all others, such as the name of its pod.
    pub identity: String,
}

/// Says whether a document can be served, and if not, why.
#[derive(Clone, Default)]
pub struct Check(Option<Arc<Serves>>);

type Serves = dyn Fn(&HostDocument) -> Result<(), String> + Send + Sync;

/// How the API of a cluster is reached.
#[derive(Clone)]
pub enum Access {
    /// As in a pod, else as the usual kubeconfig file says: that of `KUBECONFIG`, or `~/.kube/config`.
    Automatic,
    /// With what Kubernetes puts into each of its pods.
    InCluster,
    /// As a kubeconfig file says.
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// The context of it; `None` for its current one.
        context: Option<String>,
    },
    /// At an address.
    Url {
        /// Such as `https://10.0.0.1:6443`.
        url: String,
        /// A bearer token. No message shows it.
        token: Option<String>,
        /// The authorities that may vouch for the API, as PEM; `None` for those of the system.
        ca: Option<Vec<u8>>,
    },
}

// === impl Settings ===

impl Settings {
    /// The defaults.
    pub fn new(access: Access, tls_directory: impl Into<PathBuf>, identity: impl Into<String>) -> Self {
        Self {
            access,
            class: "doorway".to_owned(),
            controller: "doorway/ingress".to_owned(),
            namespaces: Vec::new(),
            default_host: None,
            publish_service: None,
            tls_directory: tls_directory.into(),
            cluster_domain: "cluster.local".to_owned(),
            allow_handlers: false,
            external_names: false,
            check: Check::default(),
            resync: Duration::from_secs(600),
            settle: Duration::from_millis(500),
            retry: Duration::from_millis(500),
            patience: Duration::from_secs(5),
            lease: Duration::from_secs(30),
            identity: identity.into(),
        }
    }
}

// === impl Check ===

impl Check {
    /// One that asks `serves`, which may block.
    pub fn new(serves: impl Fn(&HostDocument) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(serves)))
    }

    pub(super) fn ask(&self, document: &HostDocument) -> Result<(), String> {
        self.0.as_ref().map_or(Ok(()), |serves| serves(document))
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Check")
    }
}

// === impl Access ===

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Automatic => f.write_str("Automatic"),
            Self::InCluster => f.write_str("InCluster"),
            Self::Kubeconfig { path, context } => f
                .debug_struct("Kubeconfig")
                .field("path", path)
                .field("context", context)
                .finish(),
            Self::Url { .. } => f.debug_struct("Url").finish_non_exhaustive(),
        }
    }
}
