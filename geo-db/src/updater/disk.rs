//! The last good archive on disk, so that a start needs no network.
//!
//! Two files for each URL: the archive as it came, and what is known about it. The latter names the digest of the
//! former: validators of another archive, left over by a crash between the two, are never used.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tracing::warn;

use super::fetch::{Download, Validators};
use crate::{
    Table,
    archive::{self, Limits},
};

/// Where the archive of one URL is kept.
#[derive(Clone, Debug)]
pub(super) struct Store {
    archive: PathBuf,
    facts: PathBuf,
}

/// What is known about a kept archive. Times are seconds since 1970.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Facts {
    sha256: String,
    fetched: u64,
    checked: u64,
    #[serde(flatten)]
    pub(super) validators: Validators,
}

/// What a start begins with.
pub(super) struct Kept {
    pub(super) table: Table,
    pub(super) facts: Facts,
}

// === impl Store ===

impl Store {
    pub(super) fn new(directory: &Path, url: &str) -> Self {
        let name: String = hex(&Sha256::digest(url)).chars().take(16).collect();
        Self {
            archive: directory.join(format!("geo-{name}.tar.gz")),
            facts: directory.join(format!("geo-{name}.json")),
        }
    }

    /// Reads what is kept, as carefully as what is fetched. What cannot be used is as good as not there.
    pub(super) fn load(&self, limits: &Limits) -> Option<Kept> {
        match self.try_load(limits) {
            Ok(kept) => Some(kept),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                warn!(%error, file = %self.archive.display(), "the kept country archive cannot be used");
                None
            }
        }
    }

    fn try_load(&self, limits: &Limits) -> io::Result<Kept> {
        let file = File::open(&self.archive)?;
        let modified = file.metadata()?.modified().unwrap_or(UNIX_EPOCH);
        let mut hashing = Hashing {
            from: file,
            hasher: Sha256::new(),
        };
        let table = archive::read(&mut hashing, limits).map_err(io::Error::other)?;
        let sha256 = hex(&hashing.hasher.finalize());
        let facts = self.read_facts().ok().filter(|facts| facts.sha256 == sha256);
        let facts = facts.unwrap_or_else(|| Facts {
            sha256,
            fetched: seconds(modified),
            // Somebody put the archive there: whether it is current is not known.
            checked: 0,
            validators: Validators::default(),
        });
        Ok(Kept { table, facts })
    }

    fn read_facts(&self) -> io::Result<Facts> {
        const MOST: u64 = 16 * 1024;
        let mut text = Vec::new();
        File::open(&self.facts)?.take(MOST).read_to_end(&mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Keeps a good archive in place of the one before.
    pub(super) fn save(&self, download: &Download, now: SystemTime) -> io::Result<()> {
        if let Some(directory) = self.archive.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut hashing = Hashing {
            from: download.reader(),
            hasher: Sha256::new(),
        };
        replace(&self.archive, |file| io::copy(&mut hashing, file).map(|_| ()))?;
        self.write_facts(&Facts {
            sha256: hex(&hashing.hasher.finalize()),
            fetched: seconds(now),
            checked: seconds(now),
            validators: download.validators.clone(),
        })
    }

    /// Notes that the kept archive is current.
    pub(super) fn checked(&self, now: SystemTime) -> io::Result<()> {
        let mut facts = self.read_facts()?;
        facts.checked = seconds(now);
        self.write_facts(&facts)
    }

    fn write_facts(&self, facts: &Facts) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(facts)?;
        replace(&self.facts, |file| file.write_all(&text))
    }
}

// === impl Facts ===

impl Facts {
    pub(super) fn fetched(&self) -> SystemTime {
        time(self.fetched)
    }

    pub(super) fn checked(&self) -> SystemTime {
        time(self.checked)
    }
}

/// Writes a file beside `path` and puts it in its place when it is whole and on disk.
fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = File::create(&beside).and_then(|mut file| {
        write(&mut file)?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&beside, path));
    if replaced.is_err() {
        // Whatever failed is the error to tell; a remnant is overwritten by the next try.
        drop(fs::remove_file(&beside));
    }
    replaced
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn time(seconds: u64) -> SystemTime {
    UNIX_EPOCH
        .checked_add(Duration::from_secs(seconds))
        .unwrap_or(UNIX_EPOCH)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads, and digests what is read.
struct Hashing<R> {
    from: R,
    hasher: Sha256,
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.hasher.update(into.get(..read).unwrap_or_default());
        Ok(read)
    }
}
