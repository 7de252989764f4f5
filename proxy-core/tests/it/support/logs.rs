//! What the proxy writes: its log, captured for the whole process, and access logs in files of the test's own.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, Once, PoisonError};

use serde_json::Value;
use tempfile::TempDir;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::wait::{Changes, eventually};

/// Every line that any proxy of this process has logged.
static LINES: LazyLock<Lines> = LazyLock::new(|| Lines {
    text: Mutex::default(),
    changes: Changes::new(),
});

struct Lines {
    text: Mutex<Vec<String>>,
    changes: Changes,
}

/// Takes the bytes of one event.
struct Sink;

/// An access log in a file.
pub(crate) struct AccessLog {
    _folder: TempDir,
    path: PathBuf,
}

/// Starts to keep what is logged; call it before the proxy is started.
pub(crate) fn capture() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let layer = tracing_subscriber::fmt::layer().json().with_writer(|| Sink);
        let filter = Targets::new().with_target("proxy_core", LevelFilter::DEBUG);
        tracing_subscriber::registry().with(layer).with(filter).init();
    });
}

/// The captured lines that contain all of `parts`.
pub(crate) fn lines_with(parts: &[&str]) -> Vec<String> {
    let lines = LINES.text.lock().unwrap_or_else(PoisonError::into_inner);
    lines
        .iter()
        .filter(|line| parts.iter().all(|part| line.contains(part)))
        .cloned()
        .collect()
}

/// Waits for a captured line that contains all of `parts`.
pub(crate) async fn until_line_with(parts: &[&str]) -> String {
    LINES
        .changes
        .until(&format!("a log line with {parts:?}"), || {
            lines_with(parts).into_iter().next()
        })
        .await
}

// === impl Sink ===

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes).into_owned();
        LINES
            .text
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
        LINES.changes.announce();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// === impl AccessLog ===

impl AccessLog {
    /// A log in a folder that goes when the value is dropped.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("access.log");
        Self {
            _folder: folder,
            path,
        }
    }

    /// The directive that writes to it.
    pub(crate) fn directive(&self) -> String {
        format!(
            "\tlog {{\n\t\toutput file {}\n\t\tformat json\n\t}}\n",
            self.path.display()
        )
    }

    /// The whole text so far.
    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap_or_default()
    }

    /// Waits until there are this many lines, and gives them.
    pub(crate) async fn until_lines(&self, count: usize) -> Vec<Value> {
        eventually("lines in the access log", async || {
            let text = self.text();
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            let lines: Vec<Value> = whole
                .lines()
                .map(|line| serde_json::from_str(line).expect("a line of JSON"))
                .collect();
            (lines.len() >= count).then_some(lines)
        })
        .await
    }
}
