//! Small files whose content counts as it is now, such as secrets.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use tracing::{info, warn};
use zeroize::Zeroizing;

/// No secret and no list of users is longer; a path that leads to something endless must not fill the memory.
const MOST: u64 = 1 << 20;

/// How often it is looked whether a file has changed.
const EVERY: Duration = Duration::from_secs(1);

/// A file, and what is made of it. It is read anew when it has changed; if that fails, what was made of it last stays.
pub(super) struct Watched<T> {
    path: PathBuf,
    make: Make<T>,
    state: Mutex<State<T>>,
}

/// Makes something of the content of a file. The error must not show it.
type Make<T> = Box<dyn Fn(&[u8]) -> Result<T, String> + Send + Sync>;

struct State<T> {
    value: Arc<T>,
    stamp: Stamp,
    /// When it was looked at last.
    looked: Option<Instant>,
}

/// Tells whether a file has changed; none of one that is not there.
type Stamp = Option<(Option<SystemTime>, u64)>;

// === impl Watched ===

impl<T> Watched<T> {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// It cannot be read, or nothing can be made of it.
    pub(super) fn try_new(
        path: &str,
        make: impl Fn(&[u8]) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let path = PathBuf::from(path);
        let stamp = stamp(&path);
        let content = read(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let value = make(&content).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self {
            path,
            make: Box::new(make),
            state: Mutex::new(State {
                value: Arc::new(value),
                stamp,
                looked: None,
            }),
        })
    }

    /// What is made of the file now. Looks at it once a second at most, and reads it when it has changed: it is a small
    /// one of this machine.
    pub(super) fn current(&self, now: Instant) -> Arc<T> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = state
            .looked
            .is_some_and(|looked| now.saturating_duration_since(looked) < EVERY);
        if is_new {
            return Arc::clone(&state.value);
        }
        state.looked = Some(now);
        let stamp = stamp(&self.path);
        if stamp != state.stamp {
            let made = read(&self.path)
                .map_err(|error| error.to_string())
                .and_then(|content| (self.make)(&content));
            match made {
                Ok(value) => {
                    info!(path = %self.path.display(), "a file of a filter was read again");
                    state.value = Arc::new(value);
                }
                Err(error) => {
                    warn!(path = %self.path.display(), error, "a file of a filter has changed and is of no use; what it held before is used");
                }
            }
            state.stamp = stamp;
        }
        Arc::clone(&state.value)
    }
}

impl<T> fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not what is in it.
        f.debug_struct("Watched")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok(), metadata.len()))
}

fn read(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    // Opening a pipe would wait for whoever writes into it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut content = Zeroizing::new(Vec::new());
    File::open(path)?.take(MOST + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MOST {
        return Err(io::Error::other("it is longer than 1 MiB"));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_file_that_has_changed_is_read_again_within_a_second() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "one").unwrap();
        let make = |content: &[u8]| match content {
            b"" => Err("there is nothing in it".to_owned()),
            content => Ok(content.to_vec()),
        };
        let watched = Watched::try_new(path.to_str().unwrap(), make).unwrap();
        let now = || tokio::time::Instant::now().into_std();
        let content = || watched.current(now()).to_vec();
        assert_eq!(content(), b"one");
        std::fs::write(&path, "three").unwrap();
        assert_eq!(content(), b"one", "it was looked at just now");
        tokio::time::advance(EVERY).await;
        assert_eq!(content(), b"three");
        for breaks in [
            |path: &Path| std::fs::write(path, ""),
            |path: &Path| std::fs::remove_file(path),
        ] {
            breaks(&path).unwrap();
            tokio::time::advance(EVERY).await;
            assert_eq!(content(), b"three", "the last content that was of use");
        }
        std::fs::write(&path, "last").unwrap();
        tokio::time::advance(EVERY).await;
        assert_eq!(content(), b"last");
    }

    #[test]
    fn what_is_in_a_file_is_not_shown() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let path = path.to_str().unwrap();
        assert!(Watched::try_new(path, |content| Ok(content.to_vec())).is_err());
        std::fs::write(path, "secret").unwrap();
        let watched = Watched::try_new(path, |content| Ok(content.to_vec())).unwrap();
        assert!(!format!("{watched:?}").contains("secret"));
    }
}
