//! Certificates and private keys from PEM files.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls::{InconsistentKeys, RootCertStore};
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use thiserror::Error;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate, X509Version};

use super::name::ServedName;

/// No chain and no key is longer; a path that leads to something endless must not fill the memory.
const MAX_FILE: u64 = 1 << 20;
const DAY: i64 = 24 * 60 * 60;
/// A certificate that ends sooner should have been renewed by now.
const EXPIRES_SOON: i64 = 7 * DAY;

/// A certificate with its key, and what is good to know about it.
pub(super) struct Loaded {
    pub(super) key: CertifiedKey,
    pub(super) facts: Facts,
}

/// What a certificate says of itself. Times are seconds since 1970.
pub(super) struct Facts {
    pub(super) not_before: i64,
    pub(super) not_after: i64,
    pub(super) is_authority: bool,
    names: Vec<ServedName>,
}

/// A file that cannot be used. It never shows what is in it.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub(crate) struct FileError {
    path: PathBuf,
    #[source]
    problem: FileProblem,
}

/// What is wrong with a file, and what to do about it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum FileProblem {
    #[error("cannot be read: {0}; check the path, and that the proxy's user may read it")]
    Unreadable(#[source] io::Error),
    #[error("is longer than 1 MiB, which no certificate or key is; check the path")]
    TooLong,
    #[error("is not valid PEM; it may have been cut off or edited")]
    BadPem,
    #[error(
        "holds no certificate (-----BEGIN CERTIFICATE-----); give the certificate first and then the key"
    )]
    NoCertificate,
    #[error("holds no certificate (-----BEGIN CERTIFICATE-----); check the path")]
    NothingToTrust,
    #[error(
        "holds no private key (-----BEGIN PRIVATE KEY-----); give the certificate first and then the key"
    )]
    NoKey,
    #[error("holds an encrypted private key; decrypt it, for example with: openssl pkey -in OLD -out NEW")]
    EncryptedKey,
    #[error(
        "certificate number {0} in it is not an authority's, so no certificate of a client may come from it; name the \
         authority's, or the certificates of the clients themselves with trusted_leaf_cert_file"
    )]
    NotAuthority(usize),
    #[error("certificate number {0} in it is damaged")]
    BadCertificate(usize),
    #[error(
        "the private key is damaged or of a kind that is not supported; use ECDSA, Ed25519 or RSA from 2048 bits"
    )]
    BadKey,
    #[error("the private key is not that of the certificate in {}; give the two files that belong together", .0.display())]
    OtherKey(PathBuf),
    #[error("the private key is that of certificate number {number} in {}; put that one first", certificate.display())]
    WrongOrder { certificate: PathBuf, number: usize },
}

// === impl Loaded ===

/// Loads a certificate chain and its key, and checks that they belong together. Reads the disk.
pub(super) fn load(certificate: &Path, key: &Path, provider: &CryptoProvider) -> Result<Loaded, FileError> {
    let chain = read_chain(certificate)?;
    let at_certificate = |problem| FileError::new(certificate, problem);
    let facts: Vec<Facts> = chain
        .iter()
        .enumerate()
        .map(|(index, der)| Facts::read(der).ok_or(FileProblem::BadCertificate(index + 1)))
        .collect::<Result<_, _>>()
        .map_err(at_certificate)?;
    let private_key = read_key(key)?;
    let key =
        certify(chain, private_key, certificate, provider).map_err(|problem| FileError::new(key, problem))?;
    let facts = facts
        .into_iter()
        .next()
        .ok_or(FileProblem::NoCertificate)
        .map_err(at_certificate)?;
    Ok(Loaded { key, facts })
}

impl Loaded {
    /// What is wrong with the certificate for a site with these names, though it can be used. One line each.
    pub(super) fn warnings(&self, names: &[ServedName], now: UnixTime) -> Vec<String> {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let mut warnings = Vec::new();
        let left = self.facts.not_after.saturating_sub(now);
        if left < 0 {
            warnings.push(format!(
                "the certificate expired {} days ago; clients will refuse it",
                -left / DAY
            ));
        } else if left < EXPIRES_SOON {
            warnings.push(format!("the certificate expires in {} days", left / DAY));
        }
        if now < self.facts.not_before {
            warnings.push("the certificate is not valid yet; check the clock".into());
        }
        for name in names.iter().filter(|name| !self.facts.covers(name)) {
            let name = name.in_certificate();
            warnings.push(format!(
                "the certificate is not for {name}; clients will refuse it"
            ));
        }
        warnings
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("names", &self.facts.names)
            .finish_non_exhaustive()
    }
}

// === impl Facts ===

impl Facts {
    /// Reads a certificate; none if it is damaged.
    pub(super) fn read(der: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let alternatives = certificate.subject_alternative_name().ok()?;
        let names = alternatives
            .iter()
            .flat_map(|extension| &extension.value.general_names);
        Some(Self {
            not_before: certificate.validity().not_before.timestamp(),
            not_after: certificate.validity().not_after.timestamp(),
            is_authority: certificate.is_ca(),
            names: names.filter_map(served_name).collect(),
        })
    }

