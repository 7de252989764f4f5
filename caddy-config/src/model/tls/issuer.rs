//! Who issues certificates.

use std::{path::PathBuf, time::Duration};

use serde::Serialize;

use super::{
    super::{Secret, http::nanos},
    is_false,
};

/// Who issues certificates; `module` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "module", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Issuer {
    /// An authority that is asked by ACME.
    Acme(Box<AcmeIssuer>),
    /// The proxy's own authority.
    Internal(InternalIssuer),
}

/// An authority that is asked by ACME.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct AcmeIssuer {
    /// The URL of its directory; `None` is that of Let's Encrypt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// The URL of a directory to try things out with, after a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_ca: Option<String>,
    /// The address of the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The profile of certificates that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The key of an account that exists, in PEM form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_key: Option<Secret>,
    /// Credentials of an account elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_account: Option<ExternalAccount>,
    /// Limit for one certificate.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub acme_timeout: Option<Duration>,
    /// How it is shown who owns a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenges: Option<AcmeChallenges>,
    /// Files of authorities that are believed when the directory is reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted_roots_pem_files: Vec<PathBuf>,
    /// Which of several chains is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_chains: Option<ChainPreference>,
    /// How long certificates are asked to be good for.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub certificate_lifetime: Option<Duration>,
}

/// Credentials of an account elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ExternalAccount {
    /// Its name.
    pub key_id: String,
    /// Its key.
    pub mac_key: Secret,
}

/// How it is shown who owns a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct AcmeChallenges {
    /// By a file that is served by HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<AcmeChallenge>,
    /// By a certificate in a handshake.
    #[serde(rename = "tls-alpn", skip_serializing_if = "Option::is_none")]
    pub tls_alpn: Option<AcmeChallenge>,
    /// The interface that is listened on for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_host: Option<String>,
}

/// One way of showing who owns a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct AcmeChallenge {
    /// Whether it is not used.
    #[serde(skip_serializing_if = "is_false")]
    pub disabled: bool,
    /// The port that is listened on for it; `None` is the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alternate_port: Option<u16>,
}

/// Which of several chains is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct ChainPreference {
    /// The smallest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest: Option<bool>,
    /// The first whose root has one of these names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub root_common_name: Vec<String>,
    /// The first of whose issuers any has one of these names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any_common_name: Vec<String>,
}

/// The proxy's own authority.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct InternalIssuer {
    /// The name of the authority; `None` is `local`, and so is every value that is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// How long certificates are good for; `None` is twelve hours.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub lifetime: Option<Duration>,
    /// Whether the root signs itself, without an intermediate.
    #[serde(skip_serializing_if = "is_false")]
    pub sign_with_root: bool,
}

// === impl Issuer ===

impl Issuer {
    /// The proxy's own authority, as it is by itself.
    #[must_use]
    pub fn internal() -> Self {
        Self::Internal(InternalIssuer::default())
    }
}
