//! Shares by the weights of the upstreams themselves.

use super::{Candidates, free};

/// The golden ratio as a part of 2^64: its multiples fall evenly over the whole, however many are taken.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The free one at `point`, a part of 2^64, when they lie side by side, each as wide as its weight.
pub(super) fn at(point: u64, among: &impl Candidates) -> Option<usize> {
    let weight = |index: usize| u64::from(among.weight(index));
    let total: u64 = free(among).map(weight).sum();
    let place = (u128::from(point) * u128::from(total)) >> 64;
    let mut left = u64::try_from(place).unwrap_or(0);
    let mut last = None;
    for index in free(among) {
        let weight = weight(index);
        if left < weight {
            return Some(index);
        }
        left -= weight;
        last = Some(index);
    }
    // Between the two looks one was taken away.
    last
}

/// The point of a turn.
pub(super) fn of_turn(turn: usize) -> u64 {
    (turn as u64).wrapping_mul(GOLDEN)
}
