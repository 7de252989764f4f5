//! Opens after a number of failures among the last requests.

/// The results of the last requests, a bit for each. Those that have not been yet count as successes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    failed: Box<[u64]>,
    window: usize,
    /// The place of the oldest result, which the next one takes.
    next: usize,
    failures: u32,
}

/// Results in a word.
const BITS: usize = 64;

// === impl Rate ===

impl Rate {
    /// Looks back on `window` requests, at least one.
    pub(super) fn new(window: u32) -> Self {
        let window = usize::try_from(window).unwrap_or(usize::MAX).max(1);
        Self {
            failed: vec![0; window.div_ceil(BITS)].into(),
            window,
            next: 0,
            failures: 0,
        }
    }

    /// Counts a result. Whether there are as many failures in the window as `most`.
    pub(super) fn count(&mut self, failed: bool, most: u32) -> bool {
        let bit = 1 << (self.next % BITS);
        if let Some(word) = self.failed.get_mut(self.next / BITS) {
            if *word & bit != 0 {
                self.failures -= 1;
            }
            if failed {
                *word |= bit;
                self.failures += 1;
            } else {
                *word &= !bit;
            }
        }
        self.next = (self.next + 1) % self.window;
        self.failures >= most
    }

    /// Whether a success changes nothing: among successes alone, one more can take any place.
    pub(super) fn is_clean(&self) -> bool {
        self.failures == 0
    }
}
