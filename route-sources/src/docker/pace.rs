//! How long to wait after a failure.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(15);

/// Twice as long after each failure, from 100 ms to 15 s.
#[derive(Debug)]
pub(super) struct Pace(Duration);

// === impl Pace ===

impl Pace {
    /// After something went well.
    pub(super) fn reset(&mut self) {
        self.0 = FIRST;
    }

    /// How long to wait now: between half and all of what it is without chance. `jitter` is from 0 to 1.
    pub(super) fn next(&mut self, jitter: f64) -> Duration {
        let delay = self.0;
        self.0 = (delay * 2).min(LONGEST);
        let jitter = if jitter.is_finite() {
            jitter.clamp(0.0, 1.0)
        } else {
            0.0
        };
        delay.mul_f64(1.0 - jitter / 2.0)
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self(FIRST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_fifteen_seconds_and_begin_anew() {
        let mut pace = Pace::default();
        let delays: Vec<_> = (0..10).map(|_| pace.next(0.0).as_millis()).collect();
        assert_eq!(
            delays,
            [100, 200, 400, 800, 1600, 3200, 6400, 12800, 15000, 15000]
        );
        pace.reset();
        assert_eq!(pace.next(1.0).as_millis(), 50);
        assert_eq!(pace.next(f64::NAN).as_millis(), 200);
    }
}
