//! The source that follows a store.
//!
//! [`StoreSource::run`] asks the store for its revision from time to time and at once when the store says that something
//! happened, and publishes what it has as a snapshot. Nothing on the way of a request waits for a store. While the store is away, its
//! routes stay; what happens when it has lost them is said by [`DataLoss`].

mod ask;
mod entry;
mod file;
mod heartbeat;
mod keeper;
mod restore;
mod settings;
mod sync;
mod table;
#[cfg(test)]
mod tests;
mod watch;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use route_store::Store;
use tokio::sync::{Notify, watch as channel};
use tokio_util::sync::CancellationToken;

use self::heartbeat::Heartbeat;
use self::keeper::Keeper;
pub use self::settings::{DataLoss, Newer, Settings, replica_id};
use self::sync::Syncer;
use self::table::{Table, Terms};
use self::watch::Watcher;
use crate::snapshot::{Applied, Publisher};

/// Follows a store.
#[derive(Debug)]
pub struct StoreSource {
    shared: Arc<Shared>,
    publisher: Publisher,
    applied: channel::Receiver<Option<Applied>>,
}

/// Reaches a [`StoreSource`] that runs.
#[derive(Clone, Debug)]
pub struct StoreHandle(Arc<Shared>);

/// What the parts of the source share.
#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    settings: Settings,
    /// Locked on threads that may block only: reading many documents takes its time.
    table: Mutex<Table>,
    /// The store is to be asked at once.
    wake: Notify,
    /// The loss is accepted.
    is_accepted: AtomicBool,
    /// The file has been written since the source began.
    is_file_written: AtomicBool,
}

// === impl StoreSource ===

impl StoreSource {
    /// A source that follows `store`. `applied` tells what requests see.
    pub fn new(
        store: Arc<dyn Store>,
        settings: Settings,
        publisher: Publisher,
        applied: channel::Receiver<Option<Applied>>,
    ) -> Self {
        let shared = Shared {
            store,
            settings,
            table: Mutex::default(),
            wake: Notify::new(),
            is_accepted: AtomicBool::new(false),
            is_file_written: AtomicBool::new(false),
        };
        Self {
            shared: Arc::new(shared),
            publisher,
            applied,
        }
    }

    /// Reaches it while it runs.
    pub fn handle(&self) -> StoreHandle {
        StoreHandle(Arc::clone(&self.shared))
    }

    /// Follows the store until `stop` is cancelled. What was not written to the file yet is written then.
    pub async fn run(self, stop: CancellationToken) {
        let (changed, changes) = channel::channel(());
        let watcher = Watcher::new(Arc::clone(&self.shared));
        let heartbeat = Heartbeat::new(Arc::clone(&self.shared), self.applied);
        let keeper = Keeper::new(Arc::clone(&self.shared), changes);
        let syncer = Syncer::new(self.shared, self.publisher, changed);
        // They share a task, but none waits for another: each has its own operations under way.
        tokio::join!(
            syncer.run(stop.clone()),
            watcher.run(stop.clone()),
            heartbeat.run(stop.clone()),
            keeper.run(stop),
        );
    }
}

// === impl StoreHandle ===

impl StoreHandle {
    /// Has the store asked at once, as after a write of one's own.
    pub fn sync_now(&self) {
        self.0.wake.notify_one();
    }

    /// Has the source follow the store after it has lost routes: those that are lost are served no more. What may be lost
    /// later is not accepted by this.
    pub fn accept_loss(&self) {
        self.0.is_accepted.store(true, Ordering::Release);
        self.0.wake.notify_one();
    }
}

// === impl Shared ===

impl Shared {
    fn terms(&self) -> Terms {
        Terms {
            newer: self.settings.newer,
            data_loss: self.settings.data_loss,
        }
    }

    /// Does something with the table on a thread that may block. `None` if that thread failed.
    async fn with_table<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self, &mut Table) -> T + Send + 'static,
    ) -> Option<T> {
        let shared = Arc::clone(self);
        let work = move || {
            let mut table = shared.table.lock().unwrap_or_else(PoisonError::into_inner);
            work(&shared, &mut table)
        };
        tokio::task::spawn_blocking(work).await.ok()
    }
}
