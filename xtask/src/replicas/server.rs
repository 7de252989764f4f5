//! The stores: a Redis or a PostgreSQL server on loopback, with data of its own.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::contest::at;
use crate::process::find;

/// A start that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    Redis,
    Postgres,
}

/// A server that ends with this value.
#[derive(Debug)]
pub(super) struct Server {
    kind: Kind,
    program: PathBuf,
    directory: PathBuf,
    port: u16,
    process: Option<Child>,
}

// === impl Kind ===

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Postgres => "postgres",
        }
    }

    /// The program that this machine may have.
    pub(super) fn program(self) -> Option<PathBuf> {
        match self {
            Self::Redis => find("redis-server"),
            Self::Postgres => find("initdb").and_then(|_| find("postgres")),
        }
    }

    /// The address of a server at this port.
    pub(super) fn url(self, port: u16) -> String {
        match self {
            Self::Redis => format!("redis://127.0.0.1:{port}"),
            Self::Postgres => format!("postgres://tester@127.0.0.1:{port}/postgres?sslmode=disable"),
        }
    }
}

// === impl Server ===

impl Server {
    /// Starts one with nothing in it.
    pub(super) fn start(kind: Kind, program: &Path, directory: PathBuf) -> Result<Self> {
        drop(fs::remove_dir_all(&directory));
        fs::create_dir_all(&directory)?;
        if kind == Kind::Postgres {
            make_cluster(&directory)?;
        }
        let mut server = Self {
            kind,
            program: program.to_owned(),
            directory,
            port: steady_port()?,
            process: None,
        };
        server.begin()?;
        Ok(server)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Starts the process, and returns when it answers.
    pub(super) fn begin(&mut self) -> Result<()> {
        let port = self.port.to_string();
        let mut command = match self.kind {
            Kind::Redis => {
                let mut command = Command::new(&self.program);
                command.args(["--bind", "127.0.0.1", "--save", "", "--port", &port]);
                // What was answered is on the disk.
                command.args(["--appendonly", "yes", "--appendfsync", "always"]);
                command.current_dir(&self.directory);
                command
            }
            Kind::Postgres => {
                let mut command = as_postgres(&self.program);
                command.arg("-D").arg(self.directory.join("data"));
                command.arg("-k").arg(&self.directory);
                command.args(["-p", &port, "-c", "listen_addresses=127.0.0.1"]);
                command
            }
        };
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.process = Some(command.spawn().context("cannot start the store")?);
        self.answers()
    }

    /// Ends it as a crash does.
    pub(super) fn crash(&mut self) -> Result<()> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        match self.kind {
            Kind::Redis => process.kill()?,
            // Its other processes end with it, and nothing is tidied up.
            Kind::Postgres => {
                let id = process.id().to_string();
                Command::new("sh")
                    .args(["-c", "kill -s QUIT \"$0\"", &id])
                    .status()?;
            }
        }
        process.wait()?;
        Ok(())
    }

    fn answers(&mut self) -> Result<()> {
        let begin = Instant::now();
        while !self.is_ready() {
            ensure!(begin.elapsed() < PATIENCE, "the store does not start");
            if let Some(process) = &mut self.process {
                ensure!(process.try_wait()?.is_none(), "the store has ended early");
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Redis listens when it is ready. PostgreSQL says so in a file.
    fn is_ready(&self) -> bool {
        match self.kind {
            Kind::Redis => std::net::TcpStream::connect(at(self.port)).is_ok(),
            Kind::Postgres => {
                let file = fs::read_to_string(self.directory.join("data/postmaster.pid"));
                file.is_ok_and(|said| said.lines().any(|line| line.trim() == "ready"))
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.crash());
    }
}

/// A port that no client gets meanwhile: it is below those that the system gives to whoever asks for any.
fn steady_port() -> Result<u16> {
    let start = u16::try_from(std::process::id() % 8000).unwrap_or_default() + 20_000;
    let free = |port: &u16| TcpListener::bind(at(*port)).is_ok();
    (start..start + 2000).find(free).context("no port is free")
}

fn make_cluster(directory: &Path) -> Result<()> {
    let initdb = find("initdb").context("there is no initdb")?;
    if is_root() {
        let (user, group) = postgres().context("there is no user postgres")?;
        chown(directory, Some(user), Some(group))?;
    }
    let made = as_postgres(&initdb)
        .args([
            "--no-sync",
            "-A",
            "trust",
            "-U",
            "tester",
            "-E",
            "UTF8",
            "--locale=C",
            "-D",
        ])
        .arg(directory.join("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(made.success(), "initdb: {made}");
    Ok(())
}

/// It refuses to run as root.
fn as_postgres(program: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
            .arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/");
    command
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// The user and the group that Debian made for it.
fn postgres() -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.starts_with("postgres:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
