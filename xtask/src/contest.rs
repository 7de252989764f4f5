//! Proxies that go through the same: Doorway and, if it is here, Caddy, with the same Caddyfile.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::bench::launch::Running;
use crate::metadata::Metadata;
use crate::process::{Cargo, find};

/// A start that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Which proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    Doorway,
    Caddy,
}

/// Which of them take part.
#[derive(Debug, clap::Args)]
pub(crate) struct Choice {
    /// Only this proxy.
    #[arg(long)]
    only: Option<Kind>,
    /// This build of the doorway binary, instead of a release build of this tree.
    #[arg(long, value_name = "PATH")]
    doorway: Option<PathBuf>,
}

/// One that takes part.
#[derive(Debug)]
pub(crate) struct Contender {
    pub(crate) kind: Kind,
    pub(crate) binary: PathBuf,
}

// === impl Kind ===

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Doorway => "doorway",
            Self::Caddy => "caddy",
        }
    }
}

// === impl Choice ===

impl Choice {
    /// The chosen ones that are here; Doorway is built unless a build was named.
    pub(crate) fn contenders(&self, metadata: &Metadata) -> Result<Vec<Contender>> {
        let wants = |kind| self.only.is_none_or(|only| only == kind);
        let mut contenders = Vec::new();
        if wants(Kind::Doorway) {
            let binary = match &self.doorway {
                Some(binary) => binary.clone(),
                None => {
                    Cargo::new("build --release --locked -p doorway").run(&metadata.workspace_root)?;
                    metadata.target_directory.join("release/doorway")
                }
            };
            contenders.push(Contender {
                kind: Kind::Doorway,
                binary,
            });
        }
        if wants(Kind::Caddy) {
            let tool = metadata.target_directory.join("tools/bin/caddy");
            match find("caddy").or_else(|| Some(tool).filter(|tool| tool.is_file())) {
                Some(binary) => contenders.push(Contender {
                    kind: Kind::Caddy,
                    binary,
                }),
                None => println!("skipped: caddy, which is not here"),
            }
        }
        Ok(contenders)
    }
}

// === impl Contender ===

impl Contender {
    /// Starts it with this Caddyfile, its files in `directory`, and waits until it listens on `port`.
    pub(crate) fn start(&self, directory: &Path, caddyfile: &str, port: u16) -> Result<Running> {
        fs::create_dir_all(directory)?;
        let file = directory.join("Caddyfile");
        fs::write(&file, caddyfile)?;
        let mut command = Command::new(&self.binary);
        command.args(["run", "--config"]).arg(&file);
        command.args(["--adapter", "caddyfile"]);
        command
            .env("HOME", directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let name = self.kind.name();
        let mut running = Running::start(name, command, directory)?;
        let begin = Instant::now();
        while TcpStream::connect(at(port)).is_err() {
            running.must_run()?;
            ensure!(begin.elapsed() < PATIENCE, "{name} does not start");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }
}

/// A port of this machine.
pub(crate) fn at(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// A port where nobody listens.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
