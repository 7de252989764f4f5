//! Servers that a test starts on loopback and ends.

use std::env;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::net::TcpStream;

/// A process that ends with its test.
#[derive(Debug)]
pub(crate) struct Process(Child);

// === impl Process ===

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// Ends it at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        let _ignored = self.0.kill();
        self.0.wait().unwrap();
    }

    /// Ends it in order, by a signal.
    pub(crate) fn stop(&mut self, signal: &str) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let id = self.0.id().to_string();
            let _ignored = Command::new("kill").args([signal, &id]).status();
            let _ignored = self.0.wait();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ignored = self.0.kill();
        let _ignored = self.0.wait();
    }
}

/// A port of loopback that is free now.
pub(crate) fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Waits until somebody listens there.
pub(crate) async fn listens(port: u16) {
    for _ in 0..600 {
        if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nobody listens at port {port}");
}

/// What a variable of the environment says.
#[expect(clippy::disallowed_methods, reason = "a test may be told where a server is")]
pub(crate) fn told(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The program of this name, if this machine has it.
#[expect(clippy::disallowed_methods, reason = "a test may look for a program")]
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = env::split_paths(&path).collect();
    places.extend(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    // Debian keeps the versions of PostgreSQL apart, and none of them on the path.
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    places.extend(versions.map(|version| version.path().join("bin")));
    places
        .iter()
        .map(|place| place.join(name))
        .find(|file| file.is_file())
}
