//! The proxies: how each is found, configured alike, started and asked whether it works.

mod certificate;
mod config;

use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
pub(super) use certificate::Certificate;

use super::has;
use super::launch::{Lane, Running, pinned};
use super::origin::Origin;
use super::secure::SecureOrigin;
use crate::contest::free_port;
use crate::metadata::Metadata;
use crate::process::{Cargo, find};

/// Connections that a proxy is set up for when it is under load.
pub(crate) const FEW: u32 = 4096;

/// The same for the idle workload.
pub(crate) const MANY: u32 = 16_384;

/// A proxy under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Proxy {
    /// This project.
    Doorway,
    /// Another build of this project, chosen with `--against`.
    #[value(skip)]
    Before,
    /// Of the distribution.
    Nginx,
    /// Of the distribution.
    Haproxy,
    /// On the path, or where `.ci/run` puts it.
    Caddy,
    /// A minimal proxy on the crate of that name, built when it is asked for.
    Pingora,
}

/// What all runs share.
#[derive(Debug)]
pub(crate) struct Place {
    /// For configurations and logs.
    pub(crate) directory: PathBuf,
    /// The CPUs.
    pub(crate) lane: Lane,
    origin: u16,
    certificate: Option<Certificate>,
    secure: Option<SecureOrigin>,
}

/// Where a proxy listens, on 127.0.0.1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    /// HTTP.
    pub(crate) plain: u16,
    /// HTTPS, if there is a certificate.
    pub(crate) tls: Option<u16>,
    /// The site of a Doors app.
    pub(crate) doors: Option<u16>,
    /// HTTP, with balancing, health and logging on.
    pub(crate) full: Option<u16>,
    /// The same over TLS.
    pub(crate) full_tls: Option<u16>,
    /// HTTP, with an upstream that speaks HTTP/1.1 over TLS.
    pub(crate) up_tls: Option<u16>,
    /// HTTP, with an upstream that speaks HTTP/2 over TLS.
    pub(crate) up_h2: Option<u16>,
    /// HTTP, with an upstream that speaks HTTP/2 by prior knowledge.
    pub(crate) up_h2c: Option<u16>,
}

/// A proxy that is installed here.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Which.
    pub(crate) proxy: Proxy,
    /// As it says itself.
    pub(crate) version: String,
    /// Where.
    pub(crate) program: PathBuf,
}

/// A proxy that runs.
#[derive(Debug)]
pub(crate) struct Server {
    /// Which.
    pub(crate) proxy: Proxy,
    /// Where.
    pub(crate) ports: Ports,
    running: Running,
}

// === impl Proxy ===

impl Proxy {
    /// In the order of the table.
    pub(crate) const ALL: [Self; 6] = [
        Self::Doorway,
        Self::Before,
        Self::Nginx,
        Self::Haproxy,
        Self::Caddy,
        Self::Pingora,
    ];

