//! How often a request is tried, and when. Pure: the time is passed in.

use std::time::Duration;

use tokio::time::Instant;

/// What the configuration says of further attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Retry {
    /// Attempts beside the first. `None`: as many as the time allows, or without one each other upstream once.
    pub(crate) retries: Option<u32>,
    /// How long further attempts are begun. `None`: for as long as there are some left.
    pub(crate) duration: Option<Duration>,
    /// The pause before an upstream is asked again. Another one that is free is asked without one.
    pub(crate) interval: Duration,
}

/// The attempts of one request.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    made: u32,
    /// When further attempts end.
    until: Option<Instant>,
    tried: Tried,
    last: Option<usize>,
}

/// The places of upstreams that were tried in this round. Nothing is allocated for the first 64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tried {
    first: u64,
    further: Vec<u64>,
}

// === impl Retry ===

impl Retry {
    /// The pause where `lb_try_duration` is set and `lb_try_interval` is not; as in Caddy.
    pub(crate) const INTERVAL: Duration = Duration::from_millis(250);
}

// === impl Attempts ===

impl Attempts {
    /// No attempt yet. `now` is asked for only where time matters.
    pub(crate) fn begin(retry: &Retry, now: impl FnOnce() -> Instant) -> Self {
        Self {
            until: retry.duration.map(|duration| now() + duration),
            ..Self::default()
        }
    }

    /// The upstream at `index` is asked now.
    pub(crate) fn attempt(&mut self, index: usize) {
        self.made = self.made.saturating_add(1);
        self.tried.insert(index);
        self.last = Some(index);
    }

    /// The upstream at `index` has no place for this request, although it seemed so: it is passed over in this round.
    pub(crate) fn pass_over(&mut self, index: usize) {
        self.tried.insert(index);
    }

    /// Attempts so far.
    pub(crate) fn made(&self) -> u32 {
        self.made
    }

    /// Whether the upstream at `index` has had its turn in this round.
    pub(crate) fn has_tried(&self, index: usize) -> bool {
        self.tried.contains(index)
    }

    /// Whether it was the last to fail: it is asked again only where no other is free.
    pub(crate) fn was_last(&self, index: usize) -> bool {
        self.last == Some(index)
    }

    /// The places stand for other upstreams from now on.
    pub(crate) fn forget_last(&mut self) {
        self.last = None;
    }

    /// The places stand for other upstreams from now on, and which of them were tried is said anew.
    pub(crate) fn forget_places(&mut self) {
        self.tried = Tried::default();
        self.last = None;
    }

    /// The upstream at `index` was tried in this round, perhaps as the last one.
    pub(crate) fn remember(&mut self, index: usize, is_last: bool) {
        self.tried.insert(index);
        if is_last {
            self.last = Some(index);
        }
    }

    /// Whether another attempt may be made after one that failed.
    pub(crate) fn may_go_on(&self, retry: &Retry, now: impl FnOnce() -> Instant) -> bool {
        retry.retries.is_none_or(|retries| self.made <= retries)
            && self.until.is_none_or(|until| now() < until)
    }

    /// No upstream is free that was not tried in this round. How long to wait before a new one begins; `None`: the client
    /// is told.
    pub(crate) fn next_round(&mut self, retry: &Retry, now: impl FnOnce() -> Instant) -> Option<Duration> {
        // With a number of attempts and no time, an upstream that does not come is not waited for.
        let waits = retry.duration.is_some() || retry.retries.is_some() && self.made > 0;
        if !waits || !self.may_go_on(retry, now) {
            return None;
        }
        self.tried = Tried::default();
        Some(retry.interval)
    }
}

// === impl Tried ===

impl Tried {
    fn contains(&self, index: usize) -> bool {
        let bit = 1 << (index % 64);
        match index / 64 {
            0 => self.first & bit != 0,
            word => self.further.get(word - 1).is_some_and(|word| word & bit != 0),
        }
    }

