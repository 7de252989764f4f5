//! Certificates of hosts that sources of routes define.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use rustls::sign::CertifiedKey;
use tracing::{info, warn};

use super::config::Certificates;
use super::files::{self, FileError};

/// The certificate of one host, from files. It is read again when they change.
pub(crate) struct HostKey {
    key: ArcSwap<CertifiedKey>,
    certificate: PathBuf,
    private: PathBuf,
    /// What was in the files when somebody last looked, as a number.
    seen: AtomicU64,
}

/// Who knows the certificates of hosts, once somebody does.
#[derive(Default)]
pub(crate) struct HostKeys(OnceLock<Box<Find>>);

/// The certificate for a name in lower case.
type Find = dyn Fn(&str) -> Option<Arc<CertifiedKey>> + Send + Sync;

// === impl HostKeys ===

impl HostKeys {
    /// From now on `find` is asked.
    pub(crate) fn ask(&self, find: impl Fn(&str) -> Option<Arc<CertifiedKey>> + Send + Sync + 'static) {
        // One process has one table of hosts.
        let _already = self.0.set(Box::new(find));
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        self.0.get()?(name)
    }
}

impl fmt::Debug for HostKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostKeys")
    }
}

// === impl HostKey ===

impl HostKey {
    /// What clients are shown.
    pub(crate) fn current(&self) -> Arc<CertifiedKey> {
        self.key.load_full()
    }

    /// Reads the files again if they are others than before. Broken ones change nothing, and are told of once.
    pub(crate) fn follow(&self, certificates: &Certificates) {
        let now = contents(&self.certificate, &self.private);
        if self.seen.swap(now, Ordering::Relaxed) == now {
            return;
        }
        let certificate = self.certificate.display();
        match files::load(&self.certificate, &self.private, certificates.provider()) {
            Ok(loaded) => {
                self.key.store(Arc::new(loaded.key));
                info!(%certificate, "the certificate of a host was read again");
            }
            Err(error) => warn!(%error, "the certificate of a host stays as it is"),
        }
    }
}

impl fmt::Debug for HostKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostKey")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

// === impl Certificates ===

impl Certificates {
    /// The certificate of a host from files. Reads the disk.
    ///
    /// # Errors
    /// Files that cannot be used.
    pub(crate) fn host_key(&self, certificate: &Path, private: &Path) -> Result<HostKey, FileError> {
        // Before they are read: what is written meanwhile is seen the next time.
        let seen = AtomicU64::new(contents(certificate, private));
        let loaded = files::load(certificate, private, self.provider())?;
        Ok(HostKey {
            key: ArcSwap::from_pointee(loaded.key),
            certificate: certificate.to_owned(),
            private: private.to_owned(),
            seen,
        })
    }
}

fn contents(certificate: &Path, private: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    for path in [certificate, private] {
        files::bytes(path).ok().hash(&mut hasher);
    }
    hasher.finish()
}
