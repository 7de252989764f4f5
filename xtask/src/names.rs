//! `cargo xtask names`: what clients notice while the resolver is slow, dead or of two minds, with Doorway and, if it is
//! here, with Caddy.
//!
//! The upstreams are found by a name, by `dynamic a` and by `dynamic srv`, and looked up anew each second. Every address
//! that was ever told works, so no request has a reason to fail or to wait.

mod resolver;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::chaos::clients::{Clients, Outcome, Sample};
use crate::chaos::upstream::{Reached, Upstream};
use crate::contest::{self, Choice, Contender, Kind};
use crate::metadata::Metadata;
use resolver::{Resolver, Trouble};

/// How much longer than in calm the slowest of a hundred may take, whatever they took then.
const SLACK: Duration = Duration::from_millis(2);

/// The last requests of one phase are no part of the next.
const SETTLE: Duration = Duration::from_secs(2);

/// How long, and how hard.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Seconds of each trouble, and of calm before.
    #[arg(long, default_value_t = 15)]
    seconds: u32,
    /// Requests a second.
    #[arg(long, default_value_t = 1000)]
    rate: u32,
    #[command(flatten)]
    choice: Choice,
}

/// How upstreams are found.
#[derive(Clone, Copy, Debug)]
enum Way {
    Name,
    DynamicA,
    DynamicSrv,
}

/// What was noticed in one phase.
#[derive(Debug)]
struct Phase {
    asked: usize,
    failed: usize,
    p50: Duration,
    p99: Duration,
}

/// Makes trouble, and prints what was noticed. Fails if a client of Doorway noticed it.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    let mut unnoticed = true;
    for contender in options.choice.contenders(&metadata)? {
        for way in [Way::Name, Way::DynamicA, Way::DynamicSrv] {
            let directory = metadata
                .target_directory
                .join("names")
                .join(contender.kind.name());
            let seen = measure(&contender, way, &directory, options)?;
            unnoticed &= seen || contender.kind != Kind::Doorway;
        }
    }
    ensure!(unnoticed, "clients of Doorway noticed the resolver");
    Ok(ExitCode::SUCCESS)
}

/// Whether nobody noticed anything.
fn measure(contender: &Contender, way: Way, directory: &Path, options: &Options) -> Result<bool> {
    let reached = Arc::new(Reached::default());
    let first = Upstream::start(0, 0, &reached)?;
    let second = Upstream::start(1, first.address().port(), &reached)?;
    let resolver = Resolver::start([first.address(), second.address()])?;
    let port = contest::free_port()?;
    let text = way.caddyfile(port, first.address().port(), resolver.port());
    let mut running = contender.start(directory, &text, port)?;
    println!(
        "{}, {}, {} requests a second, {} s each:",
        contender.kind.name(),
        way.name(),
        options.rate,
        options.seconds
    );
    let (mut calm, mut unnoticed) = (None, true);
    for trouble in [
        Trouble::None,
        Trouble::Slow,
        Trouble::Dead,
        Trouble::Flips,
        Trouble::None,
    ] {
        resolver.set_trouble(trouble);
        // What was asked for before is answered as it was then.
        thread::sleep(SETTLE);
        let clients = Clients::start(contest::at(port), options.rate);
        thread::sleep(Duration::from_secs(options.seconds.into()));
        let phase = Phase::of(&clients.join());
        running.must_run()?;
        println!(
            "  {:<6} {} asked, {} failed; median {:.2} ms, 99 % {:.2} ms; {} look-ups",
            trouble.name(),
            phase.asked,
            phase.failed,
            phase.p50.as_secs_f64() * 1000.0,
            phase.p99.as_secs_f64() * 1000.0,
            resolver.asked()
        );
        let before = *calm.get_or_insert(phase.p99);
        unnoticed &= phase.failed == 0 && phase.p99 <= (before * 2).max(before + SLACK);
    }
    Ok(unnoticed)
}

// === impl Way ===

impl Way {
    const fn name(self) -> &'static str {
        match self {
            Self::Name => "a name",
            Self::DynamicA => "dynamic a",
            Self::DynamicSrv => "dynamic srv",
        }
    }

    fn caddyfile(self, port: u16, upstream: u16, resolver: u16) -> String {
        let resolvers = format!("resolvers 127.0.0.1:{resolver}");
        let (to, block) = match self {
            Self::Name => (
                format!("app.test:{upstream}"),
                format!("transport http {{\n\t\t\t{resolvers}\n\t\t}}"),
            ),
            Self::DynamicA => (
                String::new(),
                format!(
                    "dynamic a app.test {upstream} {{\n\t\t\trefresh 1s\n\t\t\tversions ipv4\n\t\t\t{resolvers}\n\t\t}}"
                ),
            ),
            // Their targets are names, too.
            Self::DynamicSrv => (
                String::new(),
                format!(
                    "dynamic srv _http._tcp.app.test {{\n\t\t\trefresh 1s\n\t\t\t{resolvers}\n\t\t}}\n\
                     \t\ttransport http {{\n\t\t\t{resolvers}\n\t\t}}"
                ),
            ),
        };
        format!(
            "{{\n\tadmin off\n\tpersist_config off\n}}\n\
             http://:{port} {{\n\tbind 127.0.0.1\n\treverse_proxy {to} {{\n\t\t{block}\n\t}}\n}}\n"
        )
    }
}

// === impl Phase ===

impl Phase {
    fn of(seen: &[Sample]) -> Self {
        let asked = seen.len();
        let whole = seen
            .iter()
            .filter(|sample| matches!(sample.outcome, Outcome::Whole(_)));
        let mut times: Vec<Duration> = whole.map(|sample| sample.took).collect();
        times.sort_unstable();
        let at = |percent: usize| {
            times
                .get(times.len() * percent / 100)
                .copied()
                .unwrap_or_default()
        };
        Self {
            asked,
            failed: asked - times.len(),
            p50: at(50),
            p99: at(99),
        }
    }
}
