//! Running other programs: cargo with its output passed through, and looking for tools.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// A cargo command line and the extra environment it wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cargo {
    args: Vec<String>,
    env: Vec<(&'static str, &'static str)>,
}

// === impl Cargo ===

impl Cargo {
    /// `cargo` with `args` split at spaces.
    pub(crate) fn new(args: &str) -> Self {
        Self {
            args: args.split_whitespace().map(str::to_owned).collect(),
            env: Vec::new(),
        }
    }

    /// Adds one argument, whatever is in it.
    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets one environment variable.
    pub(crate) fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.push((name, value));
        self
    }

    /// Runs it in `directory`, its output passed through. A failure is an error that names the command.
    pub(crate) fn run(&self, directory: &Path) -> Result<()> {
        let mut command = Command::new(cargo());
        command
            .args(&self.args)
            .envs(self.env.iter().copied())
            .current_dir(directory)
            .stdin(Stdio::null());
        let status = command.status().with_context(|| format!("cannot run `{self}`"))?;
        if !status.success() {
            bail!("`{self}` failed ({status})");
        }
        Ok(())
    }
}

impl std::fmt::Display for Cargo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}='{value}' ")?;
        }
        write!(f, "cargo {}", self.args.join(" "))
    }
}

/// The first executable called `name` on the path or in the places where distributions hide servers. Debian keeps the
/// versions of PostgreSQL apart.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let extra = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    env::split_paths(&path)
        .chain(extra)
        .chain(versions.map(|version| version.path().join("bin")))
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
}

/// A time as people say it: `7.4 s`, `3 min 12 s`.
pub(crate) fn spoken(time: Duration) -> String {
    match time.as_secs() {
        0..=59 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_prints_as_one_would_type_it() {
        let command = Cargo::new("doc --no-deps").env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(
            command.to_string(),
            "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps"
        );
    }

    #[test]
    fn a_command_that_cannot_run_is_an_error_that_names_it() {
        let error = Cargo::new("check --quiet")
            .run(Path::new("no/such/directory"))
            .unwrap_err();
        assert_eq!(error.to_string(), "cannot run `cargo check --quiet`");
    }

    #[test]
    fn times_are_spoken() {
        assert_eq!(spoken(Duration::from_millis(7430)), "7.4 s");
        assert_eq!(spoken(Duration::from_secs(192)), "3 min 12 s");
    }
}