    /// As in `bench.json`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Doorway => "doorway",
            Self::Before => "before",
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
            Self::Caddy => "caddy",
            Self::Pingora => "pingora",
        }
    }

    /// Whether it is this project, in whatever build.
    const fn is_doorway(self) -> bool {
        matches!(self, Self::Doorway | Self::Before)
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

// === impl Place ===

impl Place {
    /// Makes the certificate, if `openssl` is there.
    pub(crate) fn new(directory: &Path, lane: Lane, origin: &Origin) -> Result<Self> {
        let certificate = if has("openssl") {
            Some(Certificate::make(directory)?)
        } else {
            None
        };
        let secure = certificate.as_ref().map(|certificate| {
            let started = SecureOrigin::start(directory, lane, certificate);
            started.inspect_err(|error| println!("no upstream with TLS: {error:#}"))
        });
        Ok(Self {
            directory: directory.to_owned(),
            lane,
            origin: origin.port,
            certificate,
            secure: secure.and_then(Result::ok),
        })
    }

    /// The processes behind the proxies.
    pub(crate) fn helpers(&self, origin: &Origin) -> Vec<u32> {
        let mut pids = origin.pids();
        pids.extend(self.secure.iter().flat_map(SecureOrigin::pids));
        pids
    }

    /// Whether there is an upstream with TLS and HTTP/2.
    pub(crate) fn has_secure_origin(&self) -> bool {
        self.secure.is_some()
    }

    /// Whether the TLS workloads can run.
    pub(crate) fn has_certificate(&self) -> bool {
        self.certificate.is_some()
    }
}

// === impl Peer ===

impl Peer {
    /// Looks for the program and asks for its version. `before` is the other build of Doorway.
    pub(crate) fn find(proxy: Proxy, metadata: &Metadata, before: Option<&Path>) -> Result<Self> {
        let target = &metadata.target_directory;
        let program = match proxy {
            Proxy::Doorway => Some(target.join("release/doorway")),
            Proxy::Before => before.map(Path::to_owned),
            Proxy::Nginx | Proxy::Haproxy => find(proxy.name()),
            Proxy::Caddy => find("caddy").or_else(|| Some(target.join("tools/bin/caddy"))),
            Proxy::Pingora => Some(build_pingora(metadata)?),
        };
        Self::at(proxy, program.context("not installed")?)
    }

    /// The program at this place, asked for its version.
    pub(crate) fn at(proxy: Proxy, program: PathBuf) -> Result<Self> {
        ensure!(program.is_file(), "not installed");
        let question = match proxy {
            Proxy::Nginx | Proxy::Haproxy => "-v",
            Proxy::Doorway | Proxy::Before | Proxy::Caddy | Proxy::Pingora => "version",
        };
        let output = Command::new(&program)
            .arg(question)
            .stdin(Stdio::null())
            .output()?;
        let text = [output.stdout, output.stderr].concat();
        let version = String::from_utf8_lossy(&text)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        Ok(Self {
            proxy,
            version,
            program,
        })
    }

    /// Starts it with room for `connections` and waits for its first good answer.
    pub(crate) fn start(&self, place: &Place, connections: u32) -> Result<Server> {
        let port_if = |wanted: bool| wanted.then(free_port).transpose();
        // Ours on Pingora is built without TLS, and has one site.
        let tls = place.has_certificate() && self.proxy != Proxy::Pingora;
        let secure = place.has_secure_origin() && self.proxy != Proxy::Pingora;
        let multiplexed = secure && self.proxy != Proxy::Nginx;
        let ports = Ports {
            plain: free_port()?,
            tls: port_if(tls)?,
            doors: port_if(self.proxy.is_doorway())?,
            full: port_if(self.proxy != Proxy::Pingora)?,
            full_tls: port_if(tls)?,
            up_tls: port_if(secure)?,
            up_h2: port_if(multiplexed)?,
            up_h2c: port_if(multiplexed)?,
        };
        let file = place.directory.join(format!("{}.conf", self.proxy));
        fs::write(&file, config::text(self.proxy, place, ports, connections))?;
        let mut command = pinned(place.lane.proxy, &self.program);
        command.args(config::arguments(self.proxy, &file, place, ports));
        // Caddy keeps its files below its home, and takes as many threads as it sees CPUs of the machine.
        command
            .env("HOME", &place.directory)
            .env("XDG_DATA_HOME", &place.directory)
            .env("GOMAXPROCS", "1");
        command
            .env("XDG_CONFIG_HOME", &place.directory)
            .stdout(Stdio::null());
        let running = Running::start(self.proxy.name(), command, &place.directory)?;
        let mut server = Server {
            proxy: self.proxy,
            ports,
            running,
        };
        server.wait()?;
        Ok(server)
    }
}

// === impl Server ===

impl Server {
    /// Its processes.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.running.pids()
    }

    fn wait(&mut self) -> Result<()> {
        let start = Instant::now();
        loop {
            self.running.must_run()?;
            match probe(self.ports.plain) {
                Ok(()) => return Ok(()),
                Err(error) if start.elapsed() > Duration::from_secs(10) => {
                    bail!(
                        "{} does not work: {error:#}\n{}",
                        self.proxy,
                        self.running.last_words()
                    )
                }
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

/// A crate outside of the workspace, so that nobody else builds it.
fn build_pingora(metadata: &Metadata) -> Result<PathBuf> {
    let target = metadata.target_directory.join("pingora");
    Cargo::new("build --release --locked --target-dir")
        .arg(target.to_string_lossy())
        .run(&metadata.workspace_root.join("xtask/pingora"))?;
    Ok(target.join("release/pingora-peer"))
}

/// One request through the proxy: the answer must be the origin's.
fn probe(port: u16) -> Result<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(3)))?;
    write!(
        stream,
        "GET /128 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let text = String::from_utf8_lossy(&answer);
    ensure!(
        text.starts_with("HTTP/1.1 200") && text.ends_with(&"x".repeat(128)),
        "answered {text:.60}"
    );
    Ok(())
}
