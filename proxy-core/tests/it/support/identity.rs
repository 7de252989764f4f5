//! Certificates of clients, made for a test.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    SerialNumber, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// An authority that signs certificates of clients, in a file.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

/// A certificate and its key.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

// === impl Authority ===

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = params("authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).expect("the folder takes a file");
        Self { issuer, folder }
    }

    /// The file with its certificate.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A file with this certificate.
    pub(crate) fn file_of(&self, identity: &Identity, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        write_pem(&path, &identity.chain[0]);
        path
    }

    /// A certificate for `name` with the number 4660.
    pub(crate) fn sign(&self, name: &str) -> Identity {
        self.signed(&params(name))
    }

    /// One that was good until 2021.
    pub(crate) fn sign_expired(&self, name: &str) -> Identity {
        let mut params = params(name);
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
        self.signed(&params)
    }

    fn signed(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity {
            chain: vec![certificate.der().clone()],
            key: key.into(),
        }
    }
}

// === impl Identity ===

impl Identity {
    /// One that nobody has signed but itself.
    pub(crate) fn of_its_own(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let certificate = params(name).self_signed(&key).expect("a certificate");
        Self {
            chain: vec![certificate.der().clone()],
            key: key.into(),
        }
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self {
            chain: self.chain.clone(),
            key: self.key.clone_key(),
        }
    }
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.serial_number = Some(SerialNumber::from(4660_u64));
    params
}

fn write_pem(path: &Path, der: &CertificateDer<'_>) {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let text = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    std::fs::write(path, text).expect("the folder takes a file");
}
