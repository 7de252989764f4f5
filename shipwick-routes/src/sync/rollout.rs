//! A rollout: while it lasts it says who serves an application.

use std::collections::btree_map::Entry;

use super::{RolloutError, RolloutUnderWay, Source, SyncError, Synced, Syncer, lock};
use crate::desired::Rollout;

/// Says who serves an application while its rollout lasts; dropped, it says nothing any more, and the routes follow
/// the source again.
#[derive(Debug)]
#[must_use = "the rollout ends when it is dropped"]
pub struct RolloutGuard<'s, S: Source> {
    syncer: &'s Syncer<S>,
    app: String,
}

/// Takes a swap back unless it was carried out.
#[derive(Debug)]
struct Swap<'s, S: Source> {
    guard: &'s RolloutGuard<'s, S>,
    before: Option<Rollout>,
    done: bool,
}

// === impl RolloutGuard ===

impl<'s, S: Source> RolloutGuard<'s, S> {
    pub(super) fn begin(
        syncer: &'s Syncer<S>,
        app: &str,
        from: Option<Rollout>,
    ) -> Result<Self, RolloutUnderWay> {
        let app = app.to_owned();
        let mut rollouts = lock(&syncer.rollouts);
        let Entry::Vacant(place) = rollouts.entry(app.clone()) else {
            return Err(RolloutUnderWay(app));
        };
        place.insert(from);
        Ok(Self { syncer, app })
    }

    /// A swap: `rollout` has exactly the replicas that serve from now on. Returns only when the proxy routes to them, so
    /// that those that are no longer among them may be stopped.
    ///
    /// # Errors
    ///
    /// If the proxy does not take the routes. Those of before are in place then, or will be again with the next sync;
    /// none of the replicas that served may be stopped.
    pub async fn serve(&self, rollout: Rollout) -> Result<(), RolloutError> {
        let domain = rollout.domain.as_ref().map(ToString::to_string);
        let mut swap = Swap {
            before: self.replace(Some(rollout)),
            guard: self,
            done: false,
        };
        match self.syncer.sync().await {
            Ok(_) => {
                swap.done = true;
                Ok(())
            }
            Err(cause) => Err(RolloutError {
                what: domain.unwrap_or_else(|| self.app.clone()),
                cause,
            }),
        }
    }

    /// Ends it after the new deployment was recorded, which the source names from now on. Nothing is sent: the routes
    /// are the same.
    pub fn finish(self) {}

    /// Ends it without success: the proxy goes back to what the source names. The replicas of the new deployment may be
    /// removed after that.
    ///
    /// # Errors
    ///
    /// If the proxy does not take the routes; the next sync tries again.
    pub async fn abandon(self) -> Result<Synced, SyncError> {
        let syncer = self.syncer;
        drop(self);
        syncer.sync().await
    }

    fn replace(&self, rollout: Option<Rollout>) -> Option<Rollout> {
        lock(&self.syncer.rollouts)
            .insert(self.app.clone(), rollout)
            .flatten()
    }
}

impl<S: Source> Drop for RolloutGuard<'_, S> {
    fn drop(&mut self) {
        lock(&self.syncer.rollouts).remove(&self.app);
    }
}

// === impl Swap ===

impl<S: Source> Drop for Swap<'_, S> {
    fn drop(&mut self) {
        if !self.done {
            self.guard.replace(self.before.take());
        }
    }
}
