//! `cargo xtask wire`: what Doorway, nginx, HAProxy and Caddy make of the requests that the tests of `proxy-core` know,
//! well-formed or not.
//!
//! Each proxy has its plain configuration and an origin of its own, which takes whatever looks like a request. A case
//! that Doorway forwards although every peer refuses it is a fault of Doorway, unless it is listed here with a reason.

mod cases;
mod origin;
mod outcome;
mod peers;
mod report;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result, ensure};

use crate::bench::peers::{Peer, Proxy};
use crate::codegen::spliced;
use crate::metadata::Metadata;
use crate::process::Cargo;
use cases::Table;
use outcome::Outcome;
use peers::Server;
use report::{Column, Report};

/// Where the table stands.
const DOCUMENT: &str = "proxy-core/src/manual/strictness.md";

/// Doorway first; without it there is nothing to compare.
const PROXIES: [Proxy; 4] = [Proxy::Doorway, Proxy::Nginx, Proxy::Haproxy, Proxy::Caddy];

/// What Doorway forwards on purpose although all others refuse it: the name of the case, and why.
const ON_PURPOSE: [(&str, &str); 0] = [];

/// What to show.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Print every case, and not only those about which the proxies disagree.
    #[arg(long)]
    all: bool,
    /// Write the table into the manual.
    #[arg(long)]
    write: bool,
    /// This build of the doorway binary, instead of a release build of this tree.
    #[arg(long, value_name = "PATH")]
    doorway: Option<PathBuf>,
}

/// Sends every case to every proxy that is here, and prints who does what. Fails if Doorway alone forwards something.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    let tables = Table::all(&metadata.workspace_root)?;
    let peers = find_peers(&metadata, options)?;
    let directory = metadata.target_directory.join("wire");
    let running = peers.into_iter().map(|peer| {
        let directory = directory.join(peer.proxy.name());
        let server = Server::start(&peer, &directory)?;
        Ok((peer, server))
    });
    let running = running.collect::<Result<Vec<_>>>()?;
    let columns = thread::scope(|scope| {
        let asking: Vec<_> = running
            .into_iter()
            .map(|(peer, server)| scope.spawn(|| ask(peer, server, &tables)))
            .collect();
        let columns = asking.into_iter().map(|asking| match asking.join() {
            Ok(column) => column,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        columns.collect::<Result<Vec<_>>>()
    })?;
    let report = Report::new(&tables, &columns);
    print!("{}", report.cases(options.all));
    print!("{}", report.summary());
    if options.write {
        ensure!(columns.len() == PROXIES.len(), "the manual wants all proxies");
        let path = metadata.workspace_root.join(DOCUMENT);
        let before = fs::read_to_string(&path).with_context(|| DOCUMENT.to_owned())?;
        fs::write(&path, spliced(&before, "wire", &report.document())?)?;
        println!("wire: wrote {DOCUMENT}");
    }
    let alone = report.alone(&ON_PURPOSE);
    for case in &alone {
        println!("only Doorway forwards {case}");
    }
    ensure!(
        alone.is_empty(),
        "Doorway forwards what every other proxy refuses"
    );
    Ok(ExitCode::SUCCESS)
}

fn find_peers(metadata: &Metadata, options: &Options) -> Result<Vec<Peer>> {
    if options.doorway.is_none() {
        Cargo::new("build --release --locked -p doorway").run(&metadata.workspace_root)?;
    }
    let mut peers = Vec::new();
    for proxy in PROXIES {
        let found = match (&options.doorway, proxy) {
            (Some(binary), Proxy::Doorway) => Peer::at(proxy, binary.clone()),
            _ => Peer::find(proxy, metadata, None),
        };
        match found {
            Ok(peer) => peers.push(peer),
            Err(error) if proxy == Proxy::Doorway => return Err(error),
            Err(error) => println!("skipped: {proxy}: {error:#}"),
        }
    }
    Ok(peers)
}

fn ask(peer: Peer, mut server: Server, tables: &[Table]) -> Result<Column> {
    let mut outcomes = Vec::new();
    for case in tables.iter().flat_map(|table| &table.cases) {
        let outcome = Outcome::of(case, &mut server);
        outcomes.push(outcome.with_context(|| format!("{}: {}", server.proxy, case.id))?);
    }
    Ok(Column {
        proxy: peer.proxy,
        version: peer.version,
        outcomes,
    })
}

/// Where `wanted` begins in `bytes`.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
