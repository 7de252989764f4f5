//! How https is spoken.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use crate::settings::{SettingError, Tls};

/// Looks up another host than that of the URL, which is the name that the certificate must be for.
#[derive(Debug)]
pub(super) struct Elsewhere(Arc<str>);

/// Believes any certificate.
#[derive(Debug)]
struct Credulous(Arc<CryptoProvider>);

// === impl Elsewhere ===

impl Elsewhere {
    pub(super) fn new(host: &str) -> Self {
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        Self(inner.unwrap_or(host).into())
    }
}

impl Resolve for Elsewhere {
    fn resolve(&self, _: Name) -> Resolving {
        let host = Arc::clone(&self.0);
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((&*host, 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// `is_needed` is false where https is not spoken: then no authorities are read.
pub(super) fn config(tls: &Tls, is_needed: bool) -> Result<ClientConfig, SettingError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| SettingError::new("tls", error.to_string()))?;
    let builder = if tls.insecure && is_needed {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Credulous(provider)))
    } else {
        let roots = if is_needed {
            roots(tls)?
        } else {
            RootCertStore::empty()
        };
        builder.with_root_certificates(roots)
    };
    match (&tls.client_cert, &tls.client_key) {
        (Some(cert), Some(key)) if is_needed => {
            let chain = certificates(cert, "tls.client_cert")?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| {
                SettingError::new("tls.client_key", format!("{}: {error}", key.display()))
            })?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| SettingError::new("tls.client_cert", error.to_string()))
        }
        _ => Ok(builder.with_no_client_auth()),
    }
}

fn roots(tls: &Tls) -> Result<RootCertStore, SettingError> {
    let mut roots = RootCertStore::empty();
    let mut found = Vec::new();
    if let Some(file) = &tls.ca {
        found.extend(certificates(file, "tls.ca")?);
    }
    if let Some(directory) = &tls.ca_path {
        let field = "tls.ca_path";
        let failed =
            |error: std::io::Error| SettingError::new(field, format!("{}: {error}", directory.display()));
        for entry in fs::read_dir(directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_file() {
                found.extend(certificates(&path, field)?);
            }
        }
    }
    if tls.ca.is_none() && tls.ca_path.is_none() {
        found = rustls_native_certs::load_native_certs().certs;
        roots.add_parsable_certificates(found);
        return Ok(roots);
    }
    for certificate in found {
        roots
            .add(certificate)
            .map_err(|error| SettingError::new("tls.ca", error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(SettingError::new("tls.ca", "there is no certificate in it"));
    }
    Ok(roots)
}

fn certificates(file: &Path, field: &'static str) -> Result<Vec<CertificateDer<'static>>, SettingError> {
    let failed = |error: rustls_pki_types::pem::Error| {
        SettingError::new(field, format!("{}: {error}", file.display()))
    };
    let all = CertificateDer::pem_file_iter(file).map_err(failed)?;
    all.collect::<Result<_, _>>().map_err(failed)
}

// === impl Credulous ===

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
