//! Events of the system, which make changes be seen sooner. Without them everything works, at the pace of the polls.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tracing::debug;

/// Watches the directories of files: a file that is replaced is another one, but its directory stays.
#[derive(Debug)]
pub(super) struct Watch {
    happened: Arc<Notify>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

// === impl Watch ===

impl Watch {
    pub(super) fn new() -> Self {
        let happened = Arc::new(Notify::new());
        let notify = Arc::clone(&happened);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| is_change(event.kind)) {
                notify.notify_one();
            }
        });
        let watcher = watcher.inspect_err(|error| debug!(%error, "no events of files, polling alone"));
        Self {
            happened,
            watcher: watcher.ok(),
            watched: BTreeSet::new(),
        }
    }

    /// Waits until something has happened since the last time.
    pub(super) async fn changed(&self) {
        self.happened.notified().await;
    }

    /// Watches the directories of these files from now on.
    pub(super) fn follow<'p>(&mut self, paths: impl Iterator<Item = &'p PathBuf>) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let wanted: BTreeSet<PathBuf> = paths.map(|path| folder(path)).collect();
        for gone in self.watched.difference(&wanted) {
            // It may be gone from the disk too, which ends watching by itself.
            watcher.unwatch(gone).ok();
        }
        let is_watched = |folder: &PathBuf| {
            self.watched.contains(folder) || watcher.watch(folder, RecursiveMode::NonRecursive).is_ok()
        };
        let watched: BTreeSet<PathBuf> = wanted.into_iter().filter(is_watched).collect();
        // What came between the last look and the watch was not told.
        if watched != self.watched {
            self.happened.notify_one();
        }
        self.watched = watched;
    }
}

/// Reading is no change; the source itself does it.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

fn folder(path: &Path) -> PathBuf {
    if path.is_dir() {
        return path.to_owned();
    }
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
