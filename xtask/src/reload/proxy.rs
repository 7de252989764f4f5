//! A proxy whose configuration is replaced over its admin API.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::Held;
use super::origin::Origin;
use crate::bench::launch::Running;
use crate::contest::{self, Contender, Kind, free_port};

/// A load that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A secret that nobody uses.
const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

/// One that runs.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) kind: Kind,
    running: Running,
    binary: PathBuf,
    pub(super) address: SocketAddr,
    other: u16,
    admin: u16,
    origin: SocketAddr,
}

// === impl Proxy ===

impl Proxy {
    /// Starts a proxy in front of `origin`, and waits until it answers.
    pub(super) fn start(contender: &Contender, directory: &Path, origin: &Origin) -> Result<Self> {
        let (port, other, admin) = (free_port()?, free_port()?, free_port()?);
        let text = caddyfile(contender.kind, port, other, admin, origin.address(), 0);
        Ok(Self {
            kind: contender.kind,
            running: contender.start(directory, &text, port)?,
            binary: contender.binary.clone(),
            address: contest::at(port),
            other,
            admin,
            origin: origin.address(),
        })
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.running.pids()
    }

    pub(super) fn must_run(&mut self) -> Result<()> {
        self.running.must_run()
    }

    /// Loads the configuration with this number.
    pub(super) fn load(&self, number: u32) -> Result<()> {
        let text = caddyfile(
            self.kind,
            self.address.port(),
            self.other,
            self.admin,
            self.origin,
            number,
        );
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.admin)).context("the admin API")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let request = format!(
            "POST /load HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: text/caddyfile\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{text}",
            self.admin,
            text.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        // One that closes with a reset behind its answer has answered.
        let read = stream.read_to_string(&mut answer);
        if !answer.starts_with("HTTP/1.1 200 ") {
            bail!(
                "{}",
                answer
                    .lines()
                    .last()
                    .map_or_else(|| format!("{read:?}"), str::to_owned)
            );
        }
        Ok(())
    }

    /// A path that leads to a pod of the Doors app; Caddy has none.
    pub(super) fn session_path(&self) -> Result<Option<String>> {
        if self.kind == Kind::Caddy {
            return Ok(None);
        }
        let mut command = Command::new(&self.binary);
        command
            .args(["token", "encode", "127.0.0.1"])
            .env("SECRET", SECRET);
        let output = command.output().context("cannot make a token")?;
        ensure!(output.status.success(), "cannot make a token");
        let token = String::from_utf8(output.stdout)?;
        Ok(Some(format!("/~/{}/stream", token.trim())))
    }

    /// What is held once no more than `files` are open, or when that does not come about in time.
    pub(super) fn settled(&self, files: usize, patience: Duration) -> Held {
        let start = Instant::now();
        loop {
            let held = Held::by(self);
            if held.files <= files || start.elapsed() > patience {
                return held;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn caddyfile(kind: Kind, port: u16, other: u16, admin: u16, origin: SocketAddr, number: u32) -> String {
    let mut text = format!(
        "{{\n\tadmin 127.0.0.1:{admin}\n\tpersist_config off\n\tgrace_period 10s\n}}\n\
         http://:{port} {{\n\tbind 127.0.0.1\n\theader X-Number {number}\n\treverse_proxy {origin} {{\n\
         \t\ttransport http {{\n\t\t\tkeepalive 2s\n\t\t}}\n\t}}\n}}\n"
    );
    let mut more = |part: std::fmt::Arguments<'_>| {
        let written = text.write_fmt(part);
        debug_assert!(written.is_ok(), "a String takes all text");
    };
    if number % 20 >= 10 {
        more(format_args!(
            "http://:{other} {{\n\tbind 127.0.0.1\n\trespond \"configuration {number}\"\n}}\n"
        ));
    }
    if kind == Kind::Doorway {
        more(format_args!(
            "http://doors.test:{port} {{\n\tbind 127.0.0.1\n\tdoors_handler {{\n\t\tsecret {SECRET}\n\t\tupstream {{\n\
             \t\t\tpod_cidr 127.0.0.1/32\n\t\t\thost {}\n\t\t\tupstream_port {}\n\t\t}}\n\t}}\n\
             \treverse_proxy {{\n\t\tdynamic doors_upstreams\n\t}}\n}}\n",
            origin.ip(),
            origin.port()
        ));
    }
    text
}
