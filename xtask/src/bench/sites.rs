//! What ten thousand sites cost: the time to start, to reload and to find one of them, and the memory of each.

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

/// Sites of the large configuration.
const MANY: u32 = 10_000;

/// How often each time is taken; the median counts.
const TIMES: usize = 5;

/// A start that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The test that times the look-up of a host, and prints it.
const LOOK_UP: &str =
    "test --release --locked -p proxy-core --lib -- --ignored --nocapture the_time_to_find_a_host";

/// The two ports of a proxy, and where its configuration is.
#[derive(Debug)]
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
    let directory = metadata.target_directory.join("bench/sites");
    fs::create_dir_all(&directory)?;
    let place = Place {
        binary: metadata.target_directory.join("release/doorway"),
        directory,
        plain: free_port()?,
        admin: free_port()?,
        lane: Lane::pick()?,
    };
    let adapt = median((0..TIMES).map(|_| place.adapt(MANY)))?;
    let starts: Vec<(Duration, u64)> = (0..TIMES)
        .map(|_| place.start(MANY).map(|(took, running)| (took, rss(&running))))
        .collect::<Result<_>>()?;
    let start = median(starts.iter().map(|(took, _)| Ok(*took)))?;
    let (_, few) = place.start(1)?;
    let before = rss(&few);
    drop(few);
    let mut memory: Vec<u64> = starts.iter().map(|(_, kib)| kib.saturating_sub(before)).collect();
    memory.sort_unstable();
    let (_, mut running) = place.start(MANY)?;
    let reload = median((1..).take(TIMES).map(|version| place.reload(MANY, version)))?;
    running.must_run()?;
    println!(
        "{MANY} sites, proxy on CPU {}, median of {TIMES}",
        place.lane.proxy
    );
    println!(
        "  adapt (a process that prints the JSON)   {:>8.1} ms",
        millis(adapt)
    );
    println!(
        "  start (until it answers)                 {:>8.1} ms",
        millis(start)
    );
    println!(
        "  reload (POST /load, one site changed)    {:>8.1} ms",
        millis(reload)
    );
    let each = memory[memory.len() / 2] as f64 * 1024.0 / f64::from(MANY);
    println!("  memory of a site                         {each:>8.0} bytes");
    drop(running);
    Cargo::new(LOOK_UP).run(&metadata.workspace_root)
}

// === impl Place ===

impl Place {
    /// So many sites; `version` is told apart by one of them.
    fn caddyfile(&self, sites: u32, version: u32) -> String {
        let Self { plain, admin, .. } = self;
        let mut text = format!("{{\n\tadmin 127.0.0.1:{admin}\n\tpersist_config off\n\tauto_https off\n}}\n");
        for number in 0..sites {
            let upstream = 1024 + number % 60_000;
            write!(
                text,
                "http://site{number}.example.test:{plain} {{\n\theader X-Site {number}\n\
                 \treverse_proxy 127.0.0.1:{upstream}\n}}\n"
            )
            .expect("writing to memory");
        }
        write!(text, "http://:{plain} {{\n\trespond \"version {version}\"\n}}\n").expect("writing to memory");
        text
    }

    fn file(&self, sites: u32) -> Result<PathBuf> {
        let path = self.directory.join(format!("{sites}.caddyfile"));
        fs::write(&path, self.caddyfile(sites, 0))?;
        Ok(path)
    }

    fn adapt(&self, sites: u32) -> Result<Duration> {
        let file = self.file(sites)?;
        let start = Instant::now();
        let status = Command::new(&self.binary)
            .args(["adapt", "--config"])
            .arg(&file)
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "doorway adapt failed");
        Ok(start.elapsed())
    }

    /// Starts a proxy and waits for its first answer.
    fn start(&self, sites: u32) -> Result<(Duration, Running)> {
        let file = self.file(sites)?;
        let mut command = pinned(self.lane.proxy, &self.binary);
        command.args(["run", "--workers", "1", "--config"]).arg(&file);
        let start = Instant::now();
        let mut running = Running::start("doorway-sites", command, &self.directory)?;
        loop {
            if let Ok(answer) = ask(self.plain, "GET / HTTP/1.0\r\nHost: other.test\r\n\r\n") {
                ensure!(answer.contains("version 0"), "an odd answer: {answer}");
                return Ok((start.elapsed(), running));
            }
            running.must_run()?;
            if start.elapsed() > PATIENCE {
                bail!("no answer within {PATIENCE:?}: {}", running.last_words());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Loads the configuration with one site changed.
    fn reload(&self, sites: u32, version: u32) -> Result<Duration> {
        let text = self.caddyfile(sites, version);
        let head = format!(
            "POST /load HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: text/caddyfile\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            self.admin,
            text.len()
        );
        let start = Instant::now();
        let answer = ask(self.admin, &(head + &text))?;
        let took = start.elapsed();
        ensure!(answer.starts_with("HTTP/1.1 200"), "the reload failed: {answer}");
        let changed = ask(self.plain, "GET / HTTP/1.0\r\nHost: other.test\r\n\r\n")?;
        ensure!(
            changed.contains(&format!("version {version}")),
            "nothing changed: {changed}"
        );
        Ok(took)
    }
}

/// Everything that comes back.
fn ask(port: u16, request: &str) -> Result<String> {
    let mut stream = TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn rss(running: &Running) -> u64 {
    meter::rss_kib(&running.pids())
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn median(times: impl Iterator<Item = Result<Duration>>) -> Result<Duration> {
    let mut times = times.collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    times
        .get(times.len() / 2)
        .copied()
        .context("nothing was measured")
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
