//! What a configuration was read from, and when that changes: by content, so that neither a new time stamp nor a
//! symbolic link that leads elsewhere matters, only what is read through it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use caddy_config::{FileError, Surroundings};
use tokio::{task, time};

use crate::files::Files;

/// How often the files are read again.
const EVERY: Duration = Duration::from_secs(1);

/// How long they must stay the same before they are taken: whoever saves one may be in the middle of it.
const SETTLED: Duration = Duration::from_millis(250);

/// What files and directories held when they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    files: BTreeMap<PathBuf, File>,
    directories: BTreeMap<PathBuf, Content>,
}

/// A hash of what was read; `None` if it could not be.
type Content = Option<u64>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct File {
    /// The most bytes that were wanted.
    limit: usize,
    content: Content,
}

/// Files that remember what was read.
pub(crate) struct Recording<'f> {
    files: &'f Files,
    seen: RefCell<Seen>,
}

// === impl Recording ===

impl<'f> Recording<'f> {
    pub(crate) fn new(files: &'f Files) -> Self {
        Self {
            files,
            seen: RefCell::default(),
        }
    }

    pub(crate) fn into_seen(self) -> Seen {
        self.seen.into_inner()
    }
}

impl Surroundings for Recording<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.files.variable(name)
    }

    fn read(&self, path: &Path, limit: usize) -> Result<Vec<u8>, FileError> {
        let read = self.files.read(path, limit);
        let content = read.as_ref().ok().map(|bytes| hash(bytes));
        let file = File { limit, content };
        self.seen.borrow_mut().files.insert(path.to_owned(), file);
        read
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>, FileError> {
        let list = self.files.list(directory);
        let content = list.as_ref().ok().map(|names| hash_names(names));
        let mut seen = self.seen.borrow_mut();
        seen.directories.insert(directory.to_owned(), content);
        list
    }
}

// === impl Seen ===

impl Seen {
    /// What the same files and directories hold now.
    fn again(&self, files: &Files) -> Self {
        let recording = Recording::new(files);
        for (path, file) in &self.files {
            let _recorded = recording.read(path, file.limit);
        }
        for directory in self.directories.keys() {
            let _recorded = recording.list(directory);
        }
        recording.into_seen()
    }

    /// Waits until anything of it has changed and stays as it is then. What the files hold is compared with what was
    /// read, so that no change is missed that comes while a configuration is loaded.
    pub(crate) async fn changed(&self, files: &Files) {
        let mut before = self.clone();
        loop {
            let is_settled = before != *self;
            time::sleep(if is_settled { SETTLED } else { EVERY }).await;
            let now = look(before.clone(), files.clone()).await;
            if is_settled && now == before {
                return;
            }
            before = now;
        }
    }
}

/// On a thread that may wait for the disk.
async fn look(seen: Seen, files: Files) -> Seen {
    let looking = task::spawn_blocking({
        let seen = seen.clone();
        move || seen.again(&files)
    });
    looking.await.unwrap_or(seen)
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn hash_names(names: &[String]) -> u64 {
    let mut names: Vec<&String> = names.iter().collect();
    names.sort();
    let mut hasher = DefaultHasher::new();
    names.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use futures_util::FutureExt as _;

    use super::*;

    /// A directory with `Caddyfile`, and what was seen of it.
    struct Watched {
        folder: tempfile::TempDir,
        files: Files,
        seen: Seen,
    }

    impl Watched {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("Caddyfile"), "one").unwrap();
            let files = Files::default();
            let recording = Recording::new(&files);
            recording.read(&folder.path().join("Caddyfile"), 1000).unwrap();
            recording.list(folder.path()).unwrap();
            let seen = recording.into_seen();
            Self { folder, files, seen }
        }

        fn has_changed(&self) -> bool {
            self.seen.again(&self.files) != self.seen
        }
    }

    #[test]
    fn a_new_time_stamp_is_no_change_and_new_content_is() {
        let watched = Watched::new();
        let path = watched.folder.path().join("Caddyfile");
        fs::write(&path, "one").unwrap();
        assert!(!watched.has_changed());
        fs::write(&path, "two").unwrap();
        assert!(watched.has_changed());
        fs::write(&path, "one").unwrap();
        assert!(!watched.has_changed());
        fs::remove_file(&path).unwrap();
        assert!(watched.has_changed());
    }

    #[test]
    fn a_file_more_in_a_directory_is_a_change() {
        let watched = Watched::new();
        fs::write(watched.folder.path().join("other"), "").unwrap();
        assert!(watched.has_changed());
    }

    #[test]
    fn a_link_that_leads_elsewhere_is_a_change_if_it_leads_to_something_else() {
        // As Kubernetes mounts configuration: Caddyfile -> ..data/Caddyfile, ..data -> ..1, which is swapped.
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (directory, text) in [("..1", "same"), ("..2", "same"), ("..3", "other")] {
            fs::create_dir(path(directory)).unwrap();
            fs::write(path(directory).join("Caddyfile"), text).unwrap();
        }
        let lead_to = |directory: &str| {
            symlink(directory, path("..data_tmp")).unwrap();
            fs::rename(path("..data_tmp"), path("..data")).unwrap();
        };
        lead_to("..1");
        symlink("..data/Caddyfile", path("Caddyfile")).unwrap();
        let files = Files::default();
        let recording = Recording::new(&files);
        recording.read(&path("Caddyfile"), 1000).unwrap();
        let seen = recording.into_seen();
        lead_to("..2");
        assert_eq!(seen.again(&files), seen);
        lead_to("..3");
        assert_ne!(seen.again(&files), seen);
    }

    #[tokio::test]
    async fn a_change_that_came_before_the_wait_is_seen() {
        let watched = Watched::new();
        assert!(watched.seen.changed(&watched.files).now_or_never().is_none());
        fs::write(watched.folder.path().join("Caddyfile"), "two").unwrap();
        watched.seen.changed(&watched.files).await;
    }
}
