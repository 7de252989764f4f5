//! `cargo xtask tidy`: the rules that no compiler checks, as code.

mod crates;
mod fuzzing;
mod licences;
mod modules;
mod paths;
mod references;
mod source;
mod style;
mod tree;

use std::fmt;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::metadata::Metadata;
use tree::Tree;

/// One broken rule and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    place: String,
    message: String,
}

/// Checks the workspace and fails if a rule is broken.
pub(crate) fn run() -> Result<ExitCode> {
    check(&Metadata::load()?)?;
    Ok(ExitCode::SUCCESS)
}

/// All findings at once, on standard error; an error if there is one.
pub(crate) fn check(metadata: &Metadata) -> Result<()> {
    let tree = Tree::load(&metadata.workspace_root)?;
    let mut findings = crates::check(metadata)?;
    findings.extend(licences::check(metadata));
    findings.extend(modules::check(&tree));
    findings.extend(style::check(&tree));
    findings.extend(paths::check(&tree));
    findings.extend(fuzzing::check(&tree));
    findings.extend(references::check(&tree));
    findings.sort();
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        bail!("tidy: {} findings", findings.len());
    }
    println!("tidy: {} files, nothing to say", tree.files.len());
    Ok(())
}

// === impl Finding ===

impl Finding {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}
