//! A PostgreSQL server of a test.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sqlx::{Connection, PgConnection};
use tempfile::TempDir;

use crate::server::{Process, port, program};

/// A server with data in a directory of its own.
#[derive(Debug)]
pub(crate) struct Cluster {
    process: Process,
    program: PathBuf,
    port: u16,
    directory: TempDir,
}

// === impl Cluster ===

impl Cluster {
    /// `None` if this machine has none.
    pub(crate) async fn start() -> Option<Self> {
        let (initdb, program) = (program("initdb")?, program("postgres")?);
        let directory = TempDir::new().unwrap();
        if is_root() {
            let (user, group) = postgres()?;
            chown(directory.path(), Some(user), Some(group)).unwrap();
        }
        let data = directory.path().join("data");
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
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(made.success(), "{made}");
        let port = port();
        let cluster = Self {
            process: server(&program, directory.path(), port),
            program,
            port,
            directory,
        };
        cluster.answers().await;
        Some(cluster)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// The address of the server by way of another port.
    pub(crate) fn url_at(&self, port: u16) -> String {
        format!("postgres://tester:s3cret@127.0.0.1:{port}/postgres?sslmode=disable")
    }

    /// Stops at once, connections or not, and is gone.
    pub(crate) fn stop(&mut self) {
        self.process.stop("-QUIT");
    }

    pub(crate) async fn begin_again(&mut self) {
        self.process = server(&self.program, self.directory.path(), self.port);
        self.answers().await;
    }

    async fn answers(&self) {
        for _ in 0..600 {
            if PgConnection::connect(&self.url()).await.is_ok() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the server does not answer");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.process.stop("-QUIT");
    }
}

fn server(program: &Path, directory: &Path, port: u16) -> Process {
    let mut command = as_postgres(program);
    command
        .arg("-D")
        .arg(directory.join("data"))
        .arg("-k")
        .arg(directory);
    command.args([
        "-p",
        &port.to_string(),
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "fsync=off",
    ]);
    Process::start(&mut command)
}

/// It refuses to run as root.
fn as_postgres(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=postgres", "--regid=postgres", "--clear-groups"])
        .arg(program);
    command.current_dir("/");
    command
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// The user and the group that Debian made for it.
fn postgres() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.starts_with("postgres:"))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}
