//! A store that `open` opened, as the suite wants it.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use futures_util::future::BoxFuture;
use route_store::contract::{HISTORY, Subject};
use route_store::{Store, StoreKind, StoreSettings, open};

/// Takes all data away behind the store's back.
type Lose = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Two stores opened by the same settings.
pub(crate) struct Opened {
    stores: [Arc<dyn Store>; 2],
    lose: Lose,
}

/// Settings for tests: on a machine with much to do, an operation may take long.
pub(crate) fn settings(kind: StoreKind, url: &str, prefix: &str) -> StoreSettings {
    StoreSettings {
        prefix: prefix.to_owned(),
        history: HISTORY,
        timeout: Some(Duration::from_secs(60)),
        ..StoreSettings::new(kind, url)
    }
}

pub(crate) fn opened(settings: &StoreSettings) -> Arc<dyn Store> {
    open(settings, UNIX_EPOCH).unwrap()
}

/// A prefix that no other test has.
pub(crate) fn prefix() -> String {
    format!("t{}", route_store::Epoch::random().unwrap())
}

// === impl Opened ===

impl Opened {
    pub(crate) fn subject(settings: &StoreSettings, lose: Lose) -> Arc<dyn Subject> {
        Arc::new(Self {
            stores: [opened(settings), opened(settings)],
            lose,
        })
    }
}

impl Subject for Opened {
    fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.stores[0])
    }

    fn other(&self) -> Arc<dyn Store> {
        Arc::clone(&self.stores[1])
    }

    fn pass(&self, time: Duration) -> BoxFuture<'_, ()> {
        // The clock is the server's: all that one can do is to wait.
        Box::pin(tokio::time::sleep(time))
    }

    fn lose(&self) -> BoxFuture<'_, ()> {
        (self.lose)()
    }
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Opened").field(&self.stores).finish()
    }
}
