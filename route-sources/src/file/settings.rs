//! What the file source is told.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Where `env("X")` finds its value.
pub type Env = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What the file source is told.
#[derive(Clone)]
pub struct FileSettings {
    /// Files, directories (their `.yaml`, `.yml`, `.hcl` and `.json` files, by name, without hidden ones), and patterns with `*`
    /// in their last part. The order is the order of the routes. Default: none.
    pub paths: Vec<PathBuf>,
    /// How often is looked for changes. Default: 2 seconds; at least 20 milliseconds.
    pub poll: Duration,
    /// Whether changes are looked for at once when the system tells of them. Default: true. Polling goes on beside it.
    pub events: bool,
    /// What becomes of the routes of a file that is gone or empty. Default: they are kept.
    pub when_missing: WhenMissing,
    /// Where `env("X")` finds its value. Default: nowhere.
    pub env: Env,
}

/// What becomes of the routes of a file that is not there any more, or that has neither `routes` nor `hosts`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum WhenMissing {
    /// They stay, and are reported. Removing all routes of a file is written as `routes: []`.
    #[default]
    Keep,
    /// They go.
    Clear,
}

// === impl FileSettings ===

impl Default for FileSettings {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            poll: Duration::from_secs(2),
            events: true,
            when_missing: WhenMissing::default(),
            env: Arc::new(|_| None),
        }
    }
}

impl fmt::Debug for FileSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSettings")
            .field("paths", &self.paths)
            .field("poll", &self.poll)
            .field("events", &self.events)
            .field("when_missing", &self.when_missing)
            .finish_non_exhaustive()
    }
}
