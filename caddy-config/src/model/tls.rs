//! TLS: certificates and which connection gets which.

mod automation;
mod issuer;
mod policy;

use std::path::PathBuf;

use serde::Serialize;

pub use self::{
    automation::{Automation, AutomationPolicy, KeyType, OnDemand, OnDemandPermission},
    issuer::{
        AcmeChallenge, AcmeChallenges, AcmeIssuer, ChainPreference, ExternalAccount, InternalIssuer, Issuer,
    },
    policy::{
        CertificateSelection, ClientAuthMode, ClientAuthentication, ClientVerifier, LeafLoader,
        TlsConnectionPolicy, TlsMatcher, TlsVersion,
    },
};
use super::is_false;

/// `apps.tls`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TlsApp {
    /// Certificates to load or obtain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificates: Option<Certificates>,
    /// How certificates are obtained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automation: Option<Automation>,
    /// Whether no OCSP responses are stapled to certificates that are loaded.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_ocsp_stapling: bool,
    /// Whether the storage is not tried out when the configuration is loaded.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_storage_check: bool,
    /// Whether nothing old is removed from the storage.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_storage_clean: bool,
}

/// Certificates to load or obtain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Certificates {
    /// Names to obtain certificates for, beside those that the routes name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub automate: Vec<String>,
    /// Files in PEM form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub load_files: Vec<CertificateFile>,
    /// Directories whose files with names that end in `.pem`, at any depth, each hold a certificate chain and its
    /// key.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub load_folders: Vec<PathBuf>,
}

/// One certificate chain and its key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CertificateFile {
    /// The chain, leaf first.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
    /// Names for [`CertificateSelection`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}
