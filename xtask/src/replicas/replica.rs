//! One of the proxies that share a store, and its admin API.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::network::Network;
use super::server::Kind;
use crate::bench::launch::Running;
use crate::contest::{at, free_port};
use crate::count::{connect, read_head};

/// An answer of the admin API takes no longer: the store has its own limits.
const PATIENCE: Duration = Duration::from_secs(60);

/// A proxy behind a network of its own.
#[derive(Debug)]
pub(super) struct Replica {
    running: Running,
    pub(super) network: Network,
    pub(super) door: Door,
}

/// Where a replica is reached. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Door {
    pub(super) port: u16,
    socket: PathBuf,
}

/// A revision, as the admin API writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Revision {
    pub(super) epoch: String,
    pub(super) number: u64,
}

// === impl Replica ===

impl Replica {
    /// Starts `binary` on the store at `server`, with a home that holds nothing of an earlier run.
    pub(super) fn start(binary: &Path, home: &Path, kind: Kind, server: u16) -> Result<Self> {
        drop(fs::remove_dir_all(home));
        fs::create_dir_all(home)?;
        let network = Network::start(server)?;
        let door = Door {
            port: free_port()?,
            socket: home.join("admin.sock"),
        };
        let caddyfile = format!(
            "{{\n\tadmin unix/{}\n\tpersist_config off\n\troute_sources {{\n\t\tlisten http://127.0.0.1:{}\n\
             \t\tstore {} {} {{\n\t\t\tsync_interval 1s\n\t\t\tdata_loss restore\n\t\t}}\n\t}}\n}}\n",
            door.socket.display(),
            door.port,
            kind.name(),
            kind.url(network.port()),
        );
        fs::write(home.join("Caddyfile"), caddyfile)?;
        let mut command = Command::new(binary);
        command
            .args(["run", "--workers", "1"])
            .current_dir(home)
            .env_clear();
        command
            .env("HOME", home)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let mut running = Running::start("doorway", command, home)?;
        let begin = Instant::now();
        while TcpStream::connect(at(door.port)).is_err() || door.applied().is_none() {
            running.must_run()?;
            ensure!(
                begin.elapsed() < PATIENCE,
                "the proxy does not start: {}",
                running.last_words()
            );
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Self {
            running,
            network,
            door,
        })
    }

    pub(super) fn must_run(&mut self) -> Result<()> {
        self.running.must_run()
    }
}

// === impl Door ===

impl Door {
    /// Asks the admin API: the status and what it says.
    pub(super) fn ask(&self, method: &str, path: &str, body: &str) -> io::Result<(u16, Value)> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        let said = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let said = serde_json::from_str(said).unwrap_or_default();
        Ok((status.unwrap_or_default(), said))
    }

    /// The revision that its requests see.
    pub(super) fn applied(&self) -> Option<Revision> {
        let (_, status) = self.ask("GET", "/routes/status", "").ok()?;
        Revision::read(status.pointer("/applied/revision")?)
    }

    /// The revision that its store has, if that answers.
    pub(super) fn stored(&self) -> Option<Revision> {
        let (_, status) = self.ask("GET", "/routes/status", "").ok()?;
        Revision::read(status.pointer("/store/revision")?)
    }

    /// A number for all that `GET /routes` says.
    pub(super) fn table(&self) -> Result<(usize, u64)> {
        let mut hasher = DefaultHasher::new();
        let (mut after, mut hosts) = (String::new(), 0);
        loop {
            let (status, page) = self.ask("GET", &format!("/routes?limit=1000&after={after}"), "")?;
            ensure!(
                status == 200 && page.get("store_error").is_none(),
                "no table: {page}"
            );
            let all = page.get("hosts").and_then(Value::as_array).context("no hosts")?;
            hosts += all.len();
            all.iter().for_each(|host| host.to_string().hash(&mut hasher));
            match page.get("next").and_then(Value::as_str) {
                Some(next) => after = next.to_owned(),
                None => return Ok((hosts, hasher.finish())),
            }
        }
    }

    /// Which write a host is served by; `None` if it is not served.
    pub(super) fn serves(&self, host: &str) -> io::Result<Option<u64>> {
        let mut stream = connect(at(self.port))?;
        served(&mut stream, host)
    }
}

/// Asks for a host over a connection: which write it is served by, if any.
pub(super) fn served(stream: &mut BufReader<TcpStream>, host: &str) -> io::Result<Option<u64>> {
    write!(stream.get_mut(), "GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")?;
    let head = read_head(stream)?;
    let lower = head.to_ascii_lowercase();
    let field = |name: &str| {
        let value = lower.split(name).nth(1).and_then(|rest| rest.lines().next());
        value.and_then(|value| value.parse::<u64>().ok())
    };
    let mut body =
        vec![0; usize::try_from(field("\r\ncontent-length: ").unwrap_or_default()).unwrap_or_default()];
    stream.read_exact(&mut body)?;
    let line = head.lines().next().unwrap_or_default();
    match (line.split(' ').nth(1), field("\r\nx-write: ")) {
        (Some("200"), Some(write)) if body == b"ok" => Ok(Some(write)),
        (Some("404"), None) => Ok(None),
        _ => Err(io::Error::other(line.to_owned())),
    }
}

// === impl Revision ===

impl Revision {
    pub(super) fn read(value: &Value) -> Option<Self> {
        Some(Self {
            epoch: value.get("epoch")?.as_str()?.to_owned(),
            number: value.get("number")?.as_u64()?,
        })
    }

    /// Whether whoever is here has what was written there.
    pub(super) fn has(&self, other: &Self) -> bool {
        self.epoch == other.epoch && self.number >= other.number
    }
}
