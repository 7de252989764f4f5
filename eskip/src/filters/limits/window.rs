//! How many requests of one client there were in the time before now.

use std::collections::VecDeque;
use std::time::Duration;

/// Up to so many requests each counts with its own time. Above, those that are close together count as one time, so that
/// a client takes no more memory than with this many.
const MOST_RUNS: u32 = 256;

/// What a limit without any requests tells clients: come again in five years.
const NEVER: Duration = Duration::from_secs(5 * 365 * 24 * 3600);

/// So many requests in every stretch of this length.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Rate {
    pub(crate) most: u32,
    pub(crate) window: Duration,
}

/// When the last requests of a client were let through. Times are nanoseconds since some beginning.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// The oldest first.
    runs: VecDeque<Run>,
    /// How many requests all of them are.
    count: u32,
    /// When the last request came, also one that was refused.
    seen: u64,
}

/// Requests at one time.
#[derive(Debug)]
struct Run {
    at: u64,
    count: u32,
}

// === impl Rate ===

impl Rate {
    /// How many requests that makes in an hour.
    pub(crate) fn per_hour(self) -> u128 {
        let most = u128::from(self.most).saturating_mul(Duration::from_secs(3600).as_nanos());
        most.checked_div(self.window.as_nanos()).unwrap_or_default()
    }

    fn window_nanos(self) -> u64 {
        u64::try_from(self.window.as_nanos()).unwrap_or(u64::MAX)
    }

    /// The time as which a request counts: not before it was there, so that there are never too many in a window.
    fn counted(self, now: u64) -> u64 {
        if self.most <= MOST_RUNS {
            return now;
        }
        let grain = self.window_nanos().div_euclid(MOST_RUNS.into()).max(1);
        now.checked_next_multiple_of(grain).unwrap_or(now)
    }
}

// === impl Window ===

impl Window {
    /// Lets a request through, or says how long it is until the next one will be.
    pub(crate) fn allow(&mut self, rate: Rate, now: u64) -> Result<(), Duration> {
        self.seen = now;
        self.forget(rate, now);
        if self.count < rate.most {
            self.add(rate.counted(now));
            return Ok(());
        }
        let free = self
            .runs
            .front()
            .map(|oldest| oldest.at.saturating_add(rate.window_nanos()));
        Err(free.map_or(NEVER, |free| Duration::from_nanos(free.saturating_sub(now))))
    }

    /// How many times it holds.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Whether nothing of it counts any more.
    pub(crate) fn is_over(&self, rate: Rate, now: u64) -> bool {
        let newest = self.runs.back();
        newest.is_none_or(|newest| newest.at.saturating_add(rate.window_nanos()) <= now)
    }

    /// When the last request came, also one that was refused.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    fn forget(&mut self, rate: Rate, now: u64) {
        let window = rate.window_nanos();
        while let Some(oldest) = self.runs.front()
            && oldest.at.saturating_add(window) <= now
        {
            self.count = self.count.saturating_sub(oldest.count);
            self.runs.pop_front();
        }
        // What a burst took is given back.
        if self.runs.len() < self.runs.capacity() / 4 {
            self.runs.shrink_to(self.runs.len().saturating_mul(2));
        }
    }

    fn add(&mut self, at: u64) {
        self.count = self.count.saturating_add(1);
        match self.runs.back_mut() {
            Some(newest) if newest.at >= at => newest.count = newest.count.saturating_add(1),
            _ => self.runs.push_back(Run { at, count: 1 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn rate(most: u32, seconds: u64) -> Rate {
        Rate {
            most,
            window: Duration::from_secs(seconds),
        }
    }

    #[test]
    fn so_many_requests_are_let_through_in_any_window() {
        let (mut window, rate) = (Window::default(), rate(2, 10));
        assert_eq!(window.allow(rate, 0), Ok(()));
        assert_eq!(window.allow(rate, 4 * SECOND), Ok(()));
        assert_eq!(window.allow(rate, 5 * SECOND), Err(Duration::from_secs(5)));
        // What was refused does not count.
        assert_eq!(window.allow(rate, 10 * SECOND - 1), Err(Duration::from_nanos(1)));
        assert_eq!(window.allow(rate, 10 * SECOND), Ok(()));
        assert_eq!(window.allow(rate, 10 * SECOND), Err(Duration::from_secs(4)));
        assert_eq!(window.allow(rate, 14 * SECOND), Ok(()));
        assert!(!window.is_over(rate, 24 * SECOND - 1));
        assert!(window.is_over(rate, 24 * SECOND));
    }

    #[test]
    fn without_any_requests_there_is_no_next_one() {
        let mut window = Window::default();
        assert_eq!(window.allow(rate(0, 1), 5), Err(NEVER));
        assert_eq!(window.runs(), 0);
    }

    #[test]
    fn requests_per_hour_are_told_whatever_the_window_is() {
        assert_eq!(rate(20, 60).per_hour(), 1200);
        assert_eq!(rate(10, 7200).per_hour(), 5);
        assert_eq!(rate(1, 7).per_hour(), 514);
        assert_eq!(
            rate(u32::MAX, 1).per_hour(),
            u128::from(u32::MAX).saturating_mul(3600)
        );
    }

    #[test]
    fn a_great_limit_takes_as_little_memory_as_a_small_one() {
        let (mut window, rate) = (Window::default(), rate(100_000, 1));
        assert_eq!(window.runs.capacity(), 0);
        let step = SECOND / 100_000;
        for number in 0..100_000 {
            assert_eq!(window.allow(rate, number * step), Ok(()), "{number}");
        }
        assert!(window.runs() <= 257, "{}", window.runs());
        assert!(window.allow(rate, 100_000 * step - 1).is_err());
        // It is free again when its window is over, at most one part in 256 later.
        assert_eq!(window.allow(rate, 2 * SECOND + SECOND / 256), Ok(()));
        assert!(window.runs.capacity() < 8);
    }

    proptest! {
        /// However requests come, no stretch of the window's length has more than are allowed, and with few of them none
        /// is refused for which there would be room.
        #[test]
        fn no_window_has_too_many(
            most in prop_oneof![0_u32..6, 250_u32..300],
            steps in prop::collection::vec(prop_oneof![Just(0), 0_u64..40, 0_u64..2_000], 0..800),
        ) {
            let rate = Rate { most, window: Duration::from_nanos(1_000) };
            let (mut window, mut now) = (Window::default(), 0);
            let mut allowed: Vec<u64> = Vec::new();
            for step in steps {
                now += step;
                let lately = allowed.iter().filter(|at| **at + 1_000 > now).count();
                let is_free = lately < most as usize;
                let is_allowed = window.allow(rate, now).is_ok();
                prop_assert!(is_free || !is_allowed);
                if most <= MOST_RUNS {
                    prop_assert_eq!(is_free, is_allowed);
                }
                if is_allowed {
                    allowed.push(now);
                }
            }
        }
    }
}
