//! Rules for connections.

use std::path::PathBuf;

use serde::Serialize;

use super::super::{CaPool, sorted};

/// One rule for TLS connections of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TlsConnectionPolicy {
    /// `match` in JSON: which handshakes it is for; `None` is all.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matcher: Option<TlsMatcher>,
    /// Which of the loaded certificates may be used; `None` is any that fits the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_selection: Option<CertificateSelection>,
    /// Cipher suites of TLS 1.2, by their names; empty is all that are safe. Those of TLS 1.3 are always on offer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cipher_suites: Vec<String>,
    /// Groups for the exchange of keys, in order of preference; empty is the default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<String>,
    /// Protocols to agree on, in order of preference; empty follows from those of the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alpn: Vec<String>,
    /// The oldest version; `None` is TLS 1.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_min: Option<TlsVersion>,
    /// The newest version; `None` is TLS 1.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_max: Option<TlsVersion>,
    /// Whether clients show certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_authentication: Option<ClientAuthentication>,
    /// The name that counts for clients that send none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_sni: Option<String>,
    /// The name whose certificate is shown when there is none for the one that the client sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_sni: Option<String>,
}

/// Which handshakes a policy is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct TlsMatcher {
    /// Server names, `*` for one whole label, and an empty text for no name at all; empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sni: Vec<String>,
}

/// Which certificates may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CertificateSelection {
    /// Those with one of these tags; empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any_tag: Vec<String>,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[non_exhaustive]
pub enum TlsVersion {
    /// TLS 1.2.
    #[serde(rename = "tls1.2")]
    Tls12,
    /// TLS 1.3.
    #[serde(rename = "tls1.3")]
    Tls13,
}

/// Whether clients show certificates, and which.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClientAuthentication {
    /// The authorities that certificates must come from.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "sorted")]
    pub ca: Option<CaPool>,
    /// Authorities, as they were configured once: certificates in DER form, in base64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted_ca_certs: Vec<String>,
    /// Files of authorities, as they were configured once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted_ca_certs_pem_files: Vec<PathBuf>,
    /// The only certificates that will do: in DER form, in base64.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted_leaf_certs: Vec<String>,
    /// What certificates must pass beside that.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "sorted")]
    pub verifiers: Vec<ClientVerifier>,
    /// `None` is [`ClientAuthMode::RequireAndVerify`] if anything above says what to verify, else
    /// [`ClientAuthMode::Require`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ClientAuthMode>,
}

/// What is asked of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClientAuthMode {
    /// A certificate, if they have one; any will do.
    Request,
    /// A certificate; any will do.
    Require,
    /// A certificate, if they have one; it must be a good one.
    VerifyIfGiven,
    /// A good certificate.
    RequireAndVerify,
}

/// What a client's certificate must pass; `verifier` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verifier", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClientVerifier {
    /// It must be one of these.
    Leaf {
        /// Where they are.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        leaf_certs_loaders: Vec<LeafLoader>,
    },
}

/// Where certificates of clients are; `loader` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "loader", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeafLoader {
    /// In files, in PEM form.
    File {
        /// The files.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        files: Vec<PathBuf>,
    },
}

// === impl TlsConnectionPolicy ===

impl TlsConnectionPolicy {
    /// Whether all settings are those of `other`, whichever handshakes the two are for.
    pub(crate) fn has_settings_of(&self, other: &Self) -> bool {
        let settings = |policy: &Self| Self {
            matcher: None,
            ..policy.clone()
        };
        settings(self) == settings(other)
    }

    /// Whether it says anything beside which handshakes it is for.
    pub(crate) fn has_settings(&self) -> bool {
        !self.has_settings_of(&Self::default())
    }
}

// === impl TlsVersion ===

impl TlsVersion {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "tls1.2" => Some(Self::Tls12),
            "tls1.3" => Some(Self::Tls13),
            _ => None,
        }
    }
}

// === impl ClientAuthentication ===

impl ClientAuthentication {
    /// Whether it asks clients for anything; in Caddy, an empty one does not.
    #[must_use]
    pub fn is_active(&self) -> bool {
        *self != Self::default()
    }

    /// What is asked of clients, also if the mode is not said.
    #[must_use]
    pub fn effective_mode(&self) -> ClientAuthMode {
        self.mode.unwrap_or_else(|| {
            let said = Self {
                mode: None,
                ..self.clone()
            };
            if said.is_active() {
                ClientAuthMode::RequireAndVerify
            } else {
                ClientAuthMode::Require
            }
        })
    }
}

// === impl ClientAuthMode ===

impl ClientAuthMode {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "request" => Some(Self::Request),
            "require" => Some(Self::Require),
            "verify_if_given" => Some(Self::VerifyIfGiven),
            "require_and_verify" => Some(Self::RequireAndVerify),
            _ => None,
        }
    }
}
