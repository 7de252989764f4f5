//! The checks of one upstream: what they ask for, and what they have shown.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::Change;
use super::probe::{Probe, ProbeError};
use super::streak::{Limits, Streak};
use crate::upstream::load::Slot;

/// What tells the settings of checks apart: a digest, as they may hold credentials.
pub(crate) type Identity = [u8; 32];

/// How an upstream is checked.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) probe: Probe,
    /// The time between two checks. Default 30 seconds.
    pub(crate) interval: Duration,
    pub(crate) limits: Limits,
}

/// One upstream that is checked, in one way. It starts healthy.
#[derive(Debug)]
pub(crate) struct Check {
    slot: Arc<Slot>,
    plan: Plan,
    is_healthy: AtomicBool,
    streak: Mutex<Streak>,
    /// What `next` is counted from.
    epoch: Instant,
    /// Milliseconds when the next check begins.
    next: AtomicU64,
}

// === impl Check ===

impl Check {
    pub(crate) fn new(slot: Arc<Slot>, plan: Plan, now: Instant) -> Self {
        Self {
            slot,
            plan,
            is_healthy: AtomicBool::new(true),
            streak: Mutex::default(),
            epoch: now,
            next: AtomicU64::new(0),
        }
    }

    /// What its checks say.
    pub(crate) fn is_healthy(&self) -> bool {
        self.is_healthy.load(Ordering::Relaxed)
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How long until the next check.
    pub(crate) fn waits(&self, now: Instant) -> Option<Duration> {
        let next = self.next.load(Ordering::Relaxed);
        let at = self.epoch + Duration::from_millis(next);
        (next > 0).then(|| at.saturating_duration_since(now))
    }

    /// The next check begins then.
    pub(super) fn plan_next(&self, at: Instant) {
        let millis = at.saturating_duration_since(self.epoch).as_millis();
        self.next.store(
            u64::try_from(millis).unwrap_or(u64::MAX).max(1),
            Ordering::Relaxed,
        );
    }

    /// A check has been made.
    pub(super) fn count(&self, result: &Result<(), ProbeError>, now: Instant) {
        let mut streak = self.streak.lock().unwrap_or_else(PoisonError::into_inner);
        let change = streak.count(result.is_ok(), self.plan.limits);
        drop(streak);
        let upstream = self.slot.label();
        match (change, result) {
            (Some(Change::Up), _) => {
                self.slot.standing().came(now);
                self.is_healthy.store(true, Ordering::Relaxed);
                info!(%upstream, cause = "its checks pass", "the upstream is healthy again");
            }
            (Some(Change::Down), Err(cause)) => {
                self.is_healthy.store(false, Ordering::Relaxed);
                warn!(%upstream, %cause, "the upstream is unhealthy");
            }
            (_, Err(cause)) => debug!(%upstream, %cause, "a check failed"),
            (_, Ok(())) => {}
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slot.label())
    }
}
