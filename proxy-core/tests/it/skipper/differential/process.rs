//! Real Skipper as a child process, killed when dropped.

use std::env;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::support::wait::eventually;

/// The version that the differences are those from.
const VERSION: &str = "v0.22.0";

/// Where its log goes, in its home.
const LOG: &str = "log";

/// A running Skipper.
pub(super) struct Skipper {
    child: Child,
    addr: SocketAddr,
    home: TempDir,
}

/// The right one: what `DOORWAY_TEST_SKIPPER` names, else that of `cargo xtask skipper`, else that on the path; or why
/// there is none.
pub(super) fn program() -> Result<PathBuf, String> {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools/bin/skipper");
    let program = match env::var_os("DOORWAY_TEST_SKIPPER") {
        Some(named) => PathBuf::from(named),
        None if built.is_file() => built,
        None => PathBuf::from("skipper"),
    };
    let Ok(version) = Command::new(&program).arg("-version").output() else {
        return Err("skipper is not installed, `cargo xtask skipper` builds it".to_owned());
    };
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if version.contains(VERSION) {
        return Ok(program);
    }
    Err(format!(
        "the differences are from skipper {VERSION}, this is {version}"
    ))
}

// === impl Skipper ===

impl Skipper {
    /// Starts it with these routes and waits until it listens.
    pub(super) async fn start(program: &Path, routes: &str, flags: &[String]) -> Self {
        let home = TempDir::new().unwrap();
        let file = home.path().join("routes.eskip");
        fs::write(&file, routes).unwrap();
        let log = File::create(home.path().join(LOG)).unwrap();
        let addr = free_address();
        let child = Command::new(program)
            .args(["-address", &addr.to_string()])
            .args(["-support-listener", &free_address().to_string()])
            .arg("-routes-file")
            .arg(file)
            .args([
                "-wait-first-route-load",
                "-enable-ratelimits",
                "-access-log-disabled",
            ])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut skipper = Self { child, addr, home };
        skipper.until_it_listens().await;
        skipper
    }

    /// Where it listens.
    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    async fn until_it_listens(&mut self) {
        eventually("the start of skipper", async || {
            if self.child.try_wait().unwrap().is_some() {
                let said = fs::read_to_string(self.home.path().join(LOG)).unwrap();
                panic!("skipper does not start:\n{said}");
            }
            TcpStream::connect(self.addr).await.ok()
        })
        .await;
    }
}

impl Drop for Skipper {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// An address that was free a moment ago.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}
