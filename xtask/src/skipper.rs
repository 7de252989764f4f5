//! `cargo xtask skipper`: the real Skipper for the comparison with it, built with Go.
//!
//! It takes minutes, so `.ci/run` does not do it, and the comparison is skipped there. A module that requires the one
//! version is built, and not `go install` with a version: that asks for a list of versions which not every proxy of Go's
//! modules gives.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

use crate::metadata::Metadata;
use crate::process::find;

/// The version that Doorway is compared with.
const VERSION: &str = "v0.22.0";

/// What is built.
const PACKAGE: &str = "github.com/zalando/skipper";

/// Builds Skipper into `target/tools/bin`, unless it is there. Without Go, that is a line that says so.
pub(crate) fn run() -> Result<ExitCode> {
    let metadata = Metadata::load()?;
    let tools = metadata.target_directory.join("tools");
    let program = tools.join("bin/skipper");
    if program.is_file() {
        println!("there is {} already", program.display());
    } else if find("go").is_none() {
        println!("skipped: the comparison with Skipper: `go` is not installed");
    } else {
        println!("building skipper {VERSION}, which takes some minutes");
        build(&tools.join("skipper-src"), &program)?;
        println!("built {}", program.display());
    }
    println!("`cargo test -p proxy-core --test it skipper::differential` compares with it");
    Ok(ExitCode::SUCCESS)
}

/// Builds it in a module of its own in `directory`.
fn build(directory: &Path, program: &Path) -> Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("go.mod"), module())?;
    let mut command = Command::new("go");
    command
        .args(["build", "-mod=mod", "-o"])
        .arg(program)
        .arg("-ldflags")
        .arg(format!("-X main.version={VERSION}"))
        .arg(format!("{PACKAGE}/cmd/skipper"))
        .current_dir(directory)
        // A workspace around it is none of its business.
        .env("GOWORK", "off")
        .stdin(Stdio::null());
    let status = command.status().context("cannot run `go build`")?;
    ensure!(status.success(), "`go build` failed ({status})");
    Ok(())
}

/// The module file; what else is needed, `go build` adds.
fn module() -> String {
    format!("module doorway.invalid/skipper\n\ngo 1.24\n\nrequire {PACKAGE} {VERSION}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_requires_the_one_version() {
        let module = module();
        let last = module.lines().last();
        assert_eq!(last, Some("require github.com/zalando/skipper v0.22.0"));
    }
}
