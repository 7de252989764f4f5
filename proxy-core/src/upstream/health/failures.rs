//! Failed requests that still count against an upstream, whichever proxy sent them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Change;

/// The most failures that are remembered of an upstream: a higher limit counts as this one.
pub(crate) const MOST: u32 = 16_384;

/// The failures of one upstream, for all workers. While there are none, one read tells.
#[derive(Debug)]
pub(crate) struct Failures {
    /// What times are counted from.
    epoch: Instant,
    /// How many there are, as long as none of them ends.
    count: AtomicU32,
    /// Milliseconds when the first of them ends.
    next: AtomicU64,
    pending: Mutex<Pending>,
}

/// The state machine.
#[derive(Debug, Default)]
struct Pending {
    /// When each ends, in milliseconds; the first one on top.
    ends: BinaryHeap<Reverse<u64>>,
    /// The lowest limit that was reached, until there are fewer failures again.
    reached: Option<u32>,
}

// === impl Failures ===

impl Failures {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            epoch: now,
            count: AtomicU32::new(0),
            next: AtomicU64::new(u64::MAX),
            pending: Mutex::default(),
        }
    }

    /// A request has failed, which counts for `duration`. Gives [`Change::Down`] if there are `limit` since.
    pub(crate) fn add(&self, duration: Duration, limit: u32, now: Instant) -> Option<Change> {
        let mut pending = self.lock();
        let at = self.millis(now);
        let ends = at.saturating_add(millis(duration).max(1));
        let change = pending.add(ends, limit, at);
        self.publish(&pending);
        change
    }

    /// How many count now, and [`Change::Up`] if that is fewer than a limit that was reached. The time is asked for only
    /// if there are any.
    pub(crate) fn count(&self, now: impl FnOnce() -> Instant) -> (u32, Option<Change>) {
        let count = self.count.load(Ordering::Relaxed);
        if count == 0 {
            return (0, None);
        }
        let at = self.millis(now());
        if at < self.next.load(Ordering::Relaxed) {
            return (count, None);
        }
        let mut pending = self.lock();
        let change = pending.prune(at);
        self.publish(&pending);
        (pending.len(), change)
    }

    /// How long until there is one less.
    pub(crate) fn waits(&self, now: Instant) -> Option<Duration> {
        let next = self.next.load(Ordering::Relaxed);
        let left = next.saturating_sub(self.millis(now));
        (next != u64::MAX).then(|| Duration::from_millis(left))
    }

    fn publish(&self, pending: &Pending) {
        let next = pending.ends.peek().map_or(u64::MAX, |Reverse(ends)| *ends);
        self.next.store(next, Ordering::Relaxed);
        self.count.store(pending.len(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn millis(&self, at: Instant) -> u64 {
        millis(at.saturating_duration_since(self.epoch))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

// === impl Pending ===

impl Pending {
    fn add(&mut self, ends: u64, limit: u32, now: u64) -> Option<Change> {
        // Who was not asked for a while is up again before it is down.
        let was_up = self.prune(now).is_some();
        if self.len() >= MOST {
            self.ends.pop();
        }
        self.ends.push(Reverse(ends));
        if self.len() < limit.min(MOST) {
            return was_up.then_some(Change::Up);
        }
        let is_new = self.reached.is_none();
        self.reached = Some(self.reached.map_or(limit, |before| before.min(limit)));
        (is_new && !was_up).then_some(Change::Down)
    }

    fn prune(&mut self, now: u64) -> Option<Change> {
        while self.ends.peek().is_some_and(|Reverse(ends)| *ends <= now) {
            self.ends.pop();
        }
        self.reached.take_if(|limit| {
            let limit = (*limit).min(MOST);
            u32::try_from(self.ends.len()).unwrap_or(u32::MAX) < limit
        })?;
        Some(Change::Up)
    }

    fn len(&self) -> u32 {
        u32::try_from(self.ends.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn each_failure_counts_for_its_time() {
        let begin = Instant::now();
        let failures = Failures::new(begin);
        let count = |after| failures.count(|| begin + after);
        assert_eq!(
            failures.count(|| unreachable!("nobody looks at the clock")),
            (0, None)
        );
        assert_eq!(failures.add(SECOND * 10, 2, begin), None);
        assert_eq!(failures.add(SECOND * 10, 2, begin + SECOND), Some(Change::Down));
        assert_eq!(failures.waits(begin + SECOND * 4), Some(SECOND * 6));
        assert_eq!(count(SECOND * 9), (2, None));
        assert_eq!(count(SECOND * 10), (1, Some(Change::Up)));
        assert_eq!(count(SECOND * 10), (1, None), "said once");
        assert_eq!(count(SECOND * 11), (0, None));
        assert_eq!(failures.waits(begin + SECOND * 12), None);
    }

    #[test]
    fn a_change_is_said_once_however_many_failures_follow() {
        let begin = Instant::now();
        let failures = Failures::new(begin);
        let changes: Vec<_> = (0..50_u32)
            .filter_map(|n| failures.add(SECOND * 60, 3, begin + SECOND * n / 10))
            .collect();
        assert_eq!(changes, [Change::Down]);
        assert_eq!(failures.count(|| begin + SECOND * 120), (0, Some(Change::Up)));
    }

    #[test]
    fn proxies_have_their_own_limits_and_times() {
        let begin = Instant::now();
        let failures = Failures::new(begin);
        assert_eq!(failures.add(SECOND, 5, begin), None);
        assert_eq!(failures.add(SECOND * 9, 1, begin), Some(Change::Down));
        assert_eq!(
            failures.count(|| begin + SECOND),
            (1, None),
            "still as many as the lowest limit"
        );
        assert_eq!(failures.count(|| begin + SECOND * 9), (0, Some(Change::Up)));
    }

    /// Whatever happens when: what counts is what a list of all failures says, and changes come in turn.
    #[test]
    fn a_random_life_is_that_of_a_plain_list() {
        for seed in 0..100_u64 {
            let mut random = seed;
            let mut next = |below: u32| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                u32::try_from(random >> 40).unwrap() % below
            };
            let begin = Instant::now();
            let failures = Failures::new(begin);
            let (mut now, mut all, mut is_down) = (begin, Vec::new(), false);
            for _ in 0..1_000 {
                now += Duration::from_millis(u64::from(next(400)));
                let change = if next(2) == 0 {
                    let duration = SECOND * (1 + next(5));
                    all.push(now + duration);
                    failures.add(duration, 4, now)
                } else {
                    let (count, change) = failures.count(|| now);
                    all.retain(|end| *end > now);
                    assert_eq!(count as usize, all.len(), "seed {seed}");
                    assert_eq!(change.is_none() && is_down, count >= 4 && is_down, "seed {seed}");
                    change
                };
                match change {
                    Some(Change::Down) => assert!(!std::mem::replace(&mut is_down, true), "seed {seed}"),
                    Some(Change::Up) => assert!(std::mem::take(&mut is_down), "seed {seed}"),
                    None => {}
                }
            }
        }
    }

    #[test]
    fn no_number_of_failures_grows_without_bound() {
        let begin = Instant::now();
        let failures = Failures::new(begin);
        let day = SECOND * 86_400;
        let down = (0..MOST + 5_000).filter(|_| failures.add(day, u32::MAX, begin).is_some());
        assert_eq!(down.count(), 1, "no limit is out of reach");
        assert_eq!(failures.count(|| begin).0, MOST);
    }
}
