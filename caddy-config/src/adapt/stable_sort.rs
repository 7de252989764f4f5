//! A stable sort for comparisons that contradict themselves.
//!
//! Caddy orders routes and policies by rules that are not a total order: a named matcher equals every path, while
//! paths differ among themselves. The outcome then depends on the steps of the sort, so these are the steps of Go's
//! stable sort: runs of twenty, each sorted by insertion, merged in place pairwise by rotation. The standard
//! library's sort may panic on such comparisons.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "every index stays within the slice: 0 <= a <= m <= b <= len, which the tests and the slices' own checks hold"
)]

const RUN: usize = 20;

/// Sorts `items`; `less(a, b)` says that `a` goes before `b`.
pub(super) fn stable_sort<T>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for run in items.chunks_mut(RUN) {
        insertion_sort(run, less);
    }
    let mut size = RUN;
    while size < items.len() {
        for pair in items.chunks_mut(size.saturating_mul(2)) {
            if pair.len() > size {
                merge(pair, size, less);
            }
        }
        size = size.saturating_mul(2);
    }
}

fn insertion_sort<T>(items: &mut [T], less: &impl Fn(&T, &T) -> bool) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && at_less(items, at, at - 1, less) {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// Merges the sorted `items[..middle]` and `items[middle..]`.
fn merge<T>(items: &mut [T], middle: usize, less: &impl Fn(&T, &T) -> bool) {
    let len = items.len();
    if middle == 1 {
        let to = partition(1, len, |at| at_less(items, at, 0, less));
        return rotate_left(items, 0, to, 1);
    }
    if len - middle == 1 {
        let to = partition(0, middle, |at| !at_less(items, middle, at, less));
        return rotate_left(items, to, len, middle - to);
    }
    let half = len / 2;
    let sum = half + middle;
    let (low, high) = if middle > half {
        (sum - len, half)
    } else {
        (0, middle)
    };
    let start = partition(low, high, |at| !at_less(items, sum - 1 - at, at, less));
    let end = sum - start;
    if start < middle && middle < end {
        rotate_left(items, start, end, middle - start);
    }
    let (left, right) = items.split_at_mut(half);
    if 0 < start && start < half {
        merge(left, start, less);
    }
    if half < end && end < len {
        merge(right, end - half, less);
    }
}

/// The first index from `low` to `high` for which `before` no longer holds.
fn partition(mut low: usize, mut high: usize, before: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low.midpoint(high);
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn rotate_left<T>(items: &mut [T], from: usize, to: usize, by: usize) {
    if let Some(range) = items.get_mut(from..to) {
        range.rotate_left(by.min(range.len()));
    }
}

fn at_less<T>(items: &[T], a: usize, b: usize, less: &impl Fn(&T, &T) -> bool) -> bool {
    matches!((items.get(a), items.get(b)), (Some(a), Some(b)) if less(a, b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::stable_sort;

    proptest! {
        #[test]
        fn with_an_order_it_is_a_stable_sort(items in prop::collection::vec((0_u8..20, any::<u16>()), 0..300)) {
            let mut sorted = items.clone();
            stable_sort(&mut sorted, &|a, b| a.0 < b.0);
            let mut expected = items;
            expected.sort_by_key(|item| item.0);
            prop_assert_eq!(sorted, expected);
        }

        #[test]
        fn without_one_it_still_keeps_every_item(items in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut sorted = items.clone();
            stable_sort(&mut sorted, &|a, b| a.wrapping_mul(37) % 5 < b.wrapping_mul(91) % 7);
            sorted.sort_unstable();
            let mut expected = items;
            expected.sort_unstable();
            prop_assert_eq!(sorted, expected);
        }
    }
}
