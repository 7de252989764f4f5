//! Asks the store, and publishes what it has.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use route_store::{Changes, StoreError};
use tokio::sync::watch;
use tokio::time::{self, Instant};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::ask::{in_full, took_too_long, utc, within};
use super::file::load;
use super::restore::{Restored, restore};
use super::table::has_lost;
use super::{DataLoss, Shared};
use crate::snapshot::{Invalid, Publisher};

/// How long after a change others are waited for, so that many writes at once are one snapshot.
const SETTLE: Duration = Duration::from_millis(10);
/// The time between two tries at the start, while nothing is known.
const RETRY: Duration = Duration::from_millis(250);

/// Asks the store again and again.
#[derive(Debug)]
pub(super) struct Syncer {
    shared: Arc<Shared>,
    publisher: Publisher,
    /// Told when there is something else to keep in the file.
    changed: watch::Sender<()>,
    /// When everything was read last.
    whole: Option<Instant>,
    /// Why what is known is not the newest.
    stale: Option<String>,
    /// What is wrong with the file, until another one is written.
    file_fault: Option<Invalid>,
    /// What is known is not published yet.
    has_news: bool,
}

// === impl Syncer ===

impl Syncer {
    pub(super) fn new(shared: Arc<Shared>, publisher: Publisher, changed: watch::Sender<()>) -> Self {
        Self {
            shared,
            publisher,
            changed,
            whole: None,
            stale: None,
            file_fault: None,
            has_news: true,
        }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        let work = async {
            self.load_file().await;
            self.start().await;
            loop {
                self.wait().await;
                self.accept_loss().await;
                self.forget_file_fault();
                let synced = self.sync().await;
                self.note(synced).await;
            }
        };
        stop.run_until_cancelled(work).await;
    }

    /// Until it is time to ask, or somebody wants it.
    async fn wait(&self) {
        tokio::select! {
            () = time::sleep(self.shared.settings.sync_interval) => {}
            () = self.shared.wake.notified() => time::sleep(SETTLE).await,
        }
    }

    /// Takes what the last run knew, without serving it yet.
    async fn load_file(&mut self) {
        let loaded = self.shared.with_table(|shared, table| {
            let path = shared.settings.snapshot_path.as_ref()?;
            match load(path, &shared.settings.identity, shared.terms()) {
                Ok(Some(loaded)) => *table = loaded,
                Ok(None) => {}
                Err(error) => return Some((path.display().to_string(), error.to_string())),
            }
            None
        });
        if let Some((place, reason)) = loaded.await.flatten() {
            warn!(
                path = place,
                reason, "the file with the routes of the last run is not used"
            );
            self.file_fault = Some(Invalid {
                host: None,
                place,
                reason,
                kept: false,
            });
        }
    }

    /// Asks for the first time. If nothing is known from the last run, a store that refuses is asked again for a while.
    async fn start(&mut self) {
        let limit = self.shared.settings.start_timeout;
        let is_known = self.shared.with_table(|_, table| table.revision.is_some()).await;
        let tries = async {
            loop {
                match self.sync().await {
                    Err(_) if is_known != Some(true) => time::sleep(RETRY).await,
                    synced => return synced,
                }
            }
        };
        let synced = time::timeout(limit, tries).await;
        let synced = synced.unwrap_or_else(|_| Err(took_too_long(&*self.shared.store, limit)));
        self.note(synced).await;
    }

    /// Asks once, and takes in what there is. Everything is read if it is time for that.
    async fn sync(&mut self) -> Result<(), StoreError> {
        self.read().await?;
        if self.shared.settings.data_loss != DataLoss::Restore {
            return Ok(());
        }
        let lost = self
            .shared
            .with_table(|_, table| table.to_restore())
            .await
            .unwrap_or_default();
        if lost.is_empty() {
            return Ok(());
        }
        let Restored { deleted, is_done } = restore(&self.shared, &lost).await?;
        if self
            .shared
            .with_table(move |_, table| table.let_go(&deleted))
            .await
            == Some(true)
        {
            self.has_other();
        }
        if is_done { self.read().await } else { Ok(()) }
    }

    async fn read(&mut self) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        let (store, limit) = (&*shared.store, shared.settings.timeout);
        let known = self.shared.with_table(|_, table| table.revision).await.flatten();
        let interval = shared.settings.resync_interval;
        let is_due = self.whole.is_none_or(|whole| whole.elapsed() >= interval);
        let changes = match known {
            Some(known) if !is_due => {
                // Another revision is news, a smaller one too.
                if within(store, limit, store.revision()).await? == known {
                    return Ok(());
                }
                match within(store, limit, store.changes(known)).await? {
                    // What has changed since then cannot be said of a store that has lost something.
                    Changes::Some { revision, .. } if has_lost(Some(known), revision) => {
                        Changes::All(within(store, limit, store.routes()).await?)
                    }
                    changes => changes,
                }
            }
            _ => Changes::All(within(store, limit, store.routes()).await?),
        };
        let is_whole = matches!(changes, Changes::All(_));
        let done = self
            .shared
            .with_table(|shared, table| table.apply(changes, shared.terms()))
            .await;
        let Some(done) = done else {
            return Err(StoreError::Failed {
                kind: store.kind(),
                reason: "its documents could not be read".to_owned(),
            });
        };
        if is_whole {
            self.whole = Some(Instant::now());
        }
        if done.is_other {
            self.has_other();
        }
        if done.lost > 0 {
            error!(
                store = store.kind(),
                lost = done.lost,
                "the store has lost routes, which are served on"
            );
        }
        Ok(())
    }

    /// Publishes what came of a look at the store, if there is something new to say.
    async fn note(&mut self, synced: Result<(), StoreError>) {
        match synced {
            Ok(()) if self.stale.take().is_some() => {
                info!(store = self.shared.store.kind(), "the store is back");
                // What was read when the time for the start was over is not in the file yet.
                self.has_other();
            }
            Err(error) if self.stale.is_none() => {
                let (reason, since) = (in_full(&error), (self.shared.settings.now)());
                warn!(reason, "the store is away, its routes stay as they are");
                let since = (since > 0).then(|| format!(", since {}", utc(since)));
                self.stale = Some(format!("{reason}{}", since.unwrap_or_default()));
                self.has_news = true;
            }
            // A failure was told when it began.
            _ => {}
        }
        if std::mem::take(&mut self.has_news) {
            self.publish().await;
        }
    }

    /// There is something to publish, and to keep in the file.
    fn has_other(&mut self) {
        self.has_news = true;
        self.changed.send_replace(());
    }

    /// Lets go what is lost, if somebody wanted it.
    async fn accept_loss(&self) {
        if !self.shared.is_accepted.swap(false, Ordering::AcqRel) {
            return;
        }
        let gone = self
            .shared
            .with_table(|_, table| table.accept_loss())
            .await
            .unwrap_or_default();
        if gone > 0 {
            info!(gone, "routes that the store has lost are served no more");
            self.changed.send_replace(());
            // Asking the store may take a while.
            self.publish().await;
        }
    }

    /// The file of the last run was of no use; it is of no interest any more once there is another.
    fn forget_file_fault(&mut self) {
        if self.shared.is_file_written.load(Ordering::Acquire) {
            self.has_news |= self.file_fault.take().is_some();
        }
    }

    async fn publish(&self) {
        let (stale, fault) = (self.stale.clone(), self.file_fault.clone());
        let snapshot = self
            .shared
            .with_table(move |shared, table| table.snapshot(shared.store.kind(), stale, fault));
        if let Some(snapshot) = snapshot.await {
            self.publisher.publish(snapshot);
        }
    }
}
