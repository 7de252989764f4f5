//! `cargo xtask test`: the whole suite, and a line for each part that this machine cannot run.

use std::process::ExitCode;

use anyhow::Result;

use crate::metadata::Metadata;
use crate::process::{Cargo, find};

/// Programs that tests and the bench use when they are there.
const TOOLS: [&str; 9] = [
    "nginx",
    "haproxy",
    "caddy",
    "consul",
    "skipper",
    "redis-server",
    "postgres",
    "wrk",
    "h2load",
];

/// Runs every test and doc-test, then says which real servers are missing.
pub(crate) fn run() -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    Cargo::new("test --workspace --locked").run(&metadata.workspace_root)?;
    for tool in TOOLS.iter().filter(|tool| find(tool).is_none()) {
        println!("skipped: whatever needs `{tool}`, which is not installed");
    }
    Ok(ExitCode::SUCCESS)
}
