//! How certificates are obtained.

use std::time::Duration;

use serde::Serialize;
use serde_json::Number;

use super::{
    super::{http::nanos, sorted},
    Issuer, is_false,
};

/// How certificates are obtained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Automation {
    /// The first policy with the name among its subjects is used, or the one without subjects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<AutomationPolicy>,
    /// What limits certificates that are obtained in handshakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_demand: Option<OnDemand>,
    /// The time between two looks at OCSP responses; `None` is one hour.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub ocsp_interval: Option<Duration>,
    /// The time between two looks at what is to be renewed; `None` is ten minutes.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub renew_interval: Option<Duration>,
    /// The time between two cleanings of the storage; `None` is one day.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub storage_clean_interval: Option<Duration>,
}

/// One rule for obtaining certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AutomationPolicy {
    /// Names that it is for; empty means all that no other policy names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    /// Who issues, tried in order; empty means the public default.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "sorted")]
    pub issuers: Vec<Issuer>,
    /// The part of its lifetime that is left when a certificate is renewed, between 0 and 1; `None` is a third.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewal_window_ratio: Option<Number>,
    /// The kind of keys; `None` is P-256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_type: Option<KeyType>,
    /// Whether certificates are obtained in the handshake that needs them.
    #[serde(skip_serializing_if = "is_false")]
    pub on_demand: bool,
    /// Whether a renewed certificate has the key of the one before.
    #[serde(skip_serializing_if = "is_false")]
    pub reuse_private_keys: bool,
    /// Whether no OCSP responses are stapled.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_ocsp_stapling: bool,
}

/// What limits certificates that are obtained in handshakes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OnDemand {
    /// Who is asked whether a name may have one.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "sorted")]
    pub permission: Option<OnDemandPermission>,
}

/// Who is asked whether a name may have a certificate; `module` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "module", rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnDemandPermission {
    /// A service, by HTTP: a 2xx answer to `ENDPOINT?domain=NAME` is a yes.
    Http {
        /// Its URL.
        endpoint: String,
    },
}

/// A kind of private keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum KeyType {
    /// Ed25519.
    Ed25519,
    /// ECDSA on P-256.
    P256,
    /// ECDSA on P-384.
    P384,
    /// RSA with 2048 bits.
    Rsa2048,
    /// RSA with 4096 bits.
    Rsa4096,
}

// === impl KeyType ===

impl KeyType {
    /// All names.
    pub(crate) const NAMES: [&'static str; 5] = ["ed25519", "p256", "p384", "rsa2048", "rsa4096"];

    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "ed25519" => Some(Self::Ed25519),
            "p256" => Some(Self::P256),
            "p384" => Some(Self::P384),
            "rsa2048" => Some(Self::Rsa2048),
            "rsa4096" => Some(Self::Rsa4096),
            _ => None,
        }
    }
}
