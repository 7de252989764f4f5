//! TLS to upstreams, and whom one believes there.

use std::{path::PathBuf, time::Duration};

use serde::Serialize;

use super::{is_false, nanos};

/// TLS to upstreams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct UpstreamTls {
    /// Authorities, as they were configured once: certificates in base64; `ca` comes before them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub root_ca_pool: Vec<String>,
    /// Files of authorities, as they were configured once; `ca` comes before them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub root_ca_pem_files: Vec<PathBuf>,
    /// The authorities that upstreams' certificates must come from; `None` is those of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<CaPool>,
    /// The certificate that the proxy shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate_file: Option<PathBuf>,
    /// The key to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate_key_file: Option<PathBuf>,
    /// The name of a certificate of the proxy's own that it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate_automate: Option<String>,
    /// Whether any certificate will do.
    #[serde(skip_serializing_if = "is_false")]
    pub insecure_skip_verify: bool,
    /// Limit for the handshake; `None` is ten seconds in Caddy.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub handshake_timeout: Option<Duration>,
    /// The name that certificates must be for, with placeholders; `None` is the upstream's host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Whether an upstream may begin a new handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renegotiation: Option<Renegotiation>,
    /// Ports of upstreams that are reached without TLS.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except_ports: Vec<String>,
    /// Groups for the exchange of keys, in order of preference; empty is the default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<String>,
}

/// Authorities that are believed; `provider` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "provider", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CaPool {
    /// Those in files.
    File {
        /// The files, in PEM form.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pem_files: Vec<PathBuf>,
    },
    /// Those that are written here.
    Inline {
        /// Certificates in DER form, in base64.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        trusted_ca_certs: Vec<String>,
    },
    /// Those of the system.
    System {},
}

/// Whether an upstream may begin a new handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Renegotiation {
    /// Not at all.
    Never,
    /// One time.
    Once,
    /// As often as it likes.
    Freely,
}

// === impl CaPool ===

impl CaPool {
    /// The names of the pools that can be configured, sorted.
    pub(crate) const NAMES: [&'static str; 3] = ["file", "inline", "system"];
}

// === impl Renegotiation ===

impl Renegotiation {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "never" => Some(Self::Never),
            "once" => Some(Self::Once),
            "freely" => Some(Self::Freely),
            _ => None,
        }
    }
}
