//! A Redis server of a test.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tempfile::TempDir;

use crate::server::{Process, listens, port, program};

/// The password of servers that want one.
pub(crate) const PASSWORD: &str = "s3cret-word";

/// A server on loopback.
#[derive(Debug)]
pub(crate) struct Node {
    process: Process,
    program: PathBuf,
    port: u16,
    more: Vec<String>,
    directory: TempDir,
}

// === impl Node ===

impl Node {
    /// `None` if this machine has none. `more` are settings in addition.
    pub(crate) async fn start(more: &[&str]) -> Option<Self> {
        Self::start_at(port(), more).await
    }

    /// One node that has all slots of a cluster, and so refuses operations on several slots.
    pub(crate) async fn start_cluster() -> Option<Self> {
        // The port for other nodes is 10,000 above and must be one too.
        let port = (0..100).map(|_| port()).find(|port| *port < 50_000)?;
        let node = Self::start_at(port, &["--cluster-enabled", "yes"]).await?;
        let mut connection = connect(&node.url()).await;
        let _ok: String = redis::cmd("CLUSTER")
            .arg(&["ADDSLOTSRANGE", "0", "16383"])
            .query_async(&mut connection)
            .await
            .unwrap();
        for _ in 0..600 {
            let info: String = redis::cmd("CLUSTER")
                .arg("INFO")
                .query_async(&mut connection)
                .await
                .unwrap();
            if info.contains("cluster_state:ok") {
                return Some(node);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the cluster does not begin");
    }

    async fn start_at(port: u16, more: &[&str]) -> Option<Self> {
        let program = program("redis-server")?;
        let directory = TempDir::new().unwrap();
        let more: Vec<String> = more.iter().map(|it| (*it).to_owned()).collect();
        let node = Self {
            process: server(&program, &directory, port, &more),
            program,
            port,
            more,
            directory,
        };
        listens(port).await;
        Some(node)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Ends as in a crash.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    pub(crate) async fn begin_again(&mut self) {
        self.process = server(&self.program, &self.directory, self.port, &self.more);
        listens(self.port).await;
    }
}

fn server(program: &PathBuf, directory: &TempDir, port: u16, more: &[String]) -> Process {
    let mut command = Command::new(program);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
    command.args(more).current_dir(directory.path());
    Process::start(&mut command)
}

pub(crate) async fn connect(url: &str) -> MultiplexedConnection {
    let client = redis::Client::open(url).unwrap();
    for _ in 0..600 {
        if let Ok(connection) = client.get_multiplexed_async_connection().await {
            return connection;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the server does not answer");
}
