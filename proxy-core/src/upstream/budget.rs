//! How many attempts beside the first may go to upstreams that are failing: pure, the time is passed in.
//!
//! A retry that goes to an upstream in good order adds nothing to what its clients ask for. One that goes to an upstream
//! which has just failed, or which may already have worked on the request, does: when everything fails, retries would
//! multiply the load (compare the retry budgets of Finagle and Envoy).

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How much a budget allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BudgetLimits {
    /// Retries for a hundred requests. Default 20.
    pub(crate) percent: u32,
    /// Retries a second, however few requests there are. Default 10.
    pub(crate) per_second: u32,
}

/// What is left of it, for all workers.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: BudgetLimits,
    left: Mutex<Left>,
}

#[derive(Debug, Default)]
struct Left {
    /// Retries, in parts.
    retries: f64,
    /// When it was reckoned last, and the requests until then.
    last: Option<(Instant, u64)>,
}

/// What is not used is kept for so long.
const KEPT: Duration = Duration::from_secs(10);

// === impl BudgetLimits ===

impl Default for BudgetLimits {
    fn default() -> Self {
        Self {
            percent: 20,
            per_second: 10,
        }
    }
}

// === impl Budget ===

impl Budget {
    pub(crate) fn new(limits: BudgetLimits) -> Self {
        Self {
            limits,
            left: Mutex::default(),
        }
    }

    /// Takes one retry, if one is left. `requests` is how many there have been in all.
    pub(crate) fn take(&self, requests: u64, now: Instant) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let per_second = f64::from(self.limits.per_second);
        let Some((then, before)) = left.last.replace((now, requests)) else {
            left.retries = per_second - 1.0;
            return per_second >= 1.0;
        };
        let passed = now.saturating_duration_since(then).min(KEPT);
        // A count that went back begins anew, with another configuration's upstreams.
        #[expect(
            clippy::cast_precision_loss,
            reason = "a share of a count needs no more digits"
        )]
        let new = requests.saturating_sub(before) as f64;
        let by_requests = new * f64::from(self.limits.percent) / 100.0;
        left.retries += passed.as_secs_f64() * per_second + by_requests;
        // The requests of the time that it is kept for are not known, but those since the last look are.
        let most = per_second.mul_add(KEPT.as_secs_f64(), by_requests).max(1.0);
        left.retries = left.retries.min(most);
        let enough = left.retries >= 1.0;
        if enough {
            left.retries -= 1.0;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How many of `tries` in one second are allowed, with `rate` requests in it.
    fn allowed(budget: &Budget, begin: Instant, requests: &mut u64, rate: u64, tries: u32) -> u32 {
        let mut allowed = 0;
        for n in 0..tries {
            let step = rate * u64::from(n + 1) / u64::from(tries);
            let now = begin + SECOND * n / tries;
            allowed += u32::from(budget.take(*requests + step, now));
        }
        *requests += rate;
        allowed
    }

    #[test]
    fn retries_are_a_share_of_the_requests_or_a_few_a_second() {
        let budget = Budget::new(BudgetLimits::default());
        let (begin, mut requests) = (Instant::now(), 0);
        for second in 0..5 {
            let few = allowed(&budget, begin + SECOND * second, &mut requests, 0, 1_000);
            assert!((9..=20).contains(&few), "{few}");
        }
        let begin = begin + SECOND * 5;
        for second in 0..5 {
            let share = allowed(&budget, begin + SECOND * second, &mut requests, 1_000, 1_000);
            assert!((200..=212).contains(&share), "{share}");
        }
    }

    #[test]
    fn what_was_not_used_is_kept_for_a_while_only() {
        let budget = Budget::new(BudgetLimits::default());
        let now = Instant::now();
        assert!(budget.take(0, now));
        let later = now + SECOND * 3600;
        let burst = (0..1_000).filter(|_| budget.take(0, later)).count();
        assert_eq!(burst, 100);
    }

    #[test]
    fn a_budget_of_nothing_allows_nothing() {
        let budget = Budget::new(BudgetLimits {
            percent: 0,
            per_second: 0,
        });
        let now = Instant::now();
        assert!((0..100).all(|n| !budget.take(n * 1_000, now + SECOND)));
    }

    #[test]
    fn a_count_that_begins_anew_is_no_fault() {
        let budget = Budget::new(BudgetLimits::default());
        let now = Instant::now();
        assert!(budget.take(u64::MAX, now));
        assert!(budget.take(0, now + SECOND));
    }
}
