//! Certificates and the TLS side of listeners.
//!
//! [`Certificates`] lives as long as the process: it holds the internal authority, the leaves that it made and the keys
//! of session tickets, so that a reload neither makes new certificates nor ends resumption. For each listener,
//! [`Certificates::plan`] turns the sites and the policies into rustls configurations. [`client`] is the other side,
//! towards upstreams.

pub(crate) mod client;
mod client_auth;
mod config;
mod files;
mod hosts;
mod internal_ca;
mod name;
mod plan;
mod resolver;
mod signatures;
mod terms;

use std::path::PathBuf;

use thiserror::Error;

pub(crate) use client_auth::{ClientAuth, decode};
pub(crate) use config::Certificates;
pub(crate) use files::{FileError, authorities, certificates, client_authorities, may_issue};
pub(crate) use hosts::HostKey;
pub(crate) use internal_ca::CaError;
pub(crate) use name::NameError;
pub(crate) use plan::TlsPlan;
pub(crate) use terms::{Terms, TlsPolicy, Versions, cipher_suite, group};

/// One site of a listener, as far as TLS is concerned.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct TlsSite {
    /// Host names, `*.` wildcards for one label, and addresses. Without any, the site takes every connection that no
    /// other site of the listener has a certificate for.
    pub(crate) names: Vec<String>,
    /// Where its certificate comes from.
    pub(crate) source: CertSource,
}

/// Where a certificate comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum CertSource {
    /// A PEM file with the certificate and those that lead from it to the root, and one with its private key.
    Files {
        /// The certificate first, then the intermediate ones.
        certificate: PathBuf,
        /// PKCS #8, PKCS #1 or SEC 1, not encrypted. It may be the same file.
        key: PathBuf,
    },
    /// Those of the hosts that sources of routes define.
    Hosts,
    /// Made here and signed by the internal authority, one for each name of the site.
    Internal,
}

/// Why a listener's TLS configuration cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum TlsError {
    /// A certificate or key file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The internal authority.
    #[error(transparent)]
    Authority(#[from] CaError),
    /// A site name that no certificate can be made or chosen for.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A site without names that should get an internal certificate.
    #[error("an internal certificate needs a name: give the site a host name or an address")]
    NoName,
    /// A certificate that is written in the configuration itself.
    #[error("a certificate of client_auth is not one in DER form, in base64; it may have been cut off")]
    BadInline,
    /// An authority of clients that is written in the configuration itself.
    #[error(
        "a certificate of client_auth is not an authority's, so no certificate of a client may come from it; name the \
         authority's, or the certificates of the clients themselves with trusted_leaf_cert"
    )]
    NotAuthority,
    /// The cryptographic library refused.
    #[error("the TLS library refused: {0}")]
    Library(#[from] rustls::Error),
}
