//! The internal authority: certificates for `tls internal`, signed by a root that is made once and kept.
//!
//! The root signs the certificates of sites itself. An intermediate would protect nothing here, since its key would lie
//! beside the root's, and would make each handshake longer.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tempfile::TempDir;
use thiserror::Error;
use tracing::{info, warn};

use super::files::{self, Facts, FileError};
use super::name::ServedName;

/// Where the root is kept below the data directory. Caddy keeps its own under the same names, and it can be used here.
const DIRECTORY: &str = "pki/authorities/local";
const ROOT_CERTIFICATE: &str = "root.crt";
const ROOT_KEY: &str = "root.key";

const HOUR: Duration = Duration::from_secs(60 * 60);
const ROOT_LIFETIME: Duration = Duration::from_secs(3652 * 24 * 60 * 60);
const LEAF_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
/// Clocks differ: certificates are valid from a little before they are made.
const BACKDATE: Duration = HOUR;

/// The longest common name that X.509 allows.
const MAX_COMMON_NAME: usize = 64;

/// Signs certificates with a root key.
#[derive(Debug)]
pub(super) struct InternalCa {
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
    /// Seconds since 1970.
    root_expires: u64,
}

/// A certificate of the authority, with its key.
pub(super) struct Leaf {
    pub(super) key: CertifiedKey,
    /// When to replace it, in seconds since 1970: a third of its life before it ends.
    pub(super) renew_at: u64,
}

/// Why the internal authority cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum CaError {
    /// A file of the authority exists but cannot be used. It is never replaced.
    #[error("the internal authority cannot be loaded, and is not replaced because clients may trust it: {0}")]
    File(#[from] FileError),
    /// Only one of the two files exists.
    #[error(
        "the internal authority is incomplete: {} is missing; restore it, or move {} away to get a new authority",
        missing.display(), other.display()
    )]
    Incomplete {
        /// The file that should be there.
        missing: PathBuf,
        /// The file that is.
        other: PathBuf,
    },
    /// The certificate must not sign others.
    #[error("{}: is not the certificate of an authority; restore the right one, or move it and its key away", .0.display())]
    NoAuthority(PathBuf),
    /// The root's time is over.
    #[error("{}: has expired; move it and its key away to get a new authority, which clients must then trust", .0.display())]
    Expired(PathBuf),
    /// The disk refused.
    #[error("{}: cannot store the internal authority: {source}; check that the proxy's user may write there", path.display())]
    Store {
        /// What was to be written.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The cryptographic library refused to make or sign something.
    #[error("the internal authority cannot make a certificate: {0}")]
    Make(String),
}

// === impl InternalCa ===

impl InternalCa {
    /// Loads the authority from the data directory, or makes it and keeps it there; without a directory it is made for
    /// this process only. Reads and writes the disk.
    pub(super) fn open(
        data: Option<&Path>,
        now: UnixTime,
        provider: &CryptoProvider,
    ) -> Result<Self, CaError> {
        let Some(data) = data else {
            let (root, key) = make_root(now)?;
            warn!(
                "no data directory: the internal authority lasts until the proxy stops, so clients cannot trust it for long"
            );
            return Self::new(root.der().clone(), key);
        };
        let directory = data.join(DIRECTORY);
        let (certificate, key) = (directory.join(ROOT_CERTIFICATE), directory.join(ROOT_KEY));
        match (exists(&certificate)?, exists(&key)?) {
            (true, true) => Self::load(&certificate, &key, now, provider),
            (true, false) => Err(CaError::Incomplete {
                missing: key,
                other: certificate,
            }),
            (false, true) => Err(CaError::Incomplete {
                missing: certificate,
                other: key,
            }),
            (false, false) => {
                let made = make_root(now)?;
                if store(&directory, &made)? {
                    info!(root = %certificate.display(), "made an internal authority; clients must trust its root");
                }
                // Another process may have been first.
                Self::load(&certificate, &key, now, provider)
            }
        }
    }

    fn load(
        certificate: &Path,
        key: &Path,
        now: UnixTime,
        provider: &CryptoProvider,
    ) -> Result<Self, CaError> {
        let loaded = files::load(certificate, key, provider)?;
        if !loaded.facts.is_authority {
            return Err(CaError::NoAuthority(certificate.into()));
        }
        let private_key = files::read_key(key)?;
        warn_if_readable(key);
        let root = loaded.key.cert.into_iter().next();
        let root = root.ok_or_else(|| CaError::NoAuthority(certificate.into()))?;
        let ca = Self::new(root, key_pair(&private_key)?)?;
        if ca.root_expires <= now.as_secs() {
            return Err(CaError::Expired(certificate.into()));
        }
        Ok(ca)
    }

    fn new(root: CertificateDer<'static>, key: KeyPair) -> Result<Self, CaError> {
        let facts = Facts::read(&root).ok_or_else(|| CaError::Make("its root is damaged".into()))?;
        let root_expires = u64::try_from(facts.not_after).unwrap_or_default();
        let issuer = Issuer::from_ca_cert_der(&root, key).map_err(|error| explain(&error))?;
        Ok(Self {
            issuer,
            root,
            root_expires,
        })
    }

