//! Which of many lines are kept.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Level;

/// Keeps the first lines of each interval, then every so manieth; levels count apart.
#[derive(Debug)]
pub(crate) struct Sampler {
    interval: Duration,
    first: u64,
    thereafter: u64,
    counts: [Count; 4],
}

#[derive(Debug, Default)]
struct Count {
    /// The interval that is counted in.
    interval: AtomicU64,
    lines: AtomicU64,
}

// === impl Sampler ===

impl Sampler {
    /// Counting begins anew after `interval`. If `thereafter` is 0, only the `first` lines are kept.
    pub(crate) fn new(interval: Duration, first: u32, thereafter: u32) -> Self {
        Self {
            interval: interval.max(Duration::from_millis(1)),
            first: first.into(),
            thereafter: thereafter.into(),
            counts: Default::default(),
        }
    }

    /// Counts a line of `level` and says whether it is kept.
    pub(crate) fn keeps(&self, level: Level, at: SystemTime) -> bool {
        let count = match level {
            Level::Debug => &self.counts[0],
            Level::Info => &self.counts[1],
            Level::Warn => &self.counts[2],
            Level::Error => &self.counts[3],
        };
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let interval = u64::try_from(since.as_nanos() / self.interval.as_nanos()).unwrap_or(u64::MAX);
        // Two workers may both begin an interval; a line more or less is no matter.
        if count.interval.swap(interval, Ordering::Relaxed) != interval {
            count.lines.store(0, Ordering::Relaxed);
        }
        let number = count.lines.fetch_add(1, Ordering::Relaxed) + 1;
        number <= self.first || (self.thereafter > 0 && (number - self.first).is_multiple_of(self.thereafter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(sampler: &Sampler, level: Level, seconds: u64, lines: usize) -> Vec<usize> {
        let at = UNIX_EPOCH + Duration::from_secs(seconds);
        (1..=lines).filter(|_| sampler.keeps(level, at)).collect()
    }

    #[test]
    fn the_first_lines_of_an_interval_are_kept_and_then_every_so_manieth() {
        let sampler = Sampler::new(Duration::from_secs(10), 2, 3);
        assert_eq!(kept(&sampler, Level::Info, 100, 10), [1, 2, 5, 8]);
        assert_eq!(kept(&sampler, Level::Error, 100, 3), [1, 2]);
        assert_eq!(kept(&sampler, Level::Info, 109, 1), [1]);
        assert_eq!(kept(&sampler, Level::Info, 110, 3), [1, 2]);
    }

    #[test]
    fn without_a_thereafter_only_the_first_are_kept() {
        let sampler = Sampler::new(Duration::ZERO, 1, 0);
        assert_eq!(kept(&sampler, Level::Info, 5, 100), [1]);
    }
}
