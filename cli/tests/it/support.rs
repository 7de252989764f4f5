//! Runs the built binary and talks to what it serves.

mod http;
mod process;

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) use self::http::{Answer, Client, Lines};
pub(crate) use self::process::{Finished, Running, doorway, finish, finish_with_input, with_files};

/// How long a test waits for something that should happen at once. Never reached unless something is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A secret that no one uses.
pub(crate) const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// An empty directory of one test, removed at its end.
pub(crate) struct Directory(PathBuf);

// === impl Directory ===

impl Directory {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("it-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A directory with one file.
    pub(crate) fn with(name: &str, text: &str) -> Self {
        let directory = Self::new();
        directory.write(name, text);
        directory
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}
