//! What is known of each service, and what a request is to do: decided without I/O, with the time as an argument.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::error::LookupError;
use crate::flight::{Flight, Outcome};
use crate::locality::Answer;
use crate::name::ServiceName;
use crate::pace::{self, Bucket};

/// The most services that have had instances.
pub(crate) const MOST_KNOWN: usize = 100;

/// The most others: those that never had any, or are being looked up for the first time. They are bounded apart, so
/// that names which somebody makes up never push out good ones.
pub(crate) const MOST_OTHERS: usize = 64;

/// How the cache decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) refresh: Duration,
    pub(crate) grace: Duration,
    /// The longest that a look-up takes: for so long after its time an answer serves while a new one is fetched.
    pub(crate) slack: Duration,
    pub(crate) watch: bool,
}

/// All services that were asked for.
#[derive(Debug)]
pub(crate) struct Cache {
    terms: Terms,
    entries: HashMap<ServiceName, Entry>,
    /// Counts the requests, so that it is known which was the last for a name.
    turn: u64,
    /// The last look-up of any name failed.
    is_failing: bool,
    /// How often failures of names that never had instances are told.
    tellings: Bucket,
}

#[derive(Debug)]
struct Entry {
    /// The last good one.
    answer: Option<Arc<Answer>>,
    fresh_until: Instant,
    /// Failures since then.
    failures: u32,
    /// The last one, and until when requests are told of it.
    failed: Option<(LookupError, Instant)>,
    under_way: Option<UnderWay>,
    /// It is kept fresh by a watch, which ends with this.
    watch: Option<DropGuard>,
    /// It has had instances.
    is_known: bool,
    resets: Bucket,
    /// The next request asks though the answer is fresh, which stays in use if that fails.
    is_reset: bool,
    turn: u64,
    used: Instant,
}

#[derive(Debug)]
struct UnderWay {
    flight: Arc<Flight>,
    /// The last answer serves meanwhile.
    serves_old: bool,
}

/// What a request is to do.
#[derive(Debug)]
pub(crate) enum Step {
    /// Go on with this.
    Known(Arc<Answer>),
    /// There is nothing.
    Failed(LookupError),
    /// Wait. The one who gets `begin` begins the look-up, and has the old answer if it takes too long.
    Wait {
        flight: Arc<Flight>,
        old: Option<Arc<Answer>>,
        begin: Option<Begin>,
    },
}

/// What is to begin.
#[derive(Debug)]
pub(crate) enum Begin {
    /// One look-up.
    Once,
    /// A watch, until the token is cancelled.
    Watch(CancellationToken),
}

/// What changed about a name, for the log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Look-ups fail from now on.
    Fails { error: LookupError, serves_old: bool },
    /// They work again, after so many failures.
    Works { failures: u32 },
    /// The last instance has gone, which is known after so many failures.
    Emptied { failures: u32 },
}

// === impl Cache ===

impl Cache {
    pub(crate) fn new(terms: Terms) -> Self {
        Self {
            terms,
            entries: HashMap::new(),
            turn: 0,
            is_failing: false,
            tellings: Bucket::default(),
        }
    }

    /// What a request for `name` is to do that comes `now`.
    pub(crate) fn ask(&mut self, name: &ServiceName, now: Instant) -> Step {
        self.turn += 1;
        let turn = self.turn;
        if !self.entries.contains_key(name) {
            if let Err(error) = self.make_room() {
                return Step::Failed(error);
            }
            self.entries.insert(name.clone(), Entry::new(now));
        }
        let terms = self.terms;
        let Some(entry) = self.entries.get_mut(name) else {
            return Step::Failed(LookupError::Busy);
        };
        (entry.turn, entry.used) = (turn, now);
        entry.ask(&terms, now)
    }

    /// The next request for `name` asks Consul again: what the last answer said did not hold. If Consul cannot be asked,
    /// the answer serves for the rest of its time: others of its instances may hold.
    pub(crate) fn reset(&mut self, name: &ServiceName, now: Instant) {
        let Some(entry) = self.entries.get_mut(name) else {
            return;
        };
        // A watch knows of each change already, and tries again by itself while it fails.
        if entry.watch.is_some() || entry.under_way.is_some() || !entry.resets.try_take(now) {
            return;
        }
        entry.is_reset = true;
        if let Some((_, until)) = &mut entry.failed {
            *until = now;
        }
    }

