//! `cargo xtask reload`: what clients notice while the configuration is replaced over and over, with Doorway and, if it
//! is here, with Caddy.
//!
//! Some clients keep their connections, some open one for each request; an upload, a download, a WebSocket and a session
//! of a Doors app last for the whole time. Each load changes a field of all answers, each tenth adds a listener or
//! removes it again.

mod clients;
mod origin;
mod proxy;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::bench::meter;
use crate::contest::{Choice, Contender, Kind};
use crate::metadata::Metadata;
use clients::{Clients, Seen};
use origin::Origin;
use proxy::Proxy;

/// Loads before memory and files are first looked at.
const WARM_UP: u32 = 20;

/// How long what was opened may take to be closed at the end.
const SETTLE: Duration = Duration::from_secs(8);

/// How often, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How many configurations are loaded.
    #[arg(long, default_value_t = 500)]
    loads: u32,
    /// In how many seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    #[command(flatten)]
    choice: Choice,
}

/// What a proxy holds at one moment.
#[derive(Clone, Copy, Debug)]
struct Held {
    rss_kib: u64,
    files: usize,
    threads: usize,
}

/// The times of the loads.
#[derive(Debug, Default)]
struct Loads {
    times: Vec<Duration>,
    refused: Vec<String>,
}

/// Loads, and prints what was noticed. Fails if Doorway's clients noticed anything.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    let directory = metadata.target_directory.join("reload");
    let mut unnoticed = true;
    for contender in options.choice.contenders(&metadata)? {
        let seen = measure(&contender, &directory, options)?;
        unnoticed &= contender.kind != Kind::Doorway || seen.is_clean();
    }
    ensure!(unnoticed, "clients of Doorway noticed the reloads");
    Ok(ExitCode::SUCCESS)
}

fn measure(contender: &Contender, directory: &Path, options: &Options) -> Result<Seen> {
    let origin = Origin::start()?;
    let mut proxy = Proxy::start(contender, &directory.join(contender.kind.name()), &origin)?;
    let idle = Held::by(&proxy);
    let stop = Arc::new(AtomicBool::new(false));
    let clients = Clients::start(&proxy, &stop)?;
    let (mut loads, mut warm) = (Loads::default(), None);
    let (start, pause) = (
        Instant::now(),
        Duration::from_secs(options.seconds.into()) / options.loads.max(1),
    );
    for number in 0..options.loads {
        thread::sleep((start + pause * number).saturating_duration_since(Instant::now()));
        if number == WARM_UP {
            warm = Some(Held::by(&proxy));
        }
        loads.add(&proxy, number);
    }
    let took = start.elapsed();
    let busy = Held::by(&proxy);
    stop.store(true, Ordering::Relaxed);
    origin.finish();
    let seen = clients.join();
    proxy.must_run()?;
    let settled = proxy.settled(idle.files, SETTLE);
    println!("{} in {:.1} s:", contender.kind.name(), took.as_secs_f64());
    println!("  {loads}");
    print!("{seen}");
    let warm = warm.unwrap_or(idle);
    println!(
        "  held      idle {idle}; after {WARM_UP} loads {warm}; after all {busy}; without clients {settled}"
    );
    Ok(seen)
}

// === impl Held ===

impl Held {
    fn by(proxy: &Proxy) -> Self {
        let pids = proxy.pids();
        let entries = |name: &str| {
            let count =
                |pid: &u32| std::fs::read_dir(format!("/proc/{pid}/{name}")).map_or(0, Iterator::count);
            pids.iter().map(count).sum()
        };
        Self {
            rss_kib: meter::rss_kib(&pids),
            files: entries("fd"),
            threads: entries("task"),
        }
    }
}

impl std::fmt::Display for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = self.rss_kib as f64 / 1024.0;
        write!(f, "{mib:.1} MiB, {} files, {} threads", self.files, self.threads)
    }
}

// === impl Loads ===

impl Loads {
    fn add(&mut self, proxy: &Proxy, number: u32) {
        let start = Instant::now();
        match proxy.load(number) {
            Ok(()) => self.times.push(start.elapsed()),
            Err(error) => self.refused.push(format!("{error:#}")),
        }
    }
}

impl std::fmt::Display for Loads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut times = self.times.clone();
        times.sort_unstable();
        let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        write!(
            f,
            "loads     {} done, {} failed; median {:.1} ms, 99 % {:.1} ms, longest {:.1} ms",
            times.len(),
            self.refused.len(),
            millis(at(50)),
            millis(at(99)),
            millis(times.last().copied().unwrap_or_default())
        )?;
        match self.refused.first() {
            Some(first) => write!(f, "; the first failure: {first}"),
            None => Ok(()),
        }
    }
}
