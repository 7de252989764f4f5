//! What checks in a row say of an upstream, and when they are made. Pure: time and randomness are passed in.

use std::time::Duration;

use super::Change;

/// How many checks in a row change the mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Good ones that make an upstream healthy. Default 1.
    pub(crate) passes: u32,
    /// Bad ones that make it unhealthy. Default 1.
    pub(crate) fails: u32,
}

/// What the checks so far say. An upstream starts healthy, as in Caddy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Streak {
    is_healthy: bool,
    /// Results in a row that contradict that.
    against: u32,
}

// === impl Streak ===

impl Streak {
    /// Counts a result.
    pub(super) fn count(&mut self, passed: bool, limits: Limits) -> Option<Change> {
        if passed == self.is_healthy {
            self.against = 0;
            return None;
        }
        self.against += 1;
        let (needed, change) = if passed {
            (limits.passes, Change::Up)
        } else {
            (limits.fails, Change::Down)
        };
        if self.against < needed {
            return None;
        }
        *self = Self {
            is_healthy: passed,
            against: 0,
        };
        Some(change)
    }
}

impl Default for Streak {
    fn default() -> Self {
        Self {
            is_healthy: true,
            against: 0,
        }
    }
}

/// How long after the beginning of a check the next one begins. After the first one, which is made at once, it is any part
/// of the interval, so that the checks of many upstreams are spread over it; after that all of it, give or take a
/// twentieth, so that checks of several proxies do not stay in step if they ever are.
pub(super) fn pause(interval: Duration, made: u64, random: u64) -> Duration {
    // Of 1024 parts.
    let part = u32::try_from(random % 1024).unwrap_or(0);
    let parts = if made <= 1 {
        52 + part * 972 / 1024
    } else {
        973 + part * 102 / 1024
    };
    (interval / 1024).saturating_mul(parts).max(MIN_PAUSE)
}

/// However short an interval is.
const MIN_PAUSE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn changes(results: &str, passes: u32, fails: u32) -> Vec<(usize, Change)> {
        let mut streak = Streak::default();
        let limits = Limits { passes, fails };
        let results = results.chars().enumerate();
        results
            .filter_map(|(at, result)| Some((at, streak.count(result == '+', limits)?)))
            .collect()
    }

    #[test]
    fn one_result_is_enough_unless_the_configuration_says_more() {
        assert_eq!(changes("+--+", 1, 1), [(1, Change::Down), (3, Change::Up)]);
    }

    #[test]
    fn results_count_in_a_row() {
        assert_eq!(changes("--+--+--", 2, 3), [], "never three bad ones in a row");
        assert_eq!(
            changes("--+---+-+-++", 2, 3),
            [(5, Change::Down), (11, Change::Up)],
            "never two good ones in a row before the end"
        );
    }

    #[test]
    fn checks_of_many_upstreams_are_spread_over_the_interval_and_keep_it() {
        let interval = SECOND * 30;
        let mut random = 7_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            random >> 33
        };
        let mut tenths = [0; 10];
        for _ in 0..10_000 {
            let first = pause(interval, 1, next());
            assert!(first >= interval / 20 && first <= interval, "{first:?}");
            let tenth = (first.as_secs_f64() / interval.as_secs_f64() * 10.0).min(9.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 10")]
            let tenth = tenth as usize;
            tenths[tenth] += 1;
            let later = pause(interval, 2, next());
            assert!(
                later >= interval * 19 / 20 && later <= interval * 21 / 20,
                "{later:?}"
            );
        }
        assert!(
            tenths.iter().all(|count| (400..1_300).contains(count)),
            "{tenths:?}"
        );
        assert_eq!(pause(Duration::from_nanos(1), 2, 0), MIN_PAUSE);
    }
}
