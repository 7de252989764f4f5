//! `cargo xtask stall`: what the proxy holds in memory while one side of a large message does not go on.
//!
//! A download of 1 GiB goes to a client that takes 1 KiB a second, an upload of 1 GiB to an upstream that reads nothing,
//! over each version of HTTP on both sides. What was sent and not taken must wait at its sender.

mod http1;
mod http2;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::bench::meter;
use crate::contest::{self, Choice, Contender, Kind};
use crate::metadata::Metadata;
use http2::Window;

/// The length of each message.
const LENGTH: u64 = 1 << 30;

/// What a slow reader takes, and how often.
const SIP: usize = 1024;
const SIP_EVERY: Duration = Duration::from_secs(1);

/// Short requests before: enough to come to each worker.
const WARM_UPS: u32 = 32;

/// How often the memory is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The memory may grow by less than this, in KiB.
const MOST: u64 = 4 * 1024;

/// For how long, and with which proxies.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Seconds for each case.
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    #[command(flatten)]
    choice: Choice,
}

/// Which way the large message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Download,
    Upload,
}

/// What one side speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Http1,
    Http2(Window),
}

/// One case.
#[derive(Clone, Copy, Debug)]
struct Case {
    direction: Direction,
    client: Side,
    upstream: Side,
}

/// Bytes of the message that left its sender, and that its receiver took.
#[derive(Debug, Default)]
struct Moved {
    /// Short answers are given, so that everything is there that is made once.
    is_warm: AtomicBool,
    sent: AtomicU64,
    taken: AtomicU64,
}

const SIDES: [Side; 3] = [
    Side::Http1,
    Side::Http2(Window::Small),
    Side::Http2(Window::Large),
];

/// Holds messages up, and prints what the proxy holds. Fails if Doorway grows.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    let mut small = true;
    for contender in options.choice.contenders(&metadata)? {
        let directory = metadata
            .target_directory
            .join("stall")
            .join(contender.kind.name());
        println!("{}, {} s each:", contender.kind.name(), options.seconds);
        for case in cases() {
            let grown = case.measure(&contender, &directory, options.seconds)?;
            small &= contender.kind != Kind::Doorway || grown < MOST;
        }
    }
    ensure!(
        small,
        "Doorway holds {MOST} KiB or more of a message that does not go on"
    );
    Ok(ExitCode::SUCCESS)
}

fn cases() -> impl Iterator<Item = Case> {
    let directions = [Direction::Download, Direction::Upload].into_iter();
    directions.flat_map(|direction| {
        SIDES.into_iter().flat_map(move |client| {
            SIDES.into_iter().map(move |upstream| Case {
                direction,
                client,
                upstream,
            })
        })
    })
}

// === impl Case ===

impl Case {
    /// Plays it; gives by how many KiB the memory grew.
    fn measure(self, contender: &Contender, directory: &Path, seconds: u32) -> Result<u64> {
        let moved = Arc::new(Moved::default());
        let upstream = match self.upstream {
            Side::Http1 => http1::listen(&moved)?,
            Side::Http2(window) => http2::listen(window, &moved)?,
        };
        // A proxy of its own, so that nothing is there already that another case left.
        let port = contest::free_port()?;
        let mut running = contender.start(directory, &self.caddyfile(port, upstream), port)?;
        let address = contest::at(port);
        for _ in 0..WARM_UPS {
            match self.client {
                Side::Http1 => http1::warm_up(address)?,
                Side::Http2(_) => http2::warm_up(address)?,
            }
        }
        moved.is_warm.store(true, Ordering::Relaxed);
        let pids = running.pids();
        let before = meter::anon_kib(&pids);
        let counted = Arc::clone(&moved);
        let client = thread::spawn(move || match self.client {
            Side::Http1 => http1::ask(address, self.direction, &counted),
            Side::Http2(window) => http2::ask(address, self.direction, window, &counted),
        });
        let (begin, mut most) = (Instant::now(), before);
        while begin.elapsed() < Duration::from_secs(seconds.into()) {
            thread::sleep(LOOK);
            most = most.max(meter::anon_kib(&pids));
        }
        running.must_run()?;
        let is_going_on = !client.is_finished();
        let (sent, taken) = (
            moved.sent.load(Ordering::Relaxed),
            moved.taken.load(Ordering::Relaxed),
        );
        let grown = most.saturating_sub(before);
        println!(
            "  {self}  {:>7} KiB left the sender, {:>5} KiB were taken; memory {:.1} MiB, grown by {:.2} MiB{}",
            sent / 1024,
            taken / 1024,
            before as f64 / 1024.0,
            grown as f64 / 1024.0,
            if is_going_on { "" } else { "; ENDED EARLY" },
        );
        ensure!(
            is_going_on || contender.kind != Kind::Doorway,
            "the message ended before it was looked at"
        );
        ensure!(sent > 0, "nothing was sent");
        Ok(grown)
    }

    fn caddyfile(self, port: u16, upstream: u16) -> String {
        let scheme = if self.upstream == Side::Http1 {
            ""
        } else {
            "h2c://"
        };
        format!(
            "{{\n\tadmin off\n\tpersist_config off\n\tservers {{\n\t\tprotocols h1 h2 h2c\n\t}}\n}}\n\
             http://:{port} {{\n\tbind 127.0.0.1\n\treverse_proxy {scheme}127.0.0.1:{upstream}\n}}\n"
        )
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, arrow) = match self.direction {
            Direction::Download => ("download", "<-"),
            Direction::Upload => ("upload", "->"),
        };
        write!(f, "{what:<8}  {:<16} {arrow} {:<16}", self.client, self.upstream)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2(Window::Small) => "HTTP/2, 64 KiB",
            Self::Http2(Window::Large) => "HTTP/2, 2 GiB",
        })
    }
}

// === impl Moved ===

impl Moved {
    fn is_warm(&self) -> bool {
        self.is_warm.load(Ordering::Relaxed)
    }

    fn sent(&self, bytes: usize) {
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn taken(&self, bytes: usize) {
        self.taken.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// Waits for as long as this process runs: whoever stalls keeps its connection.
fn stall() {
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}
