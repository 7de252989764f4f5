//! The administration endpoint, storage, and authorities.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::Serialize;

use super::{http::nanos, is_false};

/// The administration endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Admin {
    /// No endpoint at all.
    #[serde(skip_serializing_if = "is_false")]
    pub disabled: bool,
    /// `host:port` or `unix//path[|mode]`; `None` is `localhost:2019`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// Whether a request must carry an allowed `Origin`.
    #[serde(skip_serializing_if = "is_false")]
    pub enforce_origin: bool,
    /// Origins that may use the endpoint; empty means those that follow from `listen`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// How the configuration itself is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<AdminConfig>,
}

/// How the configuration itself is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AdminConfig {
    /// Whether what was loaded last is saved, for `--resume`; `None` is yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persist: Option<bool>,
}

/// Where certificates and authorities are kept; `module` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "module", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Storage {
    /// In a directory.
    FileSystem {
        /// The directory; `None` is the data directory.
        #[serde(skip_serializing_if = "Option::is_none")]
        root: Option<PathBuf>,
    },
}

/// `apps.pki`: the proxy's own certificate authority.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PkiApp {
    /// By name; `local` is the one that [`Issuer::Internal`](super::Issuer::Internal) uses, and the only one that is
    /// read.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub certificate_authorities: BTreeMap<String, CertificateAuthority>,
}

/// A certificate authority.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CertificateAuthority {
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The common name of its root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_common_name: Option<String>,
    /// The common name of its intermediate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intermediate_common_name: Option<String>,
    /// How long the intermediate is good for; `None` is seven days.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub intermediate_lifetime: Option<Duration>,
    /// Whether its root is put among those that the system trusts. Doorway does that only when asked to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_trust: Option<bool>,
}
