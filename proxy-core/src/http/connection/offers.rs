//! Pieces of responses that wait for a client of many streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ConnState;

/// The response bodies whose next piece waits for the client, by the period in which they began to wait.
/// Three periods are enough: the present one, the one before, and those that are older.
#[derive(Debug, Default)]
pub(super) struct Offers {
    period: AtomicU32,
    waiting: [AtomicU32; 3],
}

/// A response body whose next piece waits for the client; until dropped.
#[derive(Debug)]
pub(crate) struct Offer {
    state: Arc<ConnState>,
    period: u32,
}

// === impl ConnState ===

impl ConnState {
    /// Notes that a response body has a piece for the client, who takes them stream by stream, until the
    /// offer is dropped. `None` for a connection of one stream, whose writes tell as much.
    pub(crate) fn offer(self: &Arc<Self>) -> Option<Offer> {
        if !self.multiplexed.load(Ordering::Relaxed) {
            return None;
        }
        let period = self.offers.period.load(Ordering::Relaxed);
        self.offers.waiting(period).fetch_add(1, Ordering::Relaxed);
        Some(Offer {
            state: Arc::clone(self),
            period,
        })
    }

    /// Begins a new period. Gives for how many whole periods the longest offer has waited, 2 standing for
    /// any longer time.
    pub(crate) fn next_period(&self) -> u32 {
        let offers = &self.offers;
        let ended = offers.period.fetch_add(1, Ordering::Relaxed);
        // The count goes round after three periods.
        let since = |before: u32| {
            offers
                .waiting(ended.wrapping_add(3 - before))
                .load(Ordering::Relaxed)
        };
        match (since(2), since(1)) {
            (1.., _) => 2,
            (0, 1..) => 1,
            (0, 0) => 0,
        }
    }
}

// === impl Offers, Offer ===

impl Offers {
    fn waiting(&self, period: u32) -> &AtomicU32 {
        let [first, second, third] = &self.waiting;
        match period % 3 {
            0 => first,
            1 => second,
            _ => third,
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        self.state
            .offers
            .waiting(self.period)
            .fetch_sub(1, Ordering::Relaxed);
    }
}
