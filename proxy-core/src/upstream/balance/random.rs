//! Choices by chance.

use super::{Candidates, below, free};

/// Any of those that are free, all equally likely.
pub(super) fn any(among: &impl Candidates, random: &mut impl FnMut() -> u64) -> Option<usize> {
    let count = among.len();
    if count == 0 {
        return None;
    }
    // Most of the time all are free, and the first throw is the choice.
    let thrown = below(count, random);
    if among.is_free(thrown) {
        return Some(thrown);
    }
    // One that is not free must not leave its share to a neighbour.
    let left = free(among).count();
    if left == 0 {
        return None;
    }
    free(among).nth(below(left, random))
}

/// Of `count` different ones, the one with the fewest requests in flight.
///
/// Each is taken with the chance that so many of the rest are still wanted (Knuth's algorithm S), so that nothing need
/// be remembered but the best.
pub(super) fn fewest_of(
    count: usize,
    among: &impl Candidates,
    random: &mut impl FnMut() -> u64,
) -> Option<usize> {
    let mut left = free(among).count();
    let mut wanted = count.clamp(1, left.max(1));
    let mut best: Option<(u32, usize)> = None;
    let mut as_good = 0;
    for index in free(among) {
        // Between two looks one may have become free.
        if wanted == 0 || left == 0 {
            break;
        }
        let taken = below(left, random) < wanted;
        left -= 1;
        if !taken {
            continue;
        }
        wanted -= 1;
        let load = among.load(index);
        as_good = match best {
            Some((least, _)) if load > least => continue,
            Some((least, _)) if load == least => as_good + 1,
            _ => 1,
        };
        if below(as_good, random) == 0 {
            best = Some((load, index));
        }
    }
    best.map(|(_, index)| index)
}
