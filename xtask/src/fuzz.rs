//! `cargo xtask fuzz`: the targets in each `<crate>/fuzz`, on the stable compiler.
//!
//! The committed corpus is read, never written: new inputs go to the target directory, so that a run leaves the work
//! tree clean. Add one to the corpus by hand when it shows something.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::metadata::{Metadata, cargo};
use crate::process::Cargo;

/// What to fuzz and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only this target.
    target: Option<String>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 30)]
    seconds: u32,
}

/// A fuzz target and the crate that it belongs to.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    name: String,
    directory: PathBuf,
}

/// Runs the chosen targets one after the other; the first crash ends it.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    let mut targets = Vec::new();
    for member in metadata.members() {
        targets.extend(targets_of(member.directory())?);
    }
    targets.retain(|target| {
        options
            .target
            .as_ref()
            .is_none_or(|wanted| *wanted == target.name)
    });
    ensure!(!targets.is_empty(), "no such fuzz target");
    install()?;
    for target in &targets {
        println!("== fuzz {} for {} s", target.name, options.seconds);
        target.run(&metadata.target_directory, options.seconds)?;
    }
    println!("fuzz: no crash, targets run: {}", targets.len());
    Ok(ExitCode::SUCCESS)
}

// === impl Target ===

impl Target {
    fn run(&self, build: &Path, seconds: u32) -> Result<()> {
        let found = build.join("fuzz-corpus").join(&self.name);
        fs::create_dir_all(&found)?;
        let mut command = Command::new(cargo());
        command.args(["fuzz", "run", &self.name]).arg(&found);
        let seeds = self.directory.join("fuzz/corpus").join(&self.name);
        if seeds.is_dir() {
            command.arg(seeds);
        }
        command.arg("--").arg(format!("-max_total_time={seconds}"));
        // Sanitizers are a nightly flag; this lets the pinned stable compiler take it.
        command
            .env("RUSTC_BOOTSTRAP", "1")
            .current_dir(&self.directory)
            .stdin(Stdio::null());
        let status = command.status().context("cannot run cargo fuzz")?;
        if !status.success() {
            bail!("fuzz target {} failed ({status})", self.name);
        }
        Ok(())
    }
}

fn targets_of(directory: &Path) -> Result<Vec<Target>> {
    let sources = directory.join("fuzz/fuzz_targets");
    if !sources.is_dir() {
        return Ok(Vec::new());
    }
    let mut targets = Vec::new();
    for entry in fs::read_dir(&sources)? {
        let path = entry?.path();
        if let (Some("rs"), Some(stem)) = (extension(&path), path.file_stem()) {
            let name = stem.to_string_lossy().into_owned();
            targets.push(Target {
                name,
                directory: directory.to_owned(),
            });
        }
    }
    targets.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(targets)
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

fn install() -> Result<()> {
    let present = Command::new(cargo())
        .args(["fuzz", "--version"])
        .output()?
        .status
        .success();
    if present {
        Ok(())
    } else {
        Cargo::new("install --locked cargo-fuzz").run(Path::new("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_fuzz_targets_has_none() {
        assert_eq!(targets_of(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap(), []);
    }
}
