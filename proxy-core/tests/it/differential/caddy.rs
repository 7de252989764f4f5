//! Real Caddy as a child process, killed when dropped.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tokio::net::TcpStream;

use super::VARIABLE;
use crate::support::wait::eventually;

/// The version that the answers were recorded with.
const VERSION: &str = "v2.11.7";

/// Where its log goes, in its home.
const LOG: &str = "log";

/// A running Caddy.
pub(super) struct Caddy {
    child: Child,
    addr: SocketAddr,
    home: TempDir,
}

/// Whether the right one is there; else why not.
pub(super) fn is_installed() -> Result<(), String> {
    let Ok(version) = Command::new("caddy").arg("version").output() else {
        return Err("caddy is not installed".to_owned());
    };
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if version.starts_with(VERSION) {
        return Ok(());
    }
    Err(format!(
        "the answers were recorded with caddy {VERSION}, this is {version}"
    ))
}

// === impl Caddy ===

impl Caddy {
    /// Starts it with this Caddyfile and waits until it listens.
    pub(super) async fn start(file: &Path, origin: SocketAddr) -> Self {
        let home = TempDir::new().unwrap();
        let port = free_port();
        let log = File::create(home.path().join(LOG)).unwrap();
        let child = Command::new("caddy")
            .args(["run", "--adapter", "caddyfile", "--config"])
            .arg(file)
            .env("HOME", home.path())
            .env("XDG_DATA_HOME", home.path())
            .env("XDG_CONFIG_HOME", home.path())
            .env("LISTEN", port.to_string())
            .env("ORIGIN", origin.to_string())
            .env(VARIABLE.0, VARIABLE.1)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut caddy = Self {
            child,
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            home,
        };
        caddy.until_it_listens(file).await;
        caddy
    }

    /// Where it listens.
    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    async fn until_it_listens(&mut self, file: &Path) {
        let what = format!("the start of caddy with {}", file.display());
        eventually(&what, async || {
            if self.child.try_wait().unwrap().is_some() {
                let said = fs::read_to_string(self.home.path().join(LOG)).unwrap();
                panic!("caddy does not start with {}:\n{said}", file.display());
            }
            TcpStream::connect(self.addr).await.ok()
        })
        .await;
    }
}

impl Drop for Caddy {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A port that was free a moment ago, of five digits as those of all other sockets here: lengths are compared.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}