    /// Every service is asked for anew. Nothing that was known is used any more.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// A look-up has ended: what those who wait for it get, and what is to be logged.
    pub(crate) fn end(
        &mut self,
        name: &ServiceName,
        flight: Option<&Arc<Flight>>,
        found: Result<Answer, LookupError>,
        now: Instant,
    ) -> (Outcome, Option<Change>) {
        let terms = self.terms;
        let was_failing = std::mem::replace(&mut self.is_failing, found.is_err());
        let entry = self.entries.get_mut(name).filter(|entry| entry.is_of(flight));
        let Some(entry) = entry else {
            // The name was pushed out, or all were forgotten: it is an answer for those who wait, and not kept.
            return (found.map(Arc::new), None);
        };
        entry.under_way = None;
        match found {
            Ok(answer) => {
                let change = entry.succeeded(answer, &terms, now);
                let becomes_known =
                    !entry.is_known && entry.answer.as_ref().is_some_and(|answer| !answer.is_empty());
                let outcome = entry.outcome();
                if becomes_known {
                    self.make_known(name);
                }
                (outcome, change)
            }
            Err(error) => {
                let change = entry.failed(&error, &terms, now);
                // Of names that never had instances the first failure of all is told, and not in turn with names that
                // work, so that nobody fills the log.
                let tellings = &mut self.tellings;
                let change = change.filter(|_| entry.is_known || !was_failing && tellings.try_take(now));
                let outcome = if entry.is_fresh(now) {
                    entry.outcome()
                } else {
                    Err(error)
                };
                (outcome, change)
            }
        }
    }

    /// Whether nobody has asked for `name` for so long; or it is not there any more.
    pub(crate) fn is_idle(&self, name: &ServiceName, time: Duration, now: Instant) -> bool {
        let entry = self.entries.get(name);
        entry.is_none_or(|entry| now.saturating_duration_since(entry.used) >= time)
    }

    /// Its watch ends: from now on it is asked for by requests.
    pub(crate) fn unwatch(&mut self, name: &ServiceName, now: Instant) {
        if let Some(entry) = self.entries.get_mut(name) {
            entry.watch = None;
            entry.fresh_until = entry.fresh_until.min(now + self.terms.refresh);
        }
    }

    /// Failures of `name` in a row.
    pub(crate) fn failures(&self, name: &ServiceName) -> u32 {
        self.entries.get(name).map_or(0, |entry| entry.failures)
    }

    /// How many services are kept.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Makes room for a name of which nothing is known.
    fn make_room(&mut self) -> Result<(), LookupError> {
        let others = self.entries.values().filter(|entry| !entry.is_known).count();
        if others < MOST_OTHERS {
            return Ok(());
        }
        let settled = |entry: &Entry| !entry.is_known && entry.under_way.is_none();
        self.remove_oldest(settled).then_some(()).ok_or(LookupError::Busy)
    }

    fn make_known(&mut self, name: &ServiceName) {
        let known = self.entries.values().filter(|entry| entry.is_known).count();
        if known >= MOST_KNOWN {
            self.remove_oldest(|entry| entry.is_known);
        }
        if let Some(entry) = self.entries.get_mut(name) {
            entry.is_known = true;
        }
    }

    /// Of those that are meant, the one that was asked for the longest time ago goes.
    fn remove_oldest(&mut self, is_meant: impl Fn(&Entry) -> bool) -> bool {
        let meant = self.entries.iter().filter(|(_, entry)| is_meant(entry));
        let oldest = meant.min_by_key(|(_, entry)| entry.turn);
        let name = oldest.map(|(name, _)| name.clone());
        name.is_some_and(|name| self.entries.remove(&name).is_some())
    }
}

// === impl Entry ===

impl Entry {
    fn new(now: Instant) -> Self {
        Self {
            answer: None,
            fresh_until: now,
            failures: 0,
            failed: None,
            under_way: None,
            watch: None,
            is_known: false,
            resets: Bucket::default(),
            is_reset: false,
            turn: 0,
            used: now,
        }
    }

