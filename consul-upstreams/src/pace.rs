//! When to ask again. Pure: time and randomness are arguments.

use std::time::Duration;

use tokio::time::Instant;

/// The first wait after a failure.
const FIRST: Duration = Duration::from_secs(1);

/// The longest wait of a request after a failure.
const MOST_FOR_REQUESTS: Duration = Duration::from_secs(10);

/// The longest wait of a watch after failures.
const MOST_FOR_WATCHES: Duration = Duration::from_secs(30);

/// The time between two questions that come one after the other, once the few that may come at once are used up.
const APART: Duration = Duration::from_secs(1);

/// How long a blocking query waits at most. Longer waits would ask less often, but a server that has lost its count lets
/// a question about an index of its future wait until the end.
const WAIT: Duration = Duration::from_secs(60);

/// Lets two through at once, and then one a second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    /// When it is full again.
    full: Option<Instant>,
}

// === impl Bucket ===

impl Bucket {
    /// The time until the next may come; that one is let through then.
    pub(crate) fn take(&mut self, now: Instant) -> Duration {
        let full = self.full.map_or(now, |full| full.max(now));
        self.full = Some(full + APART);
        full.saturating_duration_since(now).saturating_sub(APART)
    }

    /// Whether one may come now, which is taken then.
    pub(crate) fn try_take(&mut self, now: Instant) -> bool {
        let full = self.full.map_or(now, |full| full.max(now));
        let is_free = full.saturating_duration_since(now) <= APART;
        if is_free {
            self.full = Some(full + APART);
        }
        is_free
    }
}

/// For how long requests of a name are told of the `count`th failure in a row before Consul is asked again.
pub(crate) fn pause(count: u32, refresh: Duration) -> Duration {
    doubled(count).min(MOST_FOR_REQUESTS).min(refresh)
}

/// How long a watch waits after the `count`th failure in a row; up to a quarter more by `random`, so that many watches
/// do not ask a Consul that comes back in step.
pub(crate) fn back_off(count: u32, random: u64) -> Duration {
    let base = doubled(count).min(MOST_FOR_WATCHES);
    base + base / 4 * u32::from(random.to_le_bytes()[0]) / 255
}

fn doubled(count: u32) -> Duration {
    FIRST.saturating_mul(1 << count.saturating_sub(1).min(16))
}

/// How long a blocking query is to wait: a minute, up to a tenth less by `random`, so that the queries of many names and
/// proxies do not end in step.
pub(crate) fn wait(random: u64) -> Duration {
    WAIT - WAIT / 10 * u32::from(random.to_le_bytes()[0]) / 255
}

/// The index for the next blocking query: none if Consul gave none, or one that went back, which means that its count
/// has begun anew.
pub(crate) fn next_index(before: Option<u64>, given: Option<u64>) -> Option<u64> {
    let given = given.filter(|index| *index > 0)?;
    (before.is_none_or(|before| given >= before)).then_some(given)
}

/// Mixes numbers that are far from random (SplitMix64).
pub(crate) fn mixed(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn two_come_at_once_and_then_one_a_second() {
        let mut bucket = Bucket::default();
        let start = Instant::now();
        let waits: Vec<_> = (0..4).map(|_| bucket.take(start)).collect();
        assert_eq!(waits, [0, 0, 1, 2].map(seconds));
        assert_eq!(bucket.take(start + seconds(60)), Duration::ZERO);

        let mut bucket = Bucket::default();
        let taken: Vec<_> = (0..4).map(|_| bucket.try_take(start)).collect();
        assert_eq!(taken, [true, true, false, false]);
        assert!(bucket.try_take(start + seconds(1)));
        assert!(!bucket.try_take(start + seconds(1)));
    }

    #[test]
    fn pauses_double_up_to_a_bound() {
        let pauses: Vec<_> = (1..=6).map(|count| pause(count, seconds(60))).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 10, 10].map(seconds));
        assert_eq!(pause(u32::MAX, seconds(3)), seconds(3));
        assert_eq!(pause(1, Duration::from_millis(10)), Duration::from_millis(10));
        assert_eq!(back_off(1, 0), seconds(1));
        assert_eq!(back_off(u32::MAX, 0), seconds(30));
        assert_eq!(back_off(4, 255), seconds(10));
    }

    #[test]
    fn waits_are_about_a_minute_and_spread() {
        assert_eq!((wait(0), wait(255)), (seconds(60), seconds(54)));
        let drawn: Vec<_> = (0..100).map(|n| wait(mixed(n))).collect();
        assert!(drawn.iter().any(|wait| *wait < seconds(55)) && drawn.iter().any(|wait| *wait > seconds(59)));
    }

    #[test]
    fn an_index_that_goes_back_or_is_none_begins_anew() {
        for (before, given, next) in [
            (None, Some(7), Some(7)),
            (Some(7), Some(7), Some(7)),
            (Some(7), Some(9), Some(9)),
            (Some(7), Some(6), None),
            (Some(7), Some(0), None),
            (None, Some(0), None),
            (Some(7), None, None),
        ] {
            assert_eq!(next_index(before, given), next, "{before:?} {given:?}");
        }
    }
}