    /// The certificate that clients must trust.
    pub(super) fn root(&self) -> &CertificateDer<'static> {
        &self.root
    }

    /// Makes a certificate for `name`. It takes a fraction of a millisecond.
    pub(super) fn mint(
        &self,
        name: &ServedName,
        now: UnixTime,
        provider: &CryptoProvider,
    ) -> Result<Leaf, CaError> {
        let lifetime = LEAF_LIFETIME.min(Duration::from_secs(
            self.root_expires.saturating_sub(now.as_secs()),
        ));
        let name = name.in_certificate();
        let mut params = CertificateParams::new([name.clone()]).map_err(|error| explain(&error))?;
        set_validity(&mut params, now, lifetime);
        params.distinguished_name = DistinguishedName::new();
        if name.len() <= MAX_COMMON_NAME {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;

        let key = KeyPair::generate().map_err(|error| explain(&error))?;
        let certificate = params
            .signed_by(&key, &self.issuer)
            .map_err(|error| explain(&error))?;
        let key = CertifiedKey::from_der(
            vec![certificate.der().clone()],
            PrivateKeyDer::from(key),
            provider,
        );
        let key = key.map_err(|error| CaError::Make(error.to_string()))?;
        Ok(Leaf {
            key,
            renew_at: now.as_secs() + (lifetime * 2 / 3).as_secs(),
        })
    }
}

/// The root that is kept in the data directory, if there is one. It is only read, and nobody need trust it.
pub(super) fn stored_root(data: &Path) -> Option<CertificateDer<'static>> {
    CertificateDer::from_pem_file(data.join(DIRECTORY).join(ROOT_CERTIFICATE)).ok()
}

/// The common name of a certificate; empty if it has none.
pub(super) fn common_name(certificate: &CertificateDer<'_>) -> String {
    let Ok((_, parsed)) = x509_parser::parse_x509_certificate(certificate) else {
        return String::new();
    };
    let name = parsed.subject().iter_common_name().next();
    name.and_then(|name| name.as_str().ok())
        .unwrap_or_default()
        .to_owned()
}

// === helpers ===

fn make_root(now: UnixTime) -> Result<(Certificate, KeyPair), CaError> {
    let mut params = CertificateParams::default();
    set_validity(&mut params, now, ROOT_LIFETIME);
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, "Doorway Local Authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate().map_err(|error| explain(&error))?;
    let root = params.self_signed(&key).map_err(|error| explain(&error))?;
    Ok((root, key))
}

fn key_pair(key: &PrivateKeyDer<'_>) -> Result<KeyPair, CaError> {
    KeyPair::try_from(key).map_err(|error| explain(&error))
}

/// Makes a certificate valid for `lifetime` from `now` on.
fn set_validity(params: &mut CertificateParams, now: UnixTime, lifetime: Duration) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let now = Duration::from_secs(now.as_secs());
    params.not_before = epoch + now.saturating_sub(BACKDATE);
    params.not_after = epoch + (now + lifetime);
}

fn explain(error: &rcgen::Error) -> CaError {
    CaError::Make(error.to_string())
}

/// Whether there is something at `path`. A directory that may not be searched is no reason to make a new authority.
fn exists(path: &Path) -> Result<bool, CaError> {
    path.try_exists().map_err(|source| CaError::Store {
        path: path.into(),
        source,
    })
}

/// Puts both files in place in one step, so that a crash leaves either none or both. Says whether it was done; not if
/// another process was first.
fn store(directory: &Path, (root, key): &(Certificate, KeyPair)) -> Result<bool, CaError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| CaError::Store { path, source }
    };
    let parent = directory.parent().unwrap_or(directory);
    private_directories(parent).map_err(at(parent))?;
    let made = private_scratch(parent).map_err(at(parent))?;
    write_private(&made.path().join(ROOT_KEY), key.serialize_pem().as_bytes()).map_err(at(directory))?;
    write_private(&made.path().join(ROOT_CERTIFICATE), root.pem().as_bytes()).map_err(at(directory))?;
    sync_directory(made.path()).map_err(at(directory))?;
    match fs::rename(made.path(), directory) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => return Ok(false),
        Err(error) => return Err(at(directory)(error)),
    }
    sync_directory(parent).map_err(at(parent))?;
    Ok(true)
}

fn private_directories(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// A new directory for its owner alone, removed again with the value unless it was renamed.
fn private_scratch(parent: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.prefix(".local-").tempdir_in(parent)
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Elsewhere directories cannot be opened as files, and a rename is as durable as it gets.
#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn warn_if_readable(key: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(key)
        .map(|metadata| metadata.permissions().mode())
        .unwrap_or_default();
    if mode & 0o077 != 0 {
        warn!(key = %key.display(), "other users can reach the key of the internal authority; chmod 600 it");
    }
}

#[cfg(not(unix))]
fn warn_if_readable(_key: &Path) {}

#[cfg(test)]
mod tests;
