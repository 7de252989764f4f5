//! `cargo xtask consul`: a Consul agent for the tests, from Debian's last release that had one.
//!
//! The package is fetched by apt with lists and caches of its own, below `target`, and checked against the keys of the
//! system's archive; it is unpacked, not installed: the system's sources, packages and services stay as they are.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

use crate::metadata::Metadata;
use crate::process::find;

/// Later releases have no such package.
const SOURCE: &str = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
     http://deb.debian.org/debian bullseye main\n";

const PACKAGE: &str = "consul";

/// The longest time for one of apt's steps, in seconds.
const LIMIT: &str = "300";

/// Unpacks the agent into `target/tools/bin`, unless there is one. What fails is a line that says so.
pub(crate) fn run() -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    let tools = metadata.target_directory.join("tools");
    let program = tools.join("bin").join(PACKAGE);
    let there = Some(program.clone()).filter(|program| program.is_file());
    if let Some(there) = there.or_else(|| find(PACKAGE)) {
        println!("there is {} already", there.display());
    } else if let Err(error) = unpack(&tools.join("apt"), &program) {
        println!("skipped: the tests on a real Consul agent: {error:#}");
    } else {
        println!("unpacked {}", program.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn unpack(directory: &Path, program: &Path) -> Result<()> {
    for part in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(directory.join(part))?;
    }
    fs::write(directory.join("sources.list"), SOURCE)?;
    apt(directory, &["update"])?;
    apt(directory, &["download", PACKAGE])?;
    let package = fs::read_dir(directory)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|ending| ending == "deb"))
        .context("apt-get downloaded no package")?;
    let unpacked = directory.join("unpacked");
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.arg("-x").arg(&package).arg(&unpacked);
    finish(dpkg)?;
    if let Some(bin) = program.parent() {
        fs::create_dir_all(bin)?;
    }
    let found = unpacked.join("usr/bin").join(PACKAGE);
    fs::rename(&found, program).with_context(|| format!("there is no {}", found.display()))?;
    fs::remove_dir_all(directory)?;
    Ok(())
}

/// `apt-get` with sources, lists and caches in `directory`.
fn apt(directory: &Path, args: &[&str]) -> Result<()> {
    let mut command = Command::new("timeout");
    command.args([LIMIT, "apt-get", "-q"]).current_dir(directory);
    let place = directory.display();
    for option in [
        format!("Dir::Etc::sourcelist={place}/sources.list"),
        "Dir::Etc::sourceparts=/dev/null".to_owned(),
        format!("Dir::State::lists={place}/lists"),
        format!("Dir::Cache={place}/cache"),
        // The sandbox's user may not be let into this directory.
        "APT::Sandbox::User=".to_owned(),
    ] {
        command.args(["-o", &option]);
    }
    command.args(args);
    finish(command)
}

fn finish(mut command: Command) -> Result<()> {
    let name = format!("{command:?}");
    let name = name.chars().take(60).collect::<String>();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {name}"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    let last = told.lines().last().unwrap_or_default();
    ensure!(output.status.success(), "{name}: {last}");
    Ok(())
}
