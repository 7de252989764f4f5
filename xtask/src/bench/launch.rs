//! Starting programs for the bench: pinned to a CPU, with enough files, and never outliving it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::meter;

/// Open files that every started program may have, if the machine allows it.
const FILES: u32 = 65_536;

/// Which CPU the proxy has, and which the load and the origin share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    /// For the proxy alone.
    pub(crate) proxy: u32,
    /// For everything else.
    pub(crate) load: u32,
}

/// A program that ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    name: String,
    child: Child,
    log: PathBuf,
}

// === impl Lane ===

impl Lane {
    /// The first two CPUs that this process may use. With a single one there is nothing to measure.
    pub(crate) fn pick() -> Result<Self> {
        let allowed = meter::allowed_cpus()?;
        ensure!(
            allowed.len() >= 2,
            "the bench needs two CPUs, one of them for the proxy alone"
        );
        Ok(Self {
            proxy: allowed[0],
            load: allowed[1],
        })
    }
}

/// `program` on CPU `cpu`. The kernel ends it should we die first, whatever the way.
pub(crate) fn pinned(cpu: u32, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args([
        "--pdeathsig",
        "TERM",
        "taskset",
        "-c",
        &cpu.to_string(),
        "sh",
        "-c",
    ]);
    command.arg(format!(
        "ulimit -n {FILES} 2>/dev/null || ulimit -n \"$(ulimit -Hn)\"; exec \"$0\" \"$@\""
    ));
    command.arg(program).stdin(Stdio::null());
    command
}

// === impl Running ===

impl Running {
    /// Starts `command`, its errors (and its output, unless the command pipes it) in a log file in `directory`.
    pub(crate) fn start(name: &str, mut command: Command, directory: &Path) -> Result<Self> {
        let log = directory.join(format!("{name}.log"));
        command.stderr(File::create(&log)?);
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log,
        })
    }

    /// The process that was started and all below it.
    pub(crate) fn pids(&self) -> Vec<u32> {
        meter::tree(self.child.id())
    }

    /// The pipes, if the command asked for them.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Fails, with what the program said last, if it has ended.
    pub(crate) fn must_run(&mut self) -> Result<()> {
        let ended = self.child.try_wait()?;
        ensure!(
            ended.is_none(),
            "{} ended early: {}",
            self.name,
            self.last_words()
        );
        Ok(())
    }

    /// The end of the log.
    pub(crate) fn last_words(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(8).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let pids = self.pids();
        if self.has_ended() {
            return;
        }
        signal("TERM", &[self.child.id()]);
        wait(|| self.has_ended());
        let left: Vec<u32> = pids.into_iter().filter(|pid| meter::is_alive(*pid)).collect();
        if !left.is_empty() {
            signal("KILL", &left);
            wait(|| self.has_ended() && !left.iter().any(|pid| meter::is_alive(*pid)));
        }
    }
}

/// Waits until something is true, but not longer than a well-behaved program takes to end.
fn wait(mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() && start.elapsed() < Duration::from_secs(3) {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Sends a signal. The standard library can only kill, and only direct children.
fn signal(name: &str, pids: &[u32]) {
    let list: Vec<String> = pids.iter().map(u32::to_string).collect();
    let line = format!("kill -{name} {}", list.join(" "));
    // A process that ended meanwhile is no failure.
    drop(
        Command::new("sh")
            .args(["-c", &line])
            .stderr(Stdio::null())
            .status(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_program_is_gone_with_all_its_children() {
        if !crate::bench::has("setpriv") {
            return;
        }
        let directory = std::env::temp_dir().join(format!("doorway-xtask-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let mut command = pinned(meter::allowed_cpus().unwrap()[0], Path::new("sh"));
        command
            .args(["-c", "sleep 600 & echo up; wait"])
            .stdout(Stdio::piped());
        let mut running = Running::start("sleeper", command, &directory).unwrap();
        let mut line = String::new();
        let output = running.child().stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        let pids = running.pids();
        assert_eq!(pids.len(), 2);
        drop(running);
        assert!(!pids.into_iter().any(meter::is_alive));
        fs::remove_dir_all(directory).unwrap();
    }
}
