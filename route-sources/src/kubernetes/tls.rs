//! Certificates of Secrets.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::networking::v1::Ingress;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use thiserror::Error;

use super::class::is_ours;
use super::cluster::{Cluster, Key};
use super::settings::Settings;

/// The type of Secrets that hold a certificate.
const TYPE: &str = "kubernetes.io/tls";

/// A certificate and its key, as PEM, that fit.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) certificate: &'a [u8],
    pub(super) key: &'a [u8],
}

/// Why a Secret is no certificate. Nothing of it is shown.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub(super) enum TlsError {
    #[error("the type of the Secret is not {TYPE}")]
    Type,
    #[error("the Secret has no key `{0}`")]
    Missing(&'static str),
    #[error("`tls.crt` holds no certificate as PEM")]
    Certificate,
    #[error("`tls.key` holds no private key as PEM")]
    Key,
    #[error("the key is not that of the certificate")]
    Mismatch,
}

/// The Secrets that our Ingresses want certificates from, as far as they are there.
pub fn wanted_certificates(cluster: &Cluster, settings: &Settings) -> BTreeMap<Key, Option<Secret>> {
    let ours = cluster.ingresses.iter();
    ours.filter(|(_, ingress)| is_ours(ingress, cluster, settings))
        .flat_map(|(key, ingress)| {
            let names = entries(ingress).filter_map(|(_, secret)| secret);
            names.map(|name| Key::new(&key.namespace, name))
        })
        .map(|key| {
            let secret = cluster.secrets.get(&key).cloned();
            (key, secret)
        })
        .collect()
}

/// The Secret that an Ingress wants the certificate of a host from: `None` if it wants none for it, `Some(None)` if it
/// leaves to the proxy which one.
pub(super) fn secret_for<'a>(ingress: &'a Ingress, host: &str) -> Option<Option<&'a str>> {
    let mut entries = entries(ingress);
    let entry = entries.find(|(hosts, _)| hosts.is_empty() || hosts.iter().any(|name| covers(name, host)));
    entry.map(|(_, secret)| secret)
}

/// Reads a Secret.
pub(super) fn pair(secret: &Secret) -> Result<Pair<'_>, TlsError> {
    if secret.type_.as_deref() != Some(TYPE) {
        return Err(TlsError::Type);
    }
    let value = |name| {
        let data = secret.data.as_ref().and_then(|data| data.get(name));
        let bytes = data
            .map(|data| data.0.as_slice())
            .filter(|bytes| !bytes.is_empty());
        bytes.ok_or(TlsError::Missing(name))
    };
    let pair = Pair {
        certificate: value("tls.crt")?,
        key: value("tls.key")?,
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pair.certificate).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or(TlsError::Certificate)?;
    let key = PrivateKeyDer::from_pem_slice(pair.key).map_err(|_| TlsError::Key)?;
    CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider()).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => TlsError::Mismatch,
        rustls::Error::InvalidCertificate(_) => TlsError::Certificate,
        _ => TlsError::Key,
    })?;
    Ok(pair)
}

fn entries(ingress: &Ingress) -> impl Iterator<Item = (&[String], Option<&str>)> {
    let tls = ingress.spec.as_ref().and_then(|spec| spec.tls.as_ref());
    tls.into_iter().flatten().map(|entry| {
        let secret = entry.secret_name.as_deref().filter(|name| !name.is_empty());
        (entry.hosts.as_deref().unwrap_or_default(), secret)
    })
}

/// Whether a name, perhaps with `*.` before it, is that of a host.
fn covers(name: &str, host: &str) -> bool {
    if name.eq_ignore_ascii_case(host) {
        return true;
    }
    let Some(parent) = name.strip_prefix("*.") else {
        return false;
    };
    host.split_once('.')
        .is_some_and(|(label, rest)| label != "*" && rest.eq_ignore_ascii_case(parent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_covers_itself_and_a_wildcard_one_label() {
        assert!(covers("A.test", "a.test"));
        assert!(covers("*.test", "a.test"));
        assert!(covers("*.test", "*.test"));
        assert!(!covers("*.test", "b.a.test"));
        assert!(!covers("*.a.test", "*.b.a.test"));
        assert!(!covers("*.test", "test"));
    }
}
