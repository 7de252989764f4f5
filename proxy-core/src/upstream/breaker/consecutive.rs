//! Opens after a number of failures in a row.

/// The failures since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Consecutive {
    failures: u32,
}

// === impl Consecutive ===

impl Consecutive {
    /// Counts a result. Whether there are as many failures in a row as `most`.
    pub(super) fn count(&mut self, failed: bool, most: u32) -> bool {
        self.failures = if failed {
            self.failures.saturating_add(1)
        } else {
            0
        };
        self.failures >= most
    }

    /// Whether a success changes nothing.
    pub(super) fn is_clean(self) -> bool {
        self.failures == 0
    }
}
