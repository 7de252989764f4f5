//! The certificate of the TLS workloads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// A certificate for `localhost` and its key, in files.
#[derive(Debug)]
pub(crate) struct Certificate {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
    /// Both in one file, for HAProxy.
    pub(super) both: PathBuf,
}

// === impl Certificate ===

impl Certificate {
    /// Has `openssl` make it.
    pub(super) fn make(directory: &Path) -> Result<Self> {
        let file = |name: &str| directory.join(name);
        let made = Self {
            chain: file("cert.pem"),
            key: file("key.pem"),
            both: file("both.pem"),
        };
        let mut command = Command::new("openssl");
        command.args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split(' '));
        command.args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ]);
        command
            .arg("-keyout")
            .arg(&made.key)
            .arg("-out")
            .arg(&made.chain)
            .stdin(Stdio::null());
        let output = command.output().context("cannot run openssl")?;
        ensure!(
            output.status.success(),
            "openssl: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        fs::write(
            &made.both,
            [fs::read(&made.chain)?, fs::read(&made.key)?].concat(),
        )?;
        Ok(made)
    }
}
