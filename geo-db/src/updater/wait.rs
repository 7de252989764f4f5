//! How long to wait for the next try.

use std::time::Duration;

use super::Settings;

/// Waits after successes and failures, each give or take a tenth.
#[derive(Debug)]
pub(super) struct Waits {
    interval: Duration,
    retry: Duration,
    longest_retry: Duration,
    failures: u32,
    random: u64,
}

// === impl Waits ===

impl Waits {
    pub(super) fn new(settings: &Settings, seed: u64) -> Self {
        Self {
            interval: settings.interval,
            retry: settings.retry,
            longest_retry: settings.longest_retry,
            failures: 0,
            random: seed,
        }
    }

    pub(super) fn after_success(&mut self) -> Duration {
        self.failures = 0;
        self.spread(self.interval)
    }

    pub(super) fn after_failure(&mut self) -> Duration {
        let doubled = 2_u32.checked_pow(self.failures).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1);
        let wait = self.retry.saturating_mul(doubled).min(self.longest_retry);
        self.spread(wait)
    }

    /// Between 90 and 110 percent of a wait, so that many proxies do not ask at one moment.
    fn spread(&mut self, wait: Duration) -> Duration {
        let share = f64::from((self.next() >> 32) as u32) / f64::from(u32::MAX);
        wait.mul_f64(0.9 + 0.2 * share)
    }

    /// SplitMix64: any seed gives well-mixed numbers.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(wait: Duration, seconds: u64) {
        let range = Duration::from_millis(seconds * 900)..=Duration::from_millis(seconds * 1100);
        assert!(range.contains(&wait), "{wait:?}, expected about {seconds} s");
    }

    #[test]
    fn failures_double_the_wait_up_to_an_hour() {
        let mut waits = Waits::new(&Settings::default(), 7);
        for seconds in [30, 60, 120, 240, 480, 960, 1920, 3600, 3600] {
            about(waits.after_failure(), seconds);
        }
        for _ in 0..40 {
            about(waits.after_failure(), 3600);
        }
        about(waits.after_success(), 24 * 3600);
        about(waits.after_failure(), 30);
    }

    #[test]
    fn waits_are_spread_over_a_tenth_both_ways() {
        let mut waits = Waits::new(&Settings::default(), 1);
        let day = 24 * 3600;
        let drawn: Vec<_> = (0..200).map(|_| waits.after_success()).collect();
        drawn.iter().for_each(|wait| about(*wait, day));
        assert!(drawn.iter().any(|wait| wait.as_secs() < day * 92 / 100));
        assert!(drawn.iter().any(|wait| wait.as_secs() > day * 108 / 100));
    }
}
