//! `cargo xtask bench`: Doorway beside nginx, HAProxy and Caddy, all in one run.
//!
//! The proxy under test has one CPU, one worker and nothing else to do; the load and the origin share the other CPU.
//! What counts is the CPU time of the proxy per request, as a ratio to its peers in the same run: absolute times say
//! more about the machine. Runs go round-robin between the proxies, so that a drift of the machine hits all of them.

mod hosts;
pub(crate) mod idle;
pub(crate) mod launch;
mod load;
pub(crate) mod meter;
pub(crate) mod origin;
pub(crate) mod peers;
mod report;
mod rounds;
mod secure;
mod sites;
mod workload;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use crate::metadata::Metadata;
use crate::process::{Cargo, find};
use launch::Lane;
use origin::Origin;
use peers::{Peer, Place, Proxy};
use report::Row;
use rounds::Pace;
use workload::Workload;

/// What to measure and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Runs of 2 s instead of 5 s: to see that it works, not to compare.
    #[arg(long)]
    quick: bool,
    /// Only these proxies [default: all but pingora].
    #[arg(long, value_delimiter = ',')]
    only: Vec<Proxy>,
    /// Another build of the doorway binary, measured as `before` in the same rounds.
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
    /// This build of the doorway binary, instead of a release build of this tree.
    #[arg(long, value_name = "PATH")]
    doorway: Option<PathBuf>,
    /// Only these workloads.
    #[arg(long, value_delimiter = ',')]
    workloads: Vec<Workload>,
    /// What ten thousand sites cost, and nothing else.
    #[arg(long)]
    sites: bool,
    /// What a hundred thousand hosts of a store cost, and nothing else.
    #[arg(long)]
    hosts: bool,
}

/// Measures, prints the table and the ratios, writes `bench.json` into the target directory.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    if options.sites {
        sites::run(&metadata)?;
        return Ok(ExitCode::SUCCESS);
    }
    if options.hosts {
        hosts::run(&metadata)?;
        return Ok(ExitCode::SUCCESS);
    }
    let before = options.before(&metadata)?;
    let directory = metadata.target_directory.join("bench");
    fs::create_dir_all(&directory)?;
    build(&metadata, options)?;
    let lane = Lane::pick()?;
    println!(
        "proxy on CPU {}, load and origin on CPU {}",
        lane.proxy, lane.load
    );
    let origin = Origin::start(&metadata.target_directory, lane)?;
    let place = Place::new(&directory, lane, &origin)?;
    let peers = peers(options, &metadata, before.as_deref());
    let rows = measure(options, &peers, &place, &origin, &metadata.target_directory)?;
    ensure!(!rows.is_empty(), "nothing was measured");
    print!("{}", report::table(&rows));
    print!("{}", report::ratios(&rows));
    let file = metadata.target_directory.join("bench.json");
    fs::write(&file, serde_json::to_string_pretty(&rows)?).context("cannot write bench.json")?;
    println!(
        "\nwritten: {}",
        file.strip_prefix(&metadata.workspace_root)
            .unwrap_or(&file)
            .display()
    );
    Ok(ExitCode::SUCCESS)
}

/// The origin must be fast, so it comes from a release build of this very tool.
fn build(metadata: &Metadata, options: &Options) -> Result<()> {
    let root = &metadata.workspace_root;
    Cargo::new("build --release --locked -p xtask").run(root)?;
    if options.doorway.is_none() && options.wants(Proxy::Doorway) {
        Cargo::new("build --release --locked -p doorway").run(root)?;
    }
    Ok(())
}

/// The proxies that are wanted and here.
fn peers(options: &Options, metadata: &Metadata, before: Option<&Path>) -> Vec<Peer> {
    let mut present = Vec::new();
    for proxy in Proxy::ALL.into_iter().filter(|proxy| options.wants(*proxy)) {
        let found = match (proxy, &options.doorway) {
            (Proxy::Doorway, Some(binary)) => Peer::at(proxy, binary.clone()),
            _ => Peer::find(proxy, metadata, before),
        };
        match found {
            Ok(peer) => present.push(peer),
            Err(error) => println!("skipped: {proxy}: {error:#}"),
        }
    }
    present
}

fn measure(
    options: &Options,
    present: &[Peer],
    place: &Place,
    origin: &Origin,
    target: &Path,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    if Workload::LOADS
        .into_iter()
        .any(|workload| options.includes(workload))
    {
        let mut servers = Vec::new();
        for peer in present {
            servers.push(peer.start(place, peers::FEW)?);
            println!("{}: {}", peer.proxy, peer.version);
        }
        let pace = if options.quick { Pace::QUICK } else { Pace::FULL };
        for workload in Workload::LOADS
            .into_iter()
            .filter(|workload| options.includes(*workload))
        {
            match workload.missing(place) {
                Some(tool) => println!("skipped: {workload}, which needs `{tool}`"),
                None => rows.extend(rounds::run(workload, &servers, origin, place, pace)?),
            }
        }
    }
    if options.includes(Workload::Idle) {
        for peer in present {
            rows.push(idle::measure(peer, place, target)?);
        }
    }
    Ok(rows)
}

// === impl Options ===

impl Options {
    fn wants(&self, proxy: Proxy) -> bool {
        match proxy {
            Proxy::Before => self.against.is_some(),
            Proxy::Pingora => self.only.contains(&proxy),
            _ => self.only.is_empty() || self.only.contains(&proxy),
        }
    }

    /// The other build, which must not be the one that this run builds anew.
    fn before(&self, metadata: &Metadata) -> Result<Option<PathBuf>> {
        let Some(path) = &self.against else {
            return Ok(None);
        };
        let before = path
            .canonicalize()
            .with_context(|| format!("no build at {}", path.display()))?;
        let now = metadata.target_directory.join("release/doorway");
        ensure!(
            now.canonicalize().ok().as_ref() != Some(&before),
            "{} is what the bench builds: keep a copy of the build before and name that",
            path.display()
        );
        Ok(Some(before))
    }

    fn includes(&self, workload: Workload) -> bool {
        self.workloads.is_empty() || self.workloads.contains(&workload)
    }
}

/// Whether a program is there.
fn has(tool: &str) -> bool {
    find(tool).is_some()
}
