//! Writes lines from a thread of its own, so that a slow disk or terminal never holds up a request.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use tracing::{info, warn};

use super::file::{FileSettings, LogFile};
use crate::clock;

/// Lines that may wait for the writer; more are dropped and counted.
const QUEUE: usize = 16 * 1024;

/// About how many bytes are written at once.
const CHUNK: usize = 64 * 1024;

/// How long the thread rests once it has written lines that nobody waited for, while others gather. To wake it for each of
/// them would cost the request more than all else that is done for its line.
const REST: Duration = Duration::from_millis(2);

/// How long the last lines may take when the log is closed: a disk is quick enough, and a pipe that nobody
/// reads must not keep the process from ending.
const LAST_LINES: Duration = Duration::from_secs(2);

/// The name of the threads that write.
const THREAD: &str = "log";

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destination {
    /// Nowhere.
    Discard,
    /// A file.
    File(FileSettings),
    /// Standard error.
    Stderr,
    /// Standard output.
    Stdout,
}

/// What is open: one writer for each file, whatever writes to it and however often the configuration is loaded.
/// Clones share what is open.
#[derive(Clone, Debug, Default)]
pub struct LogFiles(Arc<Mutex<HashMap<PathBuf, Weak<LogWriter>>>>);

/// One destination with its thread. Dropping it writes what is still queued, within two seconds.
#[derive(Debug)]
pub struct LogWriter {
    work: Option<SyncSender<Work>>,
    /// Hangs up when the thread has ended.
    thread: Option<Mutex<Receiver<()>>>,
    /// Of a file, as it is written now.
    settings: Mutex<Option<FileSettings>>,
    /// A line was not written in time: the next one is not waited for.
    is_slow: AtomicBool,
}

enum Work {
    Line(String),
    /// Told when all lines before are written.
    Sync(SyncSender<()>),
    Settle(Box<FileSettings>),
}

/// What the thread writes to.
enum Output {
    File(LogFile),
    Stream(Box<dyn Write + Send>),
}

/// The thread's own.
struct Writing {
    output: Output,
    lines: String,
    count: u64,
    /// Lines that could not be written since the last that could.
    lost: u64,
}

// === impl Destination ===

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Discard => f.write_str("nowhere"),
            Self::File(settings) => settings.path.display().fmt(f),
            Self::Stderr => f.write_str("standard error"),
            Self::Stdout => f.write_str("standard output"),
        }
    }
}

// === impl LogFiles ===

impl LogFiles {
    /// The writer of a destination. A file that is open already goes on with the settings that it has, until
    /// [`LogWriter::settle`].
    ///
    /// # Errors
    ///
    /// If the file cannot be opened or the thread cannot be started.
    pub fn open(&self, destination: &Destination) -> io::Result<Arc<LogWriter>> {
        let output = match destination {
            Destination::Discard => return Ok(Arc::new(LogWriter::nowhere())),
            Destination::Stdout => Output::Stream(Box::new(io::stdout())),
            Destination::Stderr => Output::Stream(Box::new(io::stderr())),
            Destination::File(settings) => return self.open_file(settings),
        };
        Ok(Arc::new(LogWriter::start(output, None)?))
    }

    fn open_file(&self, settings: &FileSettings) -> io::Result<Arc<LogWriter>> {
        let path = std::path::absolute(&settings.path)?;
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, writer| writer.strong_count() > 0);
        if let Some(writer) = open.get(&path).and_then(Weak::upgrade) {
            return Ok(writer);
        }
        let file = LogFile::open(settings.clone(), clock::wall())?;
        let writer = Arc::new(LogWriter::start(Output::File(file), Some(settings.clone()))?);
        open.insert(path, Arc::downgrade(&writer));
        Ok(writer)
    }
}

// === impl LogWriter ===

impl LogWriter {
    fn nowhere() -> Self {
        Self {
            work: None,
            thread: None,
            settings: Mutex::default(),
            is_slow: AtomicBool::new(false),
        }
    }

