//! `cargo xtask replicas`: three Doorway processes share a store of routes, which is restarted, cut off from one of them,
//! and replaced by an empty one, while routes are written through all three and visitors ask each of them.
//!
//! Nothing that was acknowledged may be lost, every replica must come to the same routes, and no request may fail. What a
//! store acknowledged in the moment of its end, before any replica had seen it, is lost with it, and counted apart.

mod clients;
mod network;
mod replica;
mod server;
mod trial;
mod verdict;
mod writer;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use crate::metadata::Metadata;
use crate::process::Cargo;
use server::Kind;
use trial::Trial;

/// How much, and of what.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How many routes are written.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(400..))]
    writes: u64,
    /// The writes follow from this number.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this store.
    #[arg(long)]
    only: Option<Kind>,
    /// This build of the doorway binary, instead of a release build of this tree.
    #[arg(long, value_name = "PATH")]
    doorway: Option<PathBuf>,
}

/// Tries each store that is here, and prints what came of it. Fails if a route or a request was lost.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    let directory = metadata.target_directory.join("replicas");
    let binary = match &options.doorway {
        Some(binary) => std::path::absolute(binary)?,
        None => {
            Cargo::new("build --release --locked -p doorway").run(&metadata.workspace_root)?;
            metadata.target_directory.join("release/doorway")
        }
    };
    let mut is_whole = true;
    for kind in [Kind::Redis, Kind::Postgres] {
        if options.only.is_some_and(|only| only != kind) {
            continue;
        }
        let Some(program) = kind.program() else {
            println!("skipped: {}, whose server is not here", kind.name());
            continue;
        };
        println!("{}, {} writes:", kind.name(), options.writes);
        let trial = Trial::start(
            &binary,
            kind,
            &program,
            &directory.join(kind.name()),
            options.seed,
        )?;
        is_whole &= trial.run(options.writes)?;
    }
    ensure!(is_whole, "routes or requests were lost");
    Ok(ExitCode::SUCCESS)
}
