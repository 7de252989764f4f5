//! Runs the built binary and talks to what it serves.

mod http;
mod process;

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
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

/// A port that was free a moment ago. It is below those that the system gives to whoever asks for any, so that nobody has
/// it before it is used.
pub(crate) fn free_port() -> u16 {
    const FIRST: u32 = 20_000;
    const COUNT: u32 = 12_000;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Tests of several processes begin at different ones.
    let start = std::process::id().wrapping_mul(97);
    std::iter::repeat_with(|| start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)))
        .take(1000)
        .map(|number| u16::try_from(FIRST + number % COUNT).unwrap())
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .unwrap()
}
