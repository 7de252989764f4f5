//! What a replica says of itself.

use std::sync::Arc;
use std::time::Duration;

use route_store::Replica;
use tokio::sync::watch;
use tokio::time::{self, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::Shared;
use super::ask::within;
use crate::snapshot::Applied;

/// How many intervals a replica is remembered for.
const INTERVALS: u32 = 3;
/// An interval of nothing would be a mistake that ends the program.
const SHORTEST: Duration = Duration::from_millis(1);

/// Tells the store what requests see: what was applied, not what was read.
#[derive(Debug)]
pub(super) struct Heartbeat {
    shared: Arc<Shared>,
    applied: watch::Receiver<Option<Applied>>,
}

// === impl Heartbeat ===

impl Heartbeat {
    pub(super) fn new(shared: Arc<Shared>, applied: watch::Receiver<Option<Applied>>) -> Self {
        Self { shared, applied }
    }

    pub(super) async fn run(self, stop: CancellationToken) {
        stop.run_until_cancelled(self.beat()).await;
    }

    async fn beat(mut self) {
        let mut interval = time::interval(self.shared.settings.sync_interval.max(SHORTEST));
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_told = true;
        loop {
            tokio::select! {
                _ = interval.tick() => {}
                changed = self.applied.changed(), if is_told => {
                    is_told = changed.is_ok();
                    if !is_told {
                        continue;
                    }
                }
            }
            let applied = *self.applied.borrow_and_update();
            if let Some(applied) = applied {
                self.tell(applied).await;
            }
        }
    }

    async fn tell(&self, applied: Applied) {
        let Shared { store, settings, .. } = &*self.shared;
        let replica = Replica {
            id: settings.id.clone(),
            revision: applied.revision,
            applied_at: applied.at,
            version: settings.version.clone(),
            hostname: settings.hostname.clone(),
            invalid: applied.invalid,
        };
        let ttl = settings.sync_interval.saturating_mul(INTERVALS);
        // That the store is away is told by those who ask for routes.
        if let Err(error) = within(&**store, settings.timeout, store.report(&replica, ttl)).await {
            debug!(%error, "what was applied could not be told to the store");
        }
    }
}