    fn start(output: Output, settings: Option<FileSettings>) -> io::Result<Self> {
        let (work, queue) = sync_channel(QUEUE);
        let (running, thread) = sync_channel(0);
        thread::Builder::new().name(THREAD.to_owned()).spawn(move || {
            let _hangs_up_at_the_end: SyncSender<()> = running;
            Writing::new(output).run(&queue);
        })?;
        Ok(Self {
            work: Some(work),
            thread: Some(Mutex::new(thread)),
            settings: Mutex::new(settings),
            is_slow: AtomicBool::new(false),
        })
    }

    /// Whether lines are thrown away, so that nobody need write them.
    pub(crate) fn is_nowhere(&self) -> bool {
        self.work.is_none()
    }

    /// Queues a line, which ends with a line feed. `false` if it had to be dropped.
    pub fn write(&self, line: String) -> bool {
        match self.work.as_ref().map(|work| work.try_send(Work::Line(line))) {
            None | Some(Ok(())) => true,
            Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) => false,
        }
    }

    /// As [`LogWriter::write`], and waits until the line is written, but not longer than `patience`; nor at all if
    /// the lines before were not written in time. Not for requests.
    pub fn write_within(&self, line: String, patience: Duration) -> bool {
        let is_queued = self.write(line);
        // What the writing thread itself has to say cannot wait for that thread.
        let is_own = thread::current().name() == Some(THREAD);
        let was_slow = self.is_slow.load(Ordering::Relaxed);
        if !is_queued || is_own {
            return is_queued;
        }
        let (written, when) = sync_channel(1);
        let asked = self
            .work
            .as_ref()
            .map(|work| work.try_send(Work::Sync(written)).is_ok());
        if asked == Some(true) {
            let patience = if was_slow { Duration::ZERO } else { patience };
            let is_slow = when.recv_timeout(patience).is_err();
            self.is_slow.store(is_slow, Ordering::Relaxed);
        }
        true
    }

    /// Lets a file go on with other settings, if they are others. It keeps its path.
    pub fn settle(&self, settings: &FileSettings) {
        let mut present = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(present) = present.as_mut().filter(|present| *present != settings) else {
            return;
        };
        let settings = FileSettings {
            path: present.path.clone(),
            ..settings.clone()
        };
        let work = self.work.as_ref();
        // A queue that is full is full of lines for the old settings, and a later load tries again.
        if work.is_some_and(|work| work.try_send(Work::Settle(Box::new(settings.clone()))).is_ok()) {
            *present = settings;
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.work = None;
        let Some(thread) = &self.thread else { return };
        let thread = thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.recv_timeout(LAST_LINES) == Err(RecvTimeoutError::Timeout) {
            warn!("the last lines of a log could not be written");
        }
    }
}

// === impl Output ===

impl Output {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write(lines, clock::wall()),
            Self::Stream(stream) => stream.write_all(lines).and_then(|()| stream.flush()),
        }
    }

    /// How long it is until [`Output::tick`] has something to do.
    fn until_tick(&self) -> Option<Duration> {
        match self {
            Self::File(file) => file.until_due(clock::wall()),
            Self::Stream(_) => None,
        }
    }

    fn tick(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.roll_if_due(clock::wall()),
            Self::Stream(_) => Ok(()),
        }
    }
}

// === impl Writing ===

impl Writing {
    fn new(output: Output) -> Self {
        Self {
            output,
            lines: String::new(),
            count: 0,
            lost: 0,
        }
    }

