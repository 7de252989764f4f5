//! What requests have shown of an upstream, whichever proxy sent them: read and written without a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// An upstream that could not be connected to is asked last for so long.
const SUSPICION: Duration = Duration::from_secs(1);

/// The time in which an old latency loses most of its weight (as in Finagle's and linkerd's peak EWMA).
const DECAY: Duration = Duration::from_secs(10);

/// What is remembered of an upstream.
#[derive(Debug)]
pub(crate) struct Standing {
    /// What times are counted from.
    epoch: Instant,
    /// Milliseconds until which it is suspected; 0: it is not.
    suspected: AtomicU64,
    /// Milliseconds since when it is there, or there again.
    since: AtomicU64,
    /// Milliseconds that it had been there before that, if somebody knows more of it than requests show.
    before: AtomicU64,
    /// The bits of the average time until an answer, in nanoseconds; 0 as long as none is known.
    latency: AtomicU64,
    /// Nanoseconds of the last one.
    measured: AtomicU64,
}

// === impl Standing ===

impl Standing {
    /// An upstream that comes `now`.
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            epoch: now,
            suspected: AtomicU64::new(0),
            since: AtomicU64::new(0),
            before: AtomicU64::new(0),
            latency: AtomicU64::new(0),
            measured: AtomicU64::new(0),
        }
    }

    /// It could not be connected to.
    pub(crate) fn suspect(&self, now: Instant) {
        let until = self.millis(now + SUSPICION).max(1);
        self.suspected.store(until, Ordering::Relaxed);
    }

    /// It answered. Where it was suspected, it is there again since `now`.
    pub(crate) fn trust(&self, now: impl FnOnce() -> Instant) {
        // Read first: what nobody writes can be read by all cores at once.
        if self.suspected.load(Ordering::Relaxed) != 0 {
            self.suspected.store(0, Ordering::Relaxed);
            self.came(now());
        }
    }

    /// Whether it is suspected. One that was is asked again after a while, by requests that come then.
    pub(crate) fn is_suspected(&self, now: impl FnOnce() -> Instant) -> bool {
        let until = self.suspected.load(Ordering::Relaxed);
        until != 0 && self.millis(now()) < until
    }

    /// Whether the last attempt to connect to it failed, however long ago.
    pub(crate) fn is_failing(&self) -> bool {
        self.suspected.load(Ordering::Relaxed) != 0
    }

    /// It is there, or there again, since `now`.
    pub(crate) fn came(&self, now: Instant) {
        self.has_been_there(Duration::ZERO, now);
    }

    /// It has been there for `age`, although nobody may have seen it before `now`.
    pub(crate) fn has_been_there(&self, age: Duration, now: Instant) {
        let before = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        self.before.store(before, Ordering::Relaxed);
        self.since.store(self.millis(now), Ordering::Relaxed);
    }

    /// How long it has been there.
    pub(crate) fn age(&self, now: Instant) -> Duration {
        let since = self.since.load(Ordering::Relaxed);
        let seen = self.millis(now).saturating_sub(since);
        Duration::from_millis(seen.saturating_add(self.before.load(Ordering::Relaxed)))
    }

    /// An answer took `latency`. A slow one counts at once, a fast one by and by.
    pub(crate) fn measure(&self, latency: Duration, now: Instant) {
        let sample = latency.as_secs_f64() * 1e9;
        let at = u64::try_from(now.saturating_duration_since(self.epoch).as_nanos()).unwrap_or(u64::MAX);
        let last = self.measured.swap(at, Ordering::Relaxed);
        let average = self.latency();
        let passed = Duration::from_nanos(at.saturating_sub(last));
        let weight = (-passed.as_secs_f64() / DECAY.as_secs_f64()).exp();
        let next = if sample >= average {
            sample
        } else {
            average.mul_add(weight, sample * (1.0 - weight))
        };
        // Two workers at once lose one of their samples: as good.
        self.latency.store(next.to_bits(), Ordering::Relaxed);
    }

    /// The average time until an answer, in nanoseconds; 0 as long as none is known.
    pub(crate) fn latency(&self) -> f64 {
        f64::from_bits(self.latency.load(Ordering::Relaxed))
    }

    fn millis(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.epoch).as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn one_that_could_not_be_connected_to_is_suspected_for_a_second_or_until_it_answers() {
        let begin = Instant::now();
        let standing = Standing::new(begin);
        assert!(!standing.is_suspected(|| begin) && !standing.is_failing());
        standing.suspect(begin);
        assert!(standing.is_suspected(|| begin + SECOND / 2) && standing.is_failing());
        assert!(
            !standing.is_suspected(|| begin + SECOND),
            "somebody must ask it again"
        );
        assert!(standing.is_failing());
        standing.trust(|| begin + SECOND * 60);
        assert!(!standing.is_failing());
        assert_eq!(
            standing.age(begin + SECOND * 70),
            SECOND * 10,
            "it is there again since"
        );
    }

    #[test]
    fn one_may_be_older_than_anybody_has_seen() {
        let begin = Instant::now();
        let standing = Standing::new(begin);
        standing.has_been_there(SECOND * 3600, begin + SECOND);
        assert_eq!(standing.age(begin + SECOND * 11), SECOND * 3610);
        standing.came(begin + SECOND * 20);
        assert_eq!(standing.age(begin + SECOND * 21), SECOND);
    }

    #[test]
    fn slow_answers_count_at_once_and_fast_ones_by_and_by() {
        let begin = Instant::now();
        let standing = Standing::new(begin);
        assert!(standing.latency() == 0.0);
        standing.measure(SECOND / 1000, begin + SECOND);
        standing.measure(SECOND / 10, begin + SECOND);
        assert!((standing.latency() - 1e8).abs() < 1.0);
        standing.measure(SECOND / 1000, begin + SECOND * 2);
        assert!((8e7..1e8).contains(&standing.latency()), "{}", standing.latency());
        standing.measure(SECOND / 1000, begin + SECOND * 100);
        assert!(standing.latency() < 2e6, "{}", standing.latency());
    }
}
