//! Writes lines from a thread of its own: a pipe that nobody reads, or a disk that hangs, must not stop the proxy.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a line is waited for. As long as its place takes them, lines are there once they were logged; when it
/// does not, one of them costs this much and those after it nothing.
pub(super) const PATIENCE: Duration = Duration::from_millis(100);
/// Lines that may wait; further ones are lost.
const QUEUE: usize = 1024;

/// A place that takes lines.
#[derive(Debug)]
pub(super) struct Sink(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    queue: VecDeque<Vec<u8>>,
    queued: u64,
    written: u64,
    /// A line was not written in time, and not all were written since.
    stuck: bool,
    closed: bool,
}

// === impl Sink ===

impl Sink {
    /// Starts the thread that writes to `out`.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub(super) fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let of_thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || of_thread.write_all(out))?;
        Ok(Self(shared))
    }

    /// Has `line` written. A line that cannot be written is lost: there is nowhere left to say so.
    pub(super) fn write(&self, line: &[u8]) {
        let Shared { changed, .. } = &*self.0;
        let mut lines = self.0.lock();
        if lines.queue.len() >= QUEUE {
            return;
        }
        lines.queue.push_back(line.to_owned());
        lines.queued += 1;
        let mine = lines.queued;
        changed.notify_all();
        if lines.stuck {
            return;
        }
        let waited =
            changed.wait_timeout_while(lines, PATIENCE, |lines| lines.written < mine && !lines.stuck);
        let (mut lines, _) = waited.unwrap_or_else(PoisonError::into_inner);
        lines.stuck |= lines.written < mine;
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

// === impl Shared ===

impl Shared {
    fn write_all(&self, mut out: impl Write) {
        let mut lines = self.lock();
        loop {
            let Some(line) = lines.queue.pop_front() else {
                if lines.closed {
                    return;
                }
                lines = self.changed.wait(lines).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(lines);
            let _lost = out.write_all(&line).and_then(|()| out.flush());
            lines = self.lock();
            lines.written += 1;
            lines.stuck &= lines.written < lines.queued;
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, Read as _};

    use super::*;

    /// Writes until the pipe is full and then some.
    fn stuck() -> (Sink, PipeReader) {
        let (reader, writer) = io::pipe().unwrap();
        let sink = Sink::start(writer).unwrap();
        for _ in 0..10 * QUEUE {
            sink.write(&[b'x'; 256]);
        }
        (sink, reader)
    }

    #[test]
    fn a_pipe_that_nobody_reads_holds_nobody_up_and_keeps_a_bounded_queue() {
        let (sink, _reader) = stuck();
        let lines = sink.0.lock();
        assert!(lines.stuck);
        assert_eq!(lines.queue.len(), QUEUE);
    }

    #[test]
    fn lines_go_on_when_the_pipe_is_read_again() {
        let (sink, mut reader) = stuck();
        let expected = usize::try_from(sink.0.lock().queued).unwrap() * 256;
        let mut text = vec![0; expected];
        reader.read_exact(&mut text).unwrap();
        assert!(text.iter().all(|byte| *byte == b'x'));
        sink.write(b"again");
        let mut last = [0; 5];
        reader.read_exact(&mut last).unwrap();
        assert_eq!(&last, b"again");
    }

    #[test]
    fn what_was_logged_is_written_before_the_place_is_closed() {
        let (mut reader, writer) = io::pipe().unwrap();
        let sink = Sink::start(writer).unwrap();
        sink.write(b"one\n");
        drop(sink);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\n");
    }
}