    /// Whether clients take the certificate for `name`.
    pub(super) fn covers(&self, name: &ServedName) -> bool {
        self.names.iter().any(|own| own.covers(name))
    }
}

// === impl FileError ===

impl FileError {
    fn new(path: &Path, problem: FileProblem) -> Self {
        Self {
            path: path.into(),
            problem,
        }
    }
}

// === helpers ===

/// The authorities of a PEM file, at least one: certificates that others can come from. Reads the disk.
pub(crate) fn authorities(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    checked(path, |certificate| {
        RootCertStore::empty().add(certificate.clone()).is_ok()
    })
}

/// As [`authorities`], for those that certificates of clients may come from. The library would take any certificate for
/// an authority's: whoever has a site's certificate could make certificates of clients with its key.
pub(crate) fn client_authorities(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let all = authorities(path)?;
    match all.iter().position(|certificate| !may_issue(certificate)) {
        None => Ok(all),
        Some(bad) => Err(FileError::new(path, FileProblem::NotAuthority(bad + 1))),
    }
}

/// Whether certificates may come from this one, by Go's rule: one of version 3 must say that it is an authority's, and
/// none may say anything else.
pub(crate) fn may_issue(certificate: &CertificateDer<'_>) -> bool {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else {
        return false;
    };
    let (Ok(constraints), Ok(usage)) = (parsed.basic_constraints(), parsed.key_usage()) else {
        return false;
    };
    let is_old = parsed.version() != X509Version::V3;
    constraints.map_or(is_old, |constraints| constraints.value.ca)
        && usage.is_none_or(|usage| usage.value.key_cert_sign())
}

/// The certificates of a PEM file, at least one. Reads the disk.
pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    checked(path, |certificate| Facts::read(certificate).is_some())
}

fn checked(
    path: &Path,
    is_good: impl Fn(&CertificateDer<'static>) -> bool,
) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let all = read_chain(path).map_err(|error| match error.problem {
        FileProblem::NoCertificate => FileError::new(path, FileProblem::NothingToTrust),
        _ => error,
    })?;
    match all.iter().position(|certificate| !is_good(certificate)) {
        None => Ok(all),
        Some(bad) => Err(FileError::new(path, FileProblem::BadCertificate(bad + 1))),
    }
}

/// The certificates of a PEM file, at least one.
fn read_chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let fail = |problem| FileError::new(path, problem);
    let bytes = read(path).map_err(fail)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(fail(FileProblem::NoCertificate)),
        Ok(chain) => Ok(chain),
        Err(_) => Err(fail(FileProblem::BadPem)),
    }
}

/// The first private key of a PEM file.
pub(super) fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, FileError> {
    let fail = |problem| FileError::new(path, problem);
    let bytes = read(path).map_err(fail)?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| {
        let encrypted = bytes.windows(ENCRYPTED.len()).any(|window| window == ENCRYPTED);
        fail(match error {
            pem::Error::NoItemsFound if encrypted => FileProblem::EncryptedKey,
            pem::Error::NoItemsFound => FileProblem::NoKey,
            // The library's error may quote the file.
            _ => FileProblem::BadPem,
        })
    })
}

const ENCRYPTED: &[u8] = b"BEGIN ENCRYPTED PRIVATE KEY";

/// What is in a file, if it is no longer than certificates are.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    read(path).map_err(|problem| FileError::new(path, problem))
}

fn read(path: &Path) -> Result<Vec<u8>, FileProblem> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(FileProblem::Unreadable)?;
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(FileProblem::Unreadable)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(FileProblem::TooLong);
    }
    Ok(bytes)
}

/// Puts certificate and key together if they belong together.
fn certify(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    certificate: &Path,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, FileProblem> {
    let key = provider
        .key_provider
        .load_private_key(key)
        .map_err(|_| FileProblem::BadKey)?;
    let certified = CertifiedKey::new(chain, key);
    let fits = |certificate: &CertificateDer<'static>| {
        let one = CertifiedKey::new(vec![certificate.clone()], certified.key.clone());
        // A key that cannot tell its public half is taken at its word.
        matches!(
            one.keys_match(),
            Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown))
        )
    };
    match certified.cert.iter().position(fits) {
        Some(0) => Ok(certified),
        Some(index) => Err(FileProblem::WrongOrder {
            certificate: certificate.into(),
            number: index + 1,
        }),
        None => Err(FileProblem::OtherKey(certificate.into())),
    }
}

fn served_name(name: &GeneralName<'_>) -> Option<ServedName> {
    match name {
        GeneralName::DNSName(name) => ServedName::parse(name).ok(),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(Into::into);
            let address = v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(Into::into));
            address.ok().map(ServedName::Address)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
