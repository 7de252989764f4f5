//! Certificates in files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use k8s_openapi::api::core::v1::Secret;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use tracing::warn;

use super::cluster::Key;
use super::tls::{Pair, pair};

/// The files of a certificate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CertificateFiles {
    /// The certificate and those that vouch for it.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// What has become of a Secret that a certificate is wanted from.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Certificate {
    /// Its files: those of an earlier state if the Secret cannot be used now.
    pub files: Option<CertificateFiles>,
    /// Why the Secret cannot be used now.
    pub problem: Option<String>,
}

/// What has become of all Secrets that certificates are wanted from.
pub type Certificates = BTreeMap<Key, Certificate>;

/// A directory with certificates. Names carry a hash of the content, so a file never changes.
#[derive(Debug)]
pub struct Files {
    directory: PathBuf,
    current: BTreeMap<Key, CertificateFiles>,
    /// What was in use at the last clean-up: somebody may still be about to read it.
    previous: BTreeSet<PathBuf>,
}

// === impl Files ===

impl Files {
    /// A directory, which need not exist yet. It should hold nothing else.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            current: BTreeMap::new(),
            previous: BTreeSet::new(),
        }
    }

    /// Writes what is new. A Secret that cannot be used keeps its last good files, those of an earlier process too.
    ///
    /// It blocks on the file system.
    pub fn update(&mut self, wanted: &BTreeMap<Key, Option<Secret>>) -> Certificates {
        self.current.retain(|key, _| wanted.contains_key(key));
        let mut certificates = Certificates::new();
        for (key, secret) in wanted {
            let written = self.write(key, secret.as_ref());
            if let Ok(files) = &written {
                self.current.insert(key.clone(), files.clone());
            } else if !self.current.contains_key(key)
                && let Some(files) = self.left(key)
            {
                self.current.insert(key.clone(), files);
            }
            let certificate = Certificate {
                files: self.current.get(key).cloned(),
                problem: written.err(),
            };
            certificates.insert(key.clone(), certificate);
        }
        certificates
    }

    /// Removes files that are in use neither now nor since the last call. Call it after the routes were published.
    ///
    /// It blocks on the file system.
    pub fn remove_unused(&mut self) {
        let used: BTreeSet<PathBuf> = self
            .current
            .values()
            .flat_map(|files| [files.certificate.clone(), files.key.clone()])
            .collect();
        for path in self.list().unwrap_or_default() {
            if used.contains(&path) || self.previous.contains(&path) {
                continue;
            }
            if let Err(error) = fs::remove_file(&path) {
                warn!(%error, file = %path.display(), "an unused certificate cannot be removed");
            }
        }
        self.previous = used;
    }

    fn write(&self, key: &Key, secret: Option<&Secret>) -> Result<CertificateFiles, String> {
        let secret = secret.ok_or("the Secret is not there, or may not be read")?;
        let pair = pair(secret).map_err(|error| error.to_string())?;
        let files = self.names(key, pair);
        let write = || {
            self.prepare()?;
            self.write_file(&files.key, pair.key)?;
            self.write_file(&files.certificate, pair.certificate)
        };
        write()
            .map(|()| files.clone())
            .map_err(|error: io::Error| format!("it cannot be written to a file: {error}"))
    }

    fn prepare(&self) -> io::Result<()> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)?;
        if fs::metadata(&self.directory)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(&self.directory, fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// A file is there as a whole or not at all; a temporary one is readable by its owner alone from the beginning.
    fn write_file(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        if fs::read(path).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        let mut file = NamedTempFile::new_in(&self.directory)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    fn names(&self, key: &Key, pair: Pair<'_>) -> CertificateFiles {
        let start = format!("{}{}", start(key), hex(&[pair.certificate, b"\0", pair.key], 16));
        CertificateFiles {
            certificate: self.directory.join(format!("{start}.crt")),
            key: self.directory.join(format!("{start}.key")),
        }
    }

    /// The files of a Secret that an earlier process has written.
    fn left(&self, key: &Key) -> Option<CertificateFiles> {
        let start = start(key);
        let listed = self.list().ok()?;
        let mut certificates = listed.into_iter().filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            let is_its = name.is_some_and(|name| name.starts_with(&start));
            is_its && path.extension().is_some_and(|end| end == "crt")
        });
        certificates.find_map(|certificate| {
            let key = certificate.with_extension("key");
            key.exists().then_some(CertificateFiles { certificate, key })
        })
    }

    /// The files of certificates, sorted.
    fn list(&self) -> io::Result<BTreeSet<PathBuf>> {
        let mut paths = BTreeSet::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "crt" || end == "key") {
                paths.insert(path);
            }
        }
        Ok(paths)
    }
}

/// What the names of all files of a Secret begin with. Long names are cut; the hash tells them apart.
fn start(key: &Key) -> String {
    let shown: String = format!("{}.{}", key.namespace, key.name)
        .chars()
        .take(120)
        .collect();
    let id = hex(&[key.namespace.as_bytes(), b"/", key.name.as_bytes()], 4);
    format!("{shown}-{id}-")
}

/// The first bytes of a hash.
fn hex(parts: &[&[u8]], bytes: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    let digest = hash.finalize();
    digest.iter().take(bytes).fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _written = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    const A: (&str, &str) = (
        include_str!("../../tests/it/kubernetes/pem/a.crt"),
        include_str!("../../tests/it/kubernetes/pem/a.key"),
    );
    const B: (&str, &str) = (
        include_str!("../../tests/it/kubernetes/pem/b.crt"),
        include_str!("../../tests/it/kubernetes/pem/b.key"),
    );

    fn wanted(pair: (&str, &str)) -> BTreeMap<Key, Option<Secret>> {
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        let data = [("tls.crt", pair.0), ("tls.key", pair.1)];
        let data = data.map(|(name, text)| (name.to_owned(), bytes(text)));
        let secret = Secret {
            data: Some(data.into()),
            type_: Some("kubernetes.io/tls".to_owned()),
            ..Secret::default()
        };
        [(Key::new("shop", "cert"), Some(secret))].into()
    }

    #[test]
    fn files_outlive_their_use_by_one_clean_up() {
        let directory = tempfile::tempdir().unwrap();
        let mut files = Files::new(directory.path());
        let name = |certificates: &Certificates| {
            let files = certificates.values().next().unwrap().files.clone();
            files.unwrap().key
        };
        let old = name(&files.update(&wanted(A)));
        files.remove_unused();
        let new = name(&files.update(&wanted(B)));
        files.remove_unused();
        assert!(
            old.exists() && new.exists(),
            "somebody may be about to read the old one"
        );
        files.remove_unused();
        assert!(!old.exists() && new.exists());
    }

    #[test]
    fn names_of_any_length_fit_and_differ() {
        let long = |last: &str| start(&Key::new("n".repeat(63), format!("{}{last}", "a.".repeat(120))));
        assert!(long("x").len() < 180);
        assert_ne!(long("x"), long("y"));
    }
}
