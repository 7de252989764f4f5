//! Listening to what the store says by itself.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::time;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::Shared;
use super::ask::within;

/// The first wait after a connection was lost, and the longest.
const SHORTEST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);
/// The shortest time between two wakes.
const PAUSE: Duration = Duration::from_millis(5);

/// Wakes the source when the store says that something has changed. It may miss changes: asking remains the truth.
#[derive(Debug)]
pub(super) struct Watcher {
    shared: Arc<Shared>,
}

// === impl Watcher ===

impl Watcher {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    pub(super) async fn run(self, stop: CancellationToken) {
        stop.run_until_cancelled(self.listen()).await;
    }

    async fn listen(self) {
        let Shared {
            store,
            settings,
            wake,
            ..
        } = &*self.shared;
        let mut wait = SHORTEST;
        loop {
            match within(&**store, settings.timeout, store.watch()).await {
                Ok(None) => return,
                Ok(Some(mut stream)) => {
                    // What happened while nobody listened.
                    wake.notify_one();
                    while stream.next().await.is_some() {
                        wait = SHORTEST;
                        wake.notify_one();
                        // A stream that never rests must not keep others from working.
                        time::sleep(PAUSE).await;
                    }
                    debug!(
                        store = store.kind(),
                        "the store says no more when something changes"
                    );
                }
                Err(error) => debug!(%error, "the store cannot be listened to"),
            }
            time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST);
        }
    }
}
