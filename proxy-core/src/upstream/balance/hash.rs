//! Choices by a key.

use std::hash::Hasher as _;

use twox_hash::XxHash64;

use super::{Candidates, free};

/// How much more than its share an upstream may have to do before its keys go to others: a factor of at least 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bound(f64);

// === impl Bound ===

impl Bound {
    /// `None` unless `factor` is a number of at least 1.
    pub(crate) fn new(factor: f64) -> Option<Self> {
        (factor.is_finite() && factor >= 1.0).then_some(Self(factor))
    }

    /// The most requests in flight at one of `count` upstreams that have `total` together, with the one that is to come.
    fn most(self, total: u64, count: usize) -> f64 {
        let share = (total.saturating_add(1)) as f64 / count.max(1) as f64;
        (share * self.0).ceil()
    }
}

/// What the candidate with `label` bids for `key`: the highest one gets it.
///
/// As Caddy, XXH64 of both together, so that a change from one to the other leaves keys where they were.
pub(super) fn score(label: &str, key: &str) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    hasher.write(label.as_bytes());
    hasher.write(key.as_bytes());
    hasher.finish()
}

/// The highest bidder for `key` that has not too much to do.
pub(super) fn choose(bound: Option<&Bound>, among: &impl Candidates, key: &str) -> Option<usize> {
    let Some(bound) = bound else {
        return highest(free(among), among, key);
    };
    let (mut total, mut count) = (0_u64, 0);
    for index in free(among) {
        total += u64::from(among.load(index));
        count += 1;
    }
    let most = bound.most(total, count);
    let fits = |index: &usize| f64::from(among.load(*index)) < most;
    highest(free(among).filter(fits), among, key).or_else(|| highest(free(among), among, key))
}

fn highest(of: impl Iterator<Item = usize>, among: &impl Candidates, key: &str) -> Option<usize> {
    // Of equal bids the first one, whatever the odds.
    let bids = of.map(|index| (score(among.label(index), key), std::cmp::Reverse(index)));
    bids.max().map(|(_, index)| index.0)
}
