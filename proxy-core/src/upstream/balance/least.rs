//! Choices by what upstreams have to do.

use super::{Candidates, below, free, random};

/// What a request is taken to cost, in nanoseconds, at an upstream that has not answered yet while others wait there.
const UNKNOWN: f64 = 1e9;

/// The one with the fewest requests in flight; any of several that have as few.
pub(super) fn loaded(among: &impl Candidates, random: &mut impl FnMut() -> u64) -> Option<usize> {
    random::fewest_of(usize::MAX, among, random)
}

/// Of two, the one that is likely to answer sooner.
pub(super) fn expected_of_two(among: &impl Candidates, random: &mut impl FnMut() -> u64) -> Option<usize> {
    let first = random::any(among, random)?;
    let others = || free(among).filter(|index| *index != first);
    let count = others().count();
    let Some(second) = (count > 0).then(|| others().nth(below(count, random))).flatten() else {
        return Some(first);
    };
    Some(if cost(among, second) < cost(among, first) {
        second
    } else {
        first
    })
}

/// One that is new is tried with one request, and given no second one before it has answered.
fn cost(among: &impl Candidates, index: usize) -> f64 {
    let (latency, load) = (among.latency(index), f64::from(among.load(index)));
    if latency == 0.0 && load > 0.0 {
        UNKNOWN * load
    } else {
        latency * (load + 1.0)
    }
}
