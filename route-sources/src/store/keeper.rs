//! Keeps the file of the last routes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::watch;
use tokio::time;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Shared;
use super::file::{encode, save};

/// Writes the file some time after something has changed.
#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
    changes: watch::Receiver<()>,
    is_failing: bool,
}

// === impl Keeper ===

impl Keeper {
    pub(super) fn new(shared: Arc<Shared>, changes: watch::Receiver<()>) -> Self {
        Self {
            shared,
            changes,
            is_failing: false,
        }
    }

    /// Writes until whoever says what has changed has ended.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let Some(path) = self.shared.settings.snapshot_path.clone() else {
            return;
        };
        while self.changes.changed().await.is_ok() {
            let delay = time::sleep(self.shared.settings.snapshot_delay);
            stop.run_until_cancelled(delay).await;
            self.changes.mark_unchanged();
            self.write(path.clone()).await;
        }
    }

    async fn write(&mut self, path: PathBuf) {
        let shared = &self.shared;
        let bytes = shared
            .with_table(|shared, table| encode(table, &shared.settings.identity))
            .await;
        let Some(bytes) = bytes else {
            return;
        };
        // The table is free again while the disk is slow.
        let write = move || save(&path, &bytes).map_err(|error| (error, path));
        match tokio::task::spawn_blocking(write).await {
            Ok(Err((error, path))) if !self.is_failing => {
                self.is_failing = true;
                let path = path.display();
                warn!(%error, %path, "routes cannot be kept for a start while the store is away");
            }
            Ok(Ok(())) => {
                if std::mem::take(&mut self.is_failing) {
                    info!("routes are kept again for a start while the store is away");
                }
                if !shared.is_file_written.swap(true, Ordering::AcqRel) {
                    shared.wake.notify_one();
                }
            }
            _ => {}
        }
    }
}
