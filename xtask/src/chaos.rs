//! `cargo xtask chaos`: what clients notice while two of three upstreams misbehave, with Doorway and, if it is here, with
//! Caddy.
//!
//! The upstreams crash, hang, reset, answer slowly, cut their answers and come and go; one stays whole, so that every
//! request could be served. Each request has a number of its own, and the upstreams keep count of what reached them.

pub(crate) mod clients;
mod figures;
pub(crate) mod upstream;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::contest::{self, Choice, Contender, Kind};
use crate::metadata::Metadata;
use clients::Clients;
use figures::Figures;
use upstream::{Mood, Reached, Upstream};

/// The time without trouble, that the rest is compared with.
const CALM: Duration = Duration::from_secs(10);

/// How long an upstream keeps its mood.
const MOOD: Duration = Duration::from_secs(1);

/// How long, and how hard.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Seconds of trouble.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Requests a second.
    #[arg(long, default_value_t = 2000)]
    rate: u32,
    /// The moods follow from this number.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    choice: Choice,
}

/// Makes trouble, and prints what was noticed. Fails if Doorway lost what it could have served, or doubled a POST.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    let directory = metadata.target_directory.join("chaos");
    let mut is_whole = true;
    for contender in options.choice.contenders(&metadata)? {
        let figures = measure(&contender, &directory.join(contender.kind.name()), options)?;
        is_whole &= contender.kind != Kind::Doorway || figures.is_whole();
    }
    ensure!(
        is_whole,
        "Doorway lost requests that could be served, or sent one twice"
    );
    Ok(ExitCode::SUCCESS)
}

fn measure(contender: &Contender, directory: &Path, options: &Options) -> Result<Figures> {
    let reached = Arc::new(Reached::default());
    let upstreams = (0..3)
        .map(|number| Upstream::start(number, 0, &reached))
        .collect::<Result<Vec<_>>>()?;
    let port = contest::free_port()?;
    let mut running = contender.start(directory, &caddyfile(port, &upstreams), port)?;
    let clients = Clients::start(contest::at(port), options.rate);
    thread::sleep(CALM);
    clients.trouble_begins();
    let mut random = options.seed;
    let (begin, length) = (Instant::now(), Duration::from_secs(options.seconds.into()));
    let mut step = 0;
    while begin.elapsed() < length {
        // The last one stays whole.
        for upstream in upstreams.iter().take(2) {
            upstream.set_mood(Mood::any(&mut random));
        }
        step += 1;
        thread::sleep((begin + MOOD * step).saturating_duration_since(Instant::now()));
    }
    upstreams
        .iter()
        .for_each(|upstream| upstream.set_mood(Mood::Whole));
    let seen = clients.join();
    running.must_run()?;
    let figures = Figures::of(seen, &reached);
    println!(
        "{} in {} s of trouble at {} requests a second:",
        contender.kind.name(),
        options.seconds,
        options.rate
    );
    print!("{figures}");
    Ok(figures)
}

/// What an operator of such upstreams would write, for either proxy.
fn caddyfile(port: u16, upstreams: &[Upstream]) -> String {
    let upstreams: Vec<String> = upstreams
        .iter()
        .map(|upstream| upstream.address().to_string())
        .collect();
    format!(
        "{{\n\tadmin off\n\tpersist_config off\n}}\n\
         http://:{port} {{\n\tbind 127.0.0.1\n\treverse_proxy {} {{\n\
         \t\tlb_policy round_robin\n\t\tlb_try_duration 5s\n\t\tlb_try_interval 50ms\n\
         \t\tlb_retry_match {{\n\t\t\tmethod GET\n\t\t}}\n\
         \t\tfail_duration 1s\n\t\tmax_fails 3\n\
         \t\thealth_uri /health\n\t\thealth_interval 500ms\n\t\thealth_timeout 250ms\n\
         \t\ttransport http {{\n\t\t\tdial_timeout 250ms\n\t\t\tresponse_header_timeout 500ms\n\t\t}}\n\t}}\n}}\n",
        upstreams.join(" ")
    )
}
