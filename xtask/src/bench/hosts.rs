//! What a hundred thousand hosts of a store cost: their memory, the time of a change, and what requests notice of it.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::launch::{Lane, Running, pinned};
use super::meter;
use crate::metadata::Metadata;
use crate::process::Cargo;

const HOSTS: u32 = 100_000;

/// How many hosts are changed while requests are timed.
const CHANGES: u32 = 50;

/// A start or an import that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(900);

/// Requests that are timed without a change and with one each.
const REQUESTS: usize = 20_000;

/// The test that times merges and changes without a socket, and prints them.
const CHANGES_ALONE: &str =
    "test --release --locked -p proxy-core --lib -- --ignored --nocapture the_time_that_changes_take";

/// A proxy with a store.
struct Place {
    binary: PathBuf,
    directory: PathBuf,
    plain: u16,
    admin: u16,
    lane: Lane,
}

/// Measures and prints.
pub(super) fn run(metadata: &Metadata) -> Result<()> {
    Cargo::new("build --release --locked -p doorway").run(&metadata.workspace_root)?;
    let directory = metadata.target_directory.join("bench/hosts");
    let _nothing_there = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory)?;
    let place = Place {
        binary: metadata.target_directory.join("release/doorway"),
        directory,
        plain: free_port()?,
        admin: free_port()?,
        lane: Lane::pick()?,
    };
    let running = place.start(0)?;
    place.import(0..1)?;
    place.until_served(0)?;
    let few = meter::rss_kib(&running.pids());
    let start = Instant::now();
    place.import(0..HOSTS)?;
    let imported = start.elapsed();
    place.until_served(HOSTS - 1)?;
    drop(running);
    let start = Instant::now();
    let running = place.start(HOSTS - 1)?;
    let started = start.elapsed();
    let many = meter::rss_kib(&running.pids());
    println!("{HOSTS} hosts in SQLite, proxy on CPU {}", place.lane.proxy);
    println!(
        "  import (one write after the other)              {:>10.1} s",
        imported.as_secs_f64()
    );
    println!(
        "  start until the last one answers                {:>10.1} ms",
        millis(started)
    );
    let each = many.saturating_sub(few) as f64 * 1024.0 / f64::from(HOSTS);
    println!("  memory of a host                                {each:>10.0} bytes");
    place.requests_without_and_with_changes()?;
    drop(running);
    Cargo::new(CHANGES_ALONE).run(&metadata.workspace_root)
}

// === impl Place ===

