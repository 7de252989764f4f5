//! The binary as a child process.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use super::PATIENCE;

/// What an ended process left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A process that runs until it is told to stop; killed when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    id: u32,
    ended: Receiver<ExitStatus>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    reaped: bool,
}

/// The binary with `arguments`, in `directory` (which is its home, too), with nothing else of this environment. No admin
/// API is served unless the configuration says where: its usual port may be somebody's.
pub(crate) fn doorway(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_doorway"));
    command
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("HOME", directory)
        .env("DOORWAY_ADMIN", "off");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// `command` of [`doorway`] with at most this many open files.
pub(crate) fn with_files(most: u32, command: &Command) -> Command {
    let mut limited = Command::new("/bin/sh");
    limited
        .args(["-c", &format!("ulimit -n {most}; exec \"$0\" \"$@\"")])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
    if let Some(directory) = command.get_current_dir() {
        limited.current_dir(directory);
    }
    limited
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    limited
}

/// Runs `command` to its end.
pub(crate) fn finish(command: &mut Command) -> Finished {
    let output = command.output().unwrap();
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `command` to its end with `input` as its standard input.
pub(crate) fn finish_with_input(command: &mut Command, input: &str) -> Finished {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

// === impl Running ===

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        Self {
            id: child.id(),
            stdout: lines(stdout),
            stderr: lines(stderr),
            ended: end_of(child),
            reaped: false,
        }
    }

    /// The next line of standard output that contains `text`.
    pub(crate) fn stdout_line(&self, text: &str) -> String {
        line_with(&self.stdout, text)
    }

    /// The next line of standard error that contains `text`.
    pub(crate) fn stderr_line(&self, text: &str) -> String {
        line_with(&self.stderr, text)
    }

    /// Sends a signal by its name, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        // The shell's own `kill`: the program of that name is no part of a small system.
        let line = format!("kill -s {name} {}", self.id);
        let sent = Command::new("sh").args(["-c", &line]).status().unwrap();
        assert!(sent.success(), "kill -s {name}");
    }

    /// Has it do nothing until it gets the signal `CONT`. Returns when each of its threads has stopped.
    pub(crate) fn freeze(&self) {
        self.signal("STOP");
        let tasks = format!("/proc/{}/task", self.id);
        let stopped = |task: &Path| {
            let stat = std::fs::read_to_string(task.join("stat")).unwrap_or_default();
            // The state is behind the name, which is in parentheses.
            stat.rsplit_once(") ")
                .is_none_or(|(_, state)| state.starts_with('T'))
        };
        let all = || {
            let tasks = std::fs::read_dir(&tasks);
            tasks.is_ok_and(|tasks| tasks.flatten().all(|task| stopped(&task.path())))
        };
        // Far more looks than it takes.
        assert!((0..500_000).any(|_| all()), "the process does not stop");
    }

    /// Waits for the end: the exit code and the rest of standard error.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = self
            .ended
            .recv_timeout(PATIENCE)
            .expect("the process does not end");
        self.reaped = true;
        (status.code(), self.stderr.iter().collect::<Vec<_>>().join("\n"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped && self.ended.try_recv().is_err() {
            self.signal("KILL");
            // Until it has ended it may write into a directory that is about to be removed.
            let _ended = self.ended.recv_timeout(PATIENCE);
        }
    }
}

fn end_of(mut child: Child) -> Receiver<ExitStatus> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait().unwrap()));
    receiver
}

fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            // Also read to the end when nobody listens, so that the process never waits for its reader.
            let _unheard = sender.send(line.unwrap_or_default());
        }
    });
    receiver
}

fn line_with(lines: &Receiver<String>, text: &str) -> String {
    let mut seen = Vec::new();
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) if line.contains(text) => return line,
            Ok(line) => seen.push(line),
            Err(error) => panic!("no line with {text:?} ({error}): {seen:#?}"),
        }
    }
}
