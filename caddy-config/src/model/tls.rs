//! TLS: certificates and which connection gets which.

use std::path::PathBuf;

use serde::Serialize;

/// One rule for TLS connections of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TlsConnectionPolicy {
    /// `match` in JSON: which handshakes it is for; `None` is all.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matcher: Option<TlsMatcher>,
    /// Which of the loaded certificates may be used; `None` is any that fits the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_selection: Option<CertificateSelection>,
}

/// Which handshakes a policy is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct TlsMatcher {
    /// Server names, `*` for one whole label; empty means all.
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

/// `apps.tls`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TlsApp {
    /// Certificates to load or obtain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificates: Option<Certificates>,
    /// How certificates are obtained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automation: Option<Automation>,
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

/// How certificates are obtained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Automation {
    /// The first policy with the name among its subjects is used, or the one without subjects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<AutomationPolicy>,
}

/// One rule for obtaining certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AutomationPolicy {
    /// Names that it is for; empty means all that no other policy names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    /// Who issues, tried in order; empty means the public default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issuers: Vec<Issuer>,
}

/// Who issues certificates; `module` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "module", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Issuer {
    /// The proxy's own authority.
    Internal {},
}