impl Place {
    /// Starts the proxy, and waits until this host answers, or anything does for the first.
    fn start(&self, host: u32) -> Result<Running> {
        let Self {
            plain,
            admin,
            directory,
            ..
        } = self;
        let store = directory.join("routes.db");
        let text = format!(
            "{{\n\tadmin 127.0.0.1:{admin}\n\tpersist_config off\n\troute_sources {{\n\t\tlisten http://127.0.0.1:{plain}\n\
             \t\tstore sqlite sqlite:{} {{\n\t\t\tsnapshot off\n\t\t}}\n\t}}\n}}\n",
            store.display()
        );
        let file = directory.join("Caddyfile");
        fs::write(&file, text)?;
        let mut command = pinned(self.lane.proxy, &self.binary);
        command.args(["run", "--workers", "1", "--config"]).arg(&file);
        let mut running = Running::start("doorway-hosts", command, directory)?;
        let start = Instant::now();
        loop {
            let answer = self.ask(host);
            if answer.is_ok_and(|answer| host == 0 || is_served(&answer)) {
                return Ok(running);
            }
            running.must_run()?;
            if start.elapsed() > PATIENCE {
                bail!("no answer within {PATIENCE:?}: {}", running.last_words());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Has these hosts written, by the command that users have.
    fn import(&self, hosts: std::ops::Range<u32>) -> Result<()> {
        let mut text = String::new();
        for number in hosts {
            writeln!(text, "{}", document(number, 8080))?;
        }
        let file = self.directory.join("hosts.jsonl");
        fs::write(&file, text)?;
        let status = Command::new(&self.binary)
            .args([
                "routes",
                "import",
                "--address",
                &format!("127.0.0.1:{}", self.admin),
            ])
            .arg(&file)
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "doorway routes import failed");
        Ok(())
    }

    fn until_served(&self, host: u32) -> Result<()> {
        let start = Instant::now();
        while !is_served(&self.ask(host)?) {
            ensure!(
                start.elapsed() < PATIENCE,
                "the host was not served within {PATIENCE:?}"
            );
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn ask(&self, host: u32) -> Result<String> {
        let request = format!("GET /bench HTTP/1.0\r\nHost: host{host}.example.test\r\n\r\n");
        ask(self.plain, &request)
    }

    /// How long requests of one client take, alone and while hosts are changed.
    fn requests_without_and_with_changes(&self) -> Result<()> {
        let (plain, admin) = (self.plain, self.admin);
        for changes in [0, CHANGES] {
            let writer = thread::spawn(move || {
                (1..=changes)
                    .map(|number| change(admin, number))
                    .collect::<Result<Vec<_>>>()
            });
            let mut times = timed(plain, &|| writer.is_finished())?;
            let writes = writer
                .join()
                .map_err(|_| anyhow::anyhow!("the writer failed"))??;
            times.sort_unstable();
            let last = times.len() - 1;
            let at = |thousandths: usize| times[last * thousandths / 1000];
            println!(
                "  {:<22} median {:>6.3} ms, 99.9 % {:>6.3} ms, slowest {:>6.3} ms of {}",
                if changes == 0 {
                    "requests alone:"
                } else {
                    "with one-host changes:"
                },
                millis(at(500)),
                millis(at(999)),
                millis(at(1000)),
                times.len()
            );
            if let Some(slowest) = writes.iter().max() {
                println!(
                    "  a change through the admin API, until it is written: slowest {:.1} ms",
                    millis(*slowest)
                );
            }
        }
        Ok(())
    }
}

/// A host with one upstream of its own, which nothing listens on; the first one answers by itself.
fn document(number: u32, port: u16) -> String {
    let [_, a, b, c] = number.to_be_bytes();
    let target = match number {
        0 => "\"handlers\":[{\"handler\":\"static_response\",\"body\":\"ok\"}]".to_owned(),
        _ => format!("\"upstreams\":[{{\"address\":\"127.{a}.{b}.{c}:{port}\"}}]"),
    };
    format!("{{\"host\":\"host{number}.example.test\",{target}}}")
}

/// Whether the host is known: its upstream is not there.
fn is_served(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 502")
}

/// Writes one host anew; the time until that is acknowledged.
fn change(admin: u16, number: u32) -> Result<Duration> {
    let host = number * 977 % HOSTS + 1;
    let body = document(host, 9000);
    let request = format!(
        "PUT /routes/host{host}.example.test HTTP/1.1\r\nHost: 127.0.0.1:{admin}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let start = Instant::now();
    let answer = ask(admin, &request)?;
    ensure!(answer.starts_with("HTTP/1.1 20"), "a write failed: {answer}");
    Ok(start.elapsed())
}

/// The times of requests over one connection: at least so many, and until it `is_over`.
fn timed(plain: u16, is_over: &dyn Fn() -> bool) -> Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, plain)))?;
    stream.set_nodelay(true)?;
    let mut times = Vec::with_capacity(REQUESTS);
    let mut buffer = [0; 4096];
    while times.len() < REQUESTS || !is_over() {
        let start = Instant::now();
        stream.write_all(b"GET /bench HTTP/1.1\r\nHost: host0.example.test\r\n\r\n")?;
        let count = stream.read(&mut buffer)?;
        times.push(start.elapsed());
        ensure!(
            buffer.starts_with(b"HTTP/1.1 200") && count > 0,
            "a request failed"
        );
    }
    Ok(times)
}

/// Everything that comes back.
fn ask(port: u16, request: &str) -> Result<String> {
    let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("no whole answer")?;
    Ok(answer)
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