    fn ask(&mut self, terms: &Terms, now: Instant) -> Step {
        // A watch tries again by itself, so that with a grace there is nothing to wait for.
        let keeps = self.watch.is_some() && !terms.grace.is_zero();
        let is_asked = self.is_reset || self.under_way.is_some();
        let serves = |_: &&Arc<Answer>| keeps || self.is_fresh(now) && !is_asked;
        if let Some(answer) = self.answer.as_ref().filter(serves) {
            return Step::Known(Arc::clone(answer));
        }
        if let Some(UnderWay { flight, serves_old }) = &self.under_way {
            return match &self.answer {
                Some(answer) if *serves_old => Step::Known(Arc::clone(answer)),
                _ => Step::Wait {
                    flight: Arc::clone(flight),
                    old: None,
                    begin: None,
                },
            };
        }
        if let Some((error, until)) = &self.failed
            && (now < *until || self.watch.is_some())
        {
            return Step::Failed(error.clone());
        }
        let serves_old = self.failed.is_none() && now < self.fresh_until + terms.slack;
        // What was nothing may be something now: that is worth the wait.
        let old = self
            .answer
            .as_ref()
            .filter(|answer| serves_old && !answer.is_empty());
        self.is_reset = false;
        let flight = Arc::<Flight>::default();
        self.under_way = Some(UnderWay {
            flight: Arc::clone(&flight),
            serves_old: old.is_some(),
        });
        let begin = if terms.watch {
            let stop = CancellationToken::new();
            self.watch = Some(stop.clone().drop_guard());
            Begin::Watch(stop)
        } else {
            Begin::Once
        };
        Step::Wait {
            flight,
            old: old.cloned(),
            begin: Some(begin),
        }
    }

    /// A watch that works says each change, so that what it said last is fresh.
    fn is_fresh(&self, now: Instant) -> bool {
        now < self.fresh_until || self.watch.is_some() && self.failures == 0 && self.answer.is_some()
    }

    /// Whether it is this flight that it waits for; a watch has none after its first answer.
    fn is_of(&self, flight: Option<&Arc<Flight>>) -> bool {
        match (flight, &self.under_way) {
            (Some(flight), Some(own)) => Arc::ptr_eq(flight, &own.flight),
            (None, None) => self.watch.is_some(),
            _ => false,
        }
    }

    fn outcome(&self) -> Outcome {
        self.answer.clone().ok_or(LookupError::Stopped)
    }

    fn succeeded(&mut self, answer: Answer, terms: &Terms, now: Instant) -> Option<Change> {
        let failures = std::mem::take(&mut self.failures);
        self.failed = None;
        self.fresh_until = now + terms.refresh;
        let had_some = self.answer.as_ref().is_some_and(|before| !before.is_empty());
        let is_emptied = had_some && answer.is_empty();
        // The same value, so that what was made of it need not be made again.
        if self.answer.as_deref() != Some(&answer) {
            self.answer = Some(Arc::new(answer));
        }
        if is_emptied {
            Some(Change::Emptied { failures })
        } else {
            (failures > 0).then_some(Change::Works { failures })
        }
    }

    fn failed(&mut self, error: &LookupError, terms: &Terms, now: Instant) -> Option<Change> {
        let is_first = self.failures == 0;
        self.failures = self.failures.saturating_add(1);
        if self.watch.is_some() && is_first && self.answer.is_some() {
            // As if it had been asked for when the watch was last well.
            self.fresh_until = now + terms.refresh;
        } else if self.answer.is_some() && !terms.grace.is_zero() && now >= self.fresh_until {
            self.fresh_until = now + terms.grace;
        }
        let until = now + pace::pause(self.failures, terms.refresh);
        self.failed = Some((error.clone(), until));
        let serves_old = self.answer.is_some() && now < self.fresh_until;
        if serves_old && self.watch.is_none() {
            // The next try comes after the grace, and whoever comes then may have the old answer while it is made.
            self.failed = None;
        }
        let error = error.clone();
        is_first.then_some(Change::Fails { error, serves_old })
    }
}
