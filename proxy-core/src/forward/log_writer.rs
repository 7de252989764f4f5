//! Writes log lines from a thread of its own, so that a slow disk or terminal never holds up a request.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tracing::warn;

/// Lines that may wait for the writer; more are dropped and counted.
const QUEUE: usize = 16 * 1024;

/// About how many bytes are written at once.
const CHUNK: usize = 64 * 1024;

/// How long the last lines may take when the log is closed: a disk is quick enough, and a pipe that nobody
/// reads must not keep the process from ending.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Destination {
    Stdout,
    Stderr,
    File(PathBuf),
    Discard,
}

/// One destination with its thread. Dropping it writes what is still queued, within two seconds.
#[derive(Debug)]
pub(crate) struct LogWriter {
    lines: Option<SyncSender<String>>,
    /// Hangs up when the thread has ended.
    thread: Option<Mutex<Receiver<()>>>,
}

// === impl LogWriter ===

impl LogWriter {
    /// Opens the destination and starts its thread.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened or the thread cannot be started.
    pub(crate) fn open(destination: &Destination) -> io::Result<Self> {
        let out: Box<dyn Write + Send> = match destination {
            Destination::Discard => {
                return Ok(Self {
                    lines: None,
                    thread: None,
                });
            }
            Destination::Stdout => Box::new(io::stdout()),
            Destination::Stderr => Box::new(io::stderr()),
            Destination::File(path) => Box::new(append(path)?),
        };
        Self::start(out)
    }

    fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, queue) = sync_channel(QUEUE);
        let (running, thread) = sync_channel(0);
        std::thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || {
                let _hangs_up_at_the_end: SyncSender<()> = running;
                write_all(&queue, out);
            })?;
        Ok(Self {
            lines: Some(lines),
            thread: Some(Mutex::new(thread)),
        })
    }

    /// Queues a line, which ends with a line feed. `false` if it had to be dropped.
    pub(crate) fn write(&self, line: String) -> bool {
        match self.lines.as_ref().map(|lines| lines.try_send(line)) {
            None | Some(Ok(())) => true,
            Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) => false,
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.lines = None;
        let Some(thread) = &self.thread else { return };
        let thread = thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.recv_timeout(LAST_LINES) == Err(RecvTimeoutError::Timeout) {
            warn!("the last lines of an access log could not be written");
        }
    }
}

fn append(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Writes until every sender is gone, whole lines at a time, as others may append to the same file. A
/// failed write loses its lines, is said once, and is tried again with the next.
fn write_all(queue: &Receiver<String>, mut out: impl Write) {
    let mut failing = false;
    let mut lines = String::new();
    while let Ok(first) = queue.recv() {
        lines.clear();
        lines.push_str(&first);
        while lines.len() < CHUNK
            && let Ok(line) = queue.try_recv()
        {
            lines.push_str(&line);
        }
        match out.write_all(lines.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => failing = false,
            Err(error) if !failing => {
                warn!(%error, "cannot write the access log");
                failing = true;
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_queued_is_written_before_the_writer_is_gone() {
        let directory = std::env::temp_dir().join(format!("doorway-log-{}", std::process::id()));
        let path = directory.join("access.log");
        let writer = LogWriter::open(&Destination::File(path.clone())).unwrap();
        for number in 0..1000 {
            assert!(writer.write(format!("{number}\n")));
        }
        drop(writer);

        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_dir_all(directory).unwrap();
        assert_eq!(text.lines().count(), 1000);
        assert!(text.ends_with("999\n"));
    }

    #[test]
    fn a_pipe_that_nobody_reads_does_not_keep_the_process_from_ending() {
        let (_reader, pipe) = io::pipe().unwrap();
        let writer = LogWriter::start(pipe).unwrap();
        let mut dropped = 0;
        for _ in 0..2 * QUEUE {
            dropped += usize::from(!writer.write("x".repeat(1024)));
        }
        assert!(dropped > 0, "the queue is bounded");
        drop(writer);
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_an_error() {
        assert!(LogWriter::open(&Destination::File("/proc/no/such.log".into())).is_err());
    }
}
