//! The memory store against the suite, on a paused clock.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use route_store::contract::{self, Subject};
use route_store::{Epoch, MemoryStore, Store};

#[derive(Debug)]
struct Memory(Arc<MemoryStore>);

// === impl Memory ===

impl Subject for Memory {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.0) as Arc<dyn Store>
    }

    fn other(&self) -> Arc<dyn Store> {
        self.store()
    }

    fn pass(&self, time: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::advance(time))
    }

    fn lose(&self) -> BoxFuture<'_, ()> {
        self.0.lose(Epoch::random().unwrap());
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test(start_paused = true)]
async fn the_memory_store_keeps_the_contract() {
    let failed = contract::run(|| async {
        let today = UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        let store = MemoryStore::with_history(Epoch::random().unwrap(), today, contract::HISTORY);
        Arc::new(Memory(Arc::new(store))) as Arc<dyn Subject>
    })
    .await;
    assert_eq!(failed, []);
}
