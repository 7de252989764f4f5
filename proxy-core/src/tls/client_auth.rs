//! Certificates of clients: whether they are asked for, and which will do.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, UnixTime};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::TlsError;
use super::signatures::Signatures;

/// What clients must show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClientAuth {
    /// A client without a certificate is refused.
    pub(crate) mandatory: bool,
    /// A certificate must come from one of `authorities`; without any, it must be within its dates and among `leaves`.
    pub(crate) verified: bool,
    /// Where certificates may come from. They are named to the client, verified or not.
    pub(crate) authorities: Vec<CertificateDer<'static>>,
    /// Each of these lists must have the very certificate.
    pub(crate) leaves: Vec<Vec<CertificateDer<'static>>>,
}

/// Decides about certificates of clients. That a client has the key to its certificate is always checked.
#[derive(Debug)]
struct Verifier {
    auth: Arc<ClientAuth>,
    /// Verifies where a certificate comes from.
    chains: Option<Arc<dyn ClientCertVerifier>>,
    hints: Vec<DistinguishedName>,
    signatures: Signatures,
}

/// Reads a certificate that is written in a configuration: in DER form, in base64.
///
/// # Errors
/// If it is no certificate.
pub(crate) fn decode(text: &str) -> Result<CertificateDer<'static>, TlsError> {
    let der = STANDARD.decode(text).map_err(|_| TlsError::BadInline)?;
    let der = CertificateDer::from(der);
    match ParsedCertificate::try_from(&der) {
        Ok(_) => Ok(der),
        Err(_) => Err(TlsError::BadInline),
    }
}

// === impl ClientAuth ===

impl ClientAuth {
    /// Whether a connection that was let in on other conditions would be let in on these, as far as that can be said
    /// without its certificate being verified once more.
    pub(crate) fn admits(&self, has_shown_one: bool) -> bool {
        if has_shown_one {
            !self.verified && self.leaves.is_empty()
        } else {
            !self.mandatory
        }
    }

    /// Whether a certificate that is let in is known to be from whom it says.
    pub(crate) fn vouches(&self) -> bool {
        self.verified || !self.leaves.is_empty()
    }

    /// What decides.
    ///
    /// # Errors
    /// If one of the authorities is no certificate that others can come from.
    pub(super) fn verifier(
        auth: &Arc<Self>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
        let mut roots = RootCertStore::empty();
        for authority in &auth.authorities {
            roots.add(authority.clone())?;
        }
        let hints = roots.subjects();
        let chains = if auth.verified && !auth.authorities.is_empty() {
            let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
            Some(
                builder
                    .build()
                    .map_err(|error| Error::General(error.to_string()))?,
            )
        } else {
            None
        };
        Ok(Arc::new(Verifier {
            auth: Arc::clone(auth),
            chains,
            hints,
            signatures: Signatures::of(provider),
        }))
    }
}

// === impl Verifier ===

impl Verifier {
    fn verify_origin(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let is_authority = || self.auth.authorities.iter().any(|known| known == certificate);
        match &self.chains {
            // A certificate that signed itself and is trusted by itself has no chain, but is good.
            Some(chains) if !is_authority() => chains
                .verify_client_cert(certificate, intermediates, now)
                .map(|_| ()),
            _ => verify_alone(certificate, now),
        }
    }
}

impl ClientCertVerifier for Verifier {
    fn client_auth_mandatory(&self) -> bool {
        self.auth.mandatory
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        ParsedCertificate::try_from(end_entity)?;
        if self.auth.verified {
            self.verify_origin(end_entity, intermediates, now)?;
        }
        let is_in = |list: &Vec<CertificateDer<'_>>| list.iter().any(|leaf| leaf == end_entity);
        if self.auth.leaves.iter().all(is_in) {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signatures.verify_tls12(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signatures.verify_tls13(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signatures.schemes()
    }
}

/// Whether a certificate that is trusted by itself is within its dates and may be a client's.
fn verify_alone(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < parsed.validity().not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > parsed.validity().not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    let usage = parsed
        .extended_key_usage()
        .map_err(|_| CertificateError::BadEncoding)?;
    match usage {
        Some(usage) if !usage.value.client_auth && !usage.value.any => {
            Err(CertificateError::InvalidPurpose.into())
        }
        _ => Ok(()),
    }
}
