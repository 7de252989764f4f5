//! A smaller share of the requests for an upstream that fails: the part of its requests that failed in the last period.
//!
//! A failure is a request without an answer; whatever an answer's status is, it is none.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::kept::Kept;

/// Those in use, by the address of their upstream and their settings.
pub(crate) type Sheds = Kept<ShedSettings, Shed>;

/// When an upstream gets fewer requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ShedSettings {
    /// How long requests are counted before they are judged.
    pub(crate) period: Duration,
    /// With fewer requests in a period nothing is judged.
    pub(crate) min_requests: u32,
    /// A smaller part of failures is none.
    pub(crate) min: f64,
    /// The largest part of the requests that others get.
    pub(crate) max: f64,
    /// If a larger part of a backend's upstreams fails, all get their requests.
    pub(crate) most_unhealthy: f64,
}

/// What is counted of one upstream, by all workers.
#[derive(Debug)]
pub(crate) struct Shed {
    settings: ShedSettings,
    began: Instant,
    /// The number of the period that is counted.
    period: AtomicU64,
    requests: AtomicU32,
    failures: AtomicU32,
    /// The part that others get, in millionths.
    drop: AtomicU32,
}

const MILLION: f64 = 1e6;

// === impl Shed ===

impl Shed {
    /// Counting begins now.
    pub(crate) fn new(settings: ShedSettings, now: Instant) -> Self {
        Self {
            settings,
            began: now,
            period: AtomicU64::new(0),
            requests: AtomicU32::new(0),
            failures: AtomicU32::new(0),
            drop: AtomicU32::new(0),
        }
    }

    /// A request has ended.
    pub(crate) fn count(&self, failed: bool, now: Instant) {
        self.judge(now);
        self.requests.fetch_add(1, Ordering::Relaxed);
        if failed {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The part of its requests that others get, from 0 to 1.
    pub(crate) fn part(&self, now: Instant) -> f64 {
        self.judge(now);
        f64::from(self.drop.load(Ordering::Relaxed)) / MILLION
    }

    /// Judges the period that has ended, once.
    fn judge(&self, now: Instant) {
        let length = self.settings.period.as_nanos().max(1);
        let number = now.saturating_duration_since(self.began).as_nanos() / length;
        let number = u64::try_from(number).unwrap_or(u64::MAX);
        let last = self.period.load(Ordering::Relaxed);
        let is_first = number > last
            && self
                .period
                .compare_exchange(last, number, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if !is_first {
            return;
        }
        let requests = self.requests.swap(0, Ordering::Relaxed);
        let failures = self.failures.swap(0, Ordering::Relaxed);
        let part = self.judged(requests, failures);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and a million"
        )]
        let millionths = (part * MILLION) as u32;
        self.drop.store(millionths, Ordering::Relaxed);
    }

    fn judged(&self, requests: u32, failures: u32) -> f64 {
        if requests == 0 || requests < self.settings.min_requests {
            return 0.0;
        }
        let part = f64::from(failures) / f64::from(requests);
        if part > self.settings.min {
            part.min(self.settings.max).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> ShedSettings {
        ShedSettings {
            period: Duration::from_secs(1),
            min_requests: 10,
            min: 0.1,
            max: 0.9,
            most_unhealthy: 1.0,
        }
    }

    #[test]
    fn others_get_the_part_that_failed_in_the_last_period() {
        let now = Instant::now();
        let shed = Shed::new(settings(), now);
        let at = |millis| now + Duration::from_millis(millis);
        for (second, failures, requests, part) in [
            (0, 5, 10, 0.5),
            (1, 10, 10, 0.9),
            (2, 1, 10, 0.0),
            (3, 9, 9, 0.0),
            (4, 20, 80, 0.25),
        ] {
            for number in 0..requests {
                shed.count(number < failures, at(second * 1000 + 10));
            }
            assert_eq!(
                shed.part(at(second * 1000 + 1010)),
                part,
                "{failures} of {requests}"
            );
        }
        assert_eq!(shed.part(at(60_000)), 0.0, "nothing was asked for a while");
    }
}