    /// Writes until every sender is gone, whole lines at a time, as others may append to the same file.
    fn run(mut self, queue: &Receiver<Work>) {
        loop {
            let next = match self.output.until_tick() {
                None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => queue.recv_timeout(wait),
            };
            match next {
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = self.output.tick() {
                        warn!(%error, "cannot begin a new log file; the old one goes on");
                    }
                }
                Ok(Work::Settle(settings)) => self.settle(*settings),
                Ok(Work::Sync(written)) => told(&written),
                Ok(Work::Line(line)) => {
                    self.take(&line);
                    let other = self.fill(queue);
                    self.write();
                    match other {
                        Some(Work::Settle(settings)) => self.settle(*settings),
                        Some(Work::Sync(written)) => told(&written),
                        Some(Work::Line(_)) | None => thread::park_timeout(REST),
                    }
                }
            }
        }
    }

    fn take(&mut self, line: &str) {
        self.lines.push_str(line);
        self.count += 1;
    }

    /// Takes what is there already, up to a chunk, or to something that is no line, which it gives.
    fn fill(&mut self, queue: &Receiver<Work>) -> Option<Work> {
        while self.lines.len() < CHUNK {
            match queue.try_recv() {
                Ok(Work::Line(line)) => self.take(&line),
                Ok(other) => return Some(other),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        None
    }

    /// A write that fails loses its lines, is said once, and is tried again with the next.
    fn write(&mut self) {
        let result = self.output.write(self.lines.as_bytes());
        match result {
            Ok(()) if self.lost > 0 => {
                info!(lost = self.lost, "the log can be written again");
                self.lost = 0;
            }
            Ok(()) => {}
            Err(error) => {
                if self.lost == 0 {
                    warn!(%error, "cannot write the log; its lines are lost");
                }
                self.lost += self.count;
            }
        }
        self.lines.clear();
        self.count = 0;
    }

    fn settle(&mut self, settings: FileSettings) {
        if let Output::File(file) = &mut self.output {
            file.settle(settings);
        }
    }
}

fn told(written: &SyncSender<()>) {
    // Whoever asked may have lost patience.
    let _unheard = written.try_send(());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &std::path::Path) -> io::Result<Arc<LogWriter>> {
        LogFiles::default().open(&Destination::File(FileSettings::new(path)))
    }

    #[test]
    fn what_was_queued_is_written_before_the_writer_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep/access.log");
        let writer = open(&path).unwrap();
        for number in 0..1000 {
            assert!(writer.write(format!("{number}\n")));
        }
        drop(writer);

        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1000);
        assert!(text.ends_with("999\n"));
    }

    #[test]
    fn a_pipe_that_nobody_reads_does_not_keep_the_process_from_ending() {
        let (_reader, pipe) = io::pipe().unwrap();
        let writer = LogWriter::start(Output::Stream(Box::new(pipe)), None).unwrap();
        let mut dropped = 0;
        for _ in 0..2 * QUEUE {
            dropped += usize::from(!writer.write("x".repeat(1024)));
        }
        assert!(dropped > 0, "the queue is bounded");
        drop(writer);
    }

    #[test]
    fn who_waits_for_a_line_finds_it_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.log");
        let writer = open(&path).unwrap();
        for number in 0..10 {
            assert!(writer.write_within(format!("{number}\n"), Duration::from_secs(60)));
            assert_eq!(
                std::fs::read_to_string(&path).unwrap().lines().count(),
                number + 1
            );
        }
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_an_error() {
        assert!(open(std::path::Path::new("/proc/no/such.log")).is_err());
    }

    #[test]
    fn a_file_has_one_writer_as_long_as_anybody_writes() {
        let directory = tempfile::tempdir().unwrap();
        let files = LogFiles::default();
        let settings = FileSettings::new(directory.path().join("a.log"));
        let open = || files.clone().open(&Destination::File(settings.clone())).unwrap();
        let (first, second) = (open(), open());
        assert!(Arc::ptr_eq(&first, &second));
        first.write("a\n".to_owned());
        second.write("b\n".to_owned());
        drop((first, second));
        drop(open());
        assert_eq!(std::fs::read_to_string(&settings.path).unwrap(), "a\nb\n");
    }

    #[test]
    fn other_settings_hold_from_the_next_line() {
        let directory = tempfile::tempdir().unwrap();
        let files = LogFiles::default();
        let settings = FileSettings::new(directory.path().join("a.log"));
        let writer = files.open(&Destination::File(settings.clone())).unwrap();
        writer.write("a\n".to_owned());
        let changed = FileSettings {
            mode: Some(0o640),
            ..settings.clone()
        };
        writer.settle(&changed);
        writer.write("b\n".to_owned());
        drop(writer);

        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(&settings.path).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(std::fs::read_to_string(&settings.path).unwrap(), "a\nb\n");
    }
}
