//! How many values lie below which bounds.

/// Values counted by `N` bounds, which are the same for all histograms of a family.
#[derive(Clone, Debug)]
pub(super) struct Histogram<const N: usize> {
    buckets: [u64; N],
    count: u64,
    sum: u64,
}

// === impl Histogram ===

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self {
            buckets: [0; N],
            count: 0,
            sum: 0,
        }
    }
}

impl<const N: usize> Histogram<N> {
    /// Counts a value. `bounds` are in order.
    pub(super) fn add(&mut self, value: u64, bounds: &[u64; N]) {
        let index = bounds.partition_point(|bound| *bound < value);
        if let Some(bucket) = self.buckets.get_mut(index) {
            *bucket += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
    }

    /// Adds what another one has counted.
    pub(super) fn add_all(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket += more;
        }
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// How many values are above the bound before and not above this one, bound by bound.
    pub(super) fn buckets(&self) -> &[u64; N] {
        &self.buckets
    }

    /// How many values there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// All values together.
    pub(super) fn sum(&self) -> u64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_a_bound_is_below_it() {
        let bounds = [10, 20];
        let mut one = Histogram::default();
        for value in [0, 10, 11, 20, 21, u64::MAX] {
            one.add(value, &bounds);
        }
        let mut sum = one.clone();
        sum.add_all(&one);
        assert_eq!((one.buckets, one.count, one.sum), ([2, 2], 6, u64::MAX));
        assert_eq!((sum.buckets, sum.count), ([4, 4], 12));
    }
}