    fn insert(&mut self, index: usize) {
        let bit = 1 << (index % 64);
        match index / 64 {
            0 => self.first |= bit,
            word => {
                if self.further.len() < word {
                    self.further.resize(word, 0);
                }
                if let Some(word) = self.further.get_mut(word - 1) {
                    *word |= bit;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// What becomes of a request at `count` upstreams that all fail: the places asked, and `None` for each pause.
    fn asked(retry: &Retry, count: usize, pause: Duration) -> Vec<Option<usize>> {
        let (mut now, mut asked) = (Instant::now(), Vec::new());
        let mut attempts = Attempts::begin(retry, || now);
        while asked.len() < 50 {
            let untried = (0..count).find(|index| !attempts.has_tried(*index) && !attempts.was_last(*index));
            let next = untried.or_else(|| (0..count).find(|index| !attempts.has_tried(*index)));
            match next {
                Some(index) => {
                    attempts.attempt(index);
                    asked.push(Some(index));
                    if !attempts.may_go_on(retry, || now) {
                        break;
                    }
                }
                None => match attempts.next_round(retry, || now) {
                    Some(interval) => {
                        assert_eq!(interval, retry.interval);
                        now += pause;
                        asked.push(None);
                    }
                    None => break,
                },
            }
        }
        asked
    }

    #[test]
    fn without_settings_each_upstream_is_asked_once() {
        assert_eq!(asked(&Retry::default(), 3, SECOND), [Some(0), Some(1), Some(2)]);
        assert_eq!(asked(&Retry::default(), 1, SECOND), [Some(0)]);
        assert_eq!(asked(&Retry::default(), 0, SECOND), []);
    }

    #[test]
    fn a_number_of_retries_is_kept_and_the_last_one_that_failed_waits() {
        let retry = Retry {
            retries: Some(3),
            ..Retry::default()
        };
        assert_eq!(
            asked(&retry, 2, SECOND),
            [Some(0), Some(1), None, Some(0), Some(1)]
        );
        assert_eq!(asked(&retry, 5, SECOND), [Some(0), Some(1), Some(2), Some(3)]);
        let none = Retry {
            retries: Some(0),
            ..Retry::default()
        };
        assert_eq!(asked(&none, 3, SECOND), [Some(0)]);
        assert_eq!(asked(&retry, 0, SECOND), [], "nothing comes without time");
    }

    #[test]
    fn attempts_end_with_their_time_and_one_upstream_is_asked_again() {
        let retry = Retry {
            duration: Some(SECOND),
            interval: Retry::INTERVAL,
            ..Retry::default()
        };
        let expected = [
            Some(0),
            None,
            Some(0),
            None,
            Some(0),
            None,
            Some(0),
            None,
            Some(0),
        ];
        assert_eq!(asked(&retry, 1, Retry::INTERVAL), expected);
        assert_eq!(asked(&retry, 0, Retry::INTERVAL), [None; 4], "one may come");
        let both = Retry {
            retries: Some(1),
            ..retry
        };
        assert_eq!(asked(&both, 1, Retry::INTERVAL), [Some(0), None, Some(0)]);
    }

    #[test]
    fn any_number_of_upstreams_is_told_apart() {
        let mut tried = Tried::default();
        for index in [0, 63, 64, 127, 500] {
            assert!(!tried.contains(index));
            tried.insert(index);
            assert!(tried.contains(index) && !tried.contains(index + 1), "{index}");
        }
    }

    #[test]
    fn places_that_stand_for_others_are_told_anew() {
        let mut attempts = Attempts::default();
        attempts.attempt(0);
        attempts.attempt(1);
        attempts.forget_places();
        attempts.remember(4, true);
        attempts.remember(2, false);
        let tried: Vec<_> = (0..6).filter(|index| attempts.has_tried(*index)).collect();
        assert_eq!((tried, attempts.made()), (vec![2, 4], 2));
        assert!(attempts.was_last(4) && !attempts.was_last(1));
    }
}
