//! The signatures by which the other side of a handshake shows that it has the key to its certificate.

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use rustls_pki_types::CertificateDer;

/// Verifies them, whoever signs.
#[derive(Debug)]
pub(super) struct Signatures(WebPkiSupportedAlgorithms);

// === impl Signatures ===

impl Signatures {
    /// By the algorithms of `provider`.
    pub(super) fn of(provider: &CryptoProvider) -> Self {
        Self(provider.signature_verification_algorithms)
    }

    /// Of TLS 1.2.
    pub(super) fn verify_tls12(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    /// Of TLS 1.3.
    pub(super) fn verify_tls13(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    /// What can be verified.
    pub(super) fn schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
