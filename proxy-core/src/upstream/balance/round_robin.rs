//! One after the other.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Candidates;

/// The most entries of a schedule. Weights that need more are brought down to this.
const MOST_ENTRIES: u64 = 4096;

/// Whose turn it is.
#[derive(Debug, Default)]
pub(crate) struct Turn(AtomicUsize);

/// The order in which weighted upstreams have their turns: each as often as its weight says, spread as evenly as can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schedule(pub(super) Box<[u32]>);

// === impl Turn ===

impl Turn {
    /// As if there had been so many turns before.
    pub(crate) fn behind(turns: usize) -> Self {
        Self(AtomicUsize::new(turns))
    }

    /// How many turns there were before.
    pub(super) fn next(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn take(&self, of: usize) -> usize {
        self.next() % of.max(1)
    }
}

/// The next one that is free. One that is not loses its turn: its neighbour does not get it beside its own.
pub(super) fn next(turn: &Turn, among: &impl Candidates) -> Option<usize> {
    let count = among.len();
    (0..count)
        .map(|_| turn.take(count))
        .find(|index| among.is_free(*index))
        // Others took turns in between, so that some were never looked at.
        .or_else(|| super::free(among).next())
}

// === impl Schedule ===

impl Schedule {
    /// `weights` in the order of the upstreams. 0 leaves one out, and so does a missing weight.
    pub(crate) fn new(weights: &[u32]) -> Self {
        let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let divisor = weights
            .iter()
            .fold(0, |divisor, weight| gcd(divisor, *weight))
            .max(1);
        let weights: Vec<i64> = if total / u64::from(divisor) <= MOST_ENTRIES {
            weights.iter().map(|weight| i64::from(weight / divisor)).collect()
        } else {
            weights.iter().map(|weight| scaled(*weight, total)).collect()
        };
        Self(spread(&weights))
    }

    /// The next one that is free.
    pub(super) fn next(&self, turn: &Turn, among: &impl Candidates) -> Option<usize> {
        let count = self.0.len();
        let at = |entry: usize| {
            let index = usize::try_from(*self.0.get(entry)?).ok()?;
            (index < among.len() && among.is_free(index)).then_some(index)
        };
        // A whole round of the schedule, entry by entry from the turn on; the rest keep their shares among themselves.
        (0..count)
            .find_map(|_| at(turn.take(count)))
            .or_else(|| (0..count).find_map(at))
    }
}

/// Of `MOST_ENTRIES` entries, those of `weight`; at least one unless it is 0.
fn scaled(weight: u32, total: u64) -> i64 {
    let share = u64::from(weight) * MOST_ENTRIES / total.max(1);
    i64::try_from(share.max(u64::from(weight > 0))).unwrap_or(0)
}

/// The entry of each step goes to the upstream that is owed most; it pays what a whole round is worth.
fn spread(weights: &[i64]) -> Box<[u32]> {
    let total: i64 = weights.iter().sum();
    let mut owed = vec![0; weights.len()];
    let step = |_| {
        for (owed, weight) in owed.iter_mut().zip(weights) {
            *owed += weight;
        }
        // The first of those that are owed as much.
        let (index, most) = owed.iter_mut().enumerate().rev().max_by_key(|(_, owed)| **owed)?;
        *most -= total;
        u32::try_from(index).ok()
    };
    (0..total).filter_map(step).collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
