//! Circuit breakers: an upstream that keeps failing is left alone for a while, and then tried with a few requests.
//!
//! [`Machine`] is the pure state machine; the time is passed in. [`Breaker`] is one that all workers share: while it is
//! closed and nothing fails, a request costs it two reads.
//!
//! A breaker knows its upstream by nothing but the results of requests, so it serves whoever has some: it begins a
//! request with [`Breaker::enter`] and ends it with [`Pass::leave`]. A request that was given up is no result: its
//! [`Pass`] is dropped.

mod consecutive;
mod rate;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use self::consecutive::Consecutive;
use self::rate::Rate;

/// What opens a breaker, and how it closes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BreakerSettings {
    pub(crate) rule: BreakerRule,
    /// How long it stays open. Default a minute.
    pub(crate) timeout: Duration,
    /// How many requests at once may try the upstream then, and how many of them must succeed in a row. Default 1.
    pub(crate) half_open: u32,
}

/// What opens a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BreakerRule {
    /// So many failures in a row.
    Consecutive { failures: u32 },
    /// So many failures among the last `window` requests.
    Rate { failures: u32, window: u32 },
}

/// How a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// All requests go through.
    Closed,
    /// None does.
    Open,
    /// A few do.
    HalfOpen,
}

/// The state machine.
#[derive(Debug)]
pub(crate) struct Machine {
    settings: BreakerSettings,
    counts: Counts,
    state: State,
    /// Grows with each change of state: a result that began before is none of this state's.
    generation: u64,
}

#[derive(Debug)]
enum Counts {
    Consecutive(Consecutive),
    Rate(Rate),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Open { until: Instant },
    HalfOpen { in_flight: u32, succeeded: u32 },
}

/// A request that was let through, for who counts its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    generation: u64,
    is_probe: bool,
}

/// One breaker for all workers.
#[derive(Debug)]
pub(crate) struct Breaker {
    machine: Mutex<Machine>,
    /// Whether the machine is closed, and so whether it needs to be asked who may go through.
    is_closed: AtomicBool,
    /// Whether a success changes nothing.
    is_clean: AtomicBool,
    generation: AtomicU64,
}

/// A request on its way through a breaker. Dropped, it was given up.
// A reference: a count that all workers share would cost each request more than the breaker itself.
#[derive(Debug)]
pub(crate) struct Pass<'b> {
    breaker: &'b Breaker,
    ticket: Ticket,
    is_over: bool,
}

/// Why a request fails whose upstreams are all left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IsOpen;

/// How long a breaker stays open unless its settings say otherwise; as Skipper's.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

// === impl IsOpen ===

impl fmt::Display for IsOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the circuit breaker is open")
    }
}

impl Error for IsOpen {}

// === impl Machine ===

impl Machine {
    pub(crate) fn new(settings: BreakerSettings) -> Self {
        let counts = match settings.rule {
            BreakerRule::Consecutive { .. } => Counts::Consecutive(Consecutive::default()),
            BreakerRule::Rate { window, .. } => Counts::Rate(Rate::new(window)),
        };
        Self {
            settings,
            counts,
            state: State::Closed,
            generation: 0,
        }
    }

    /// Whether a request may begin.
    pub(crate) fn admits(&self, now: Instant) -> bool {
        match self.state {
            State::Closed => true,
            State::Open { until } => now >= until,
            State::HalfOpen { in_flight, .. } => in_flight < self.settings.half_open,
        }
    }

    /// Begins a request, if one may begin.
    pub(crate) fn begin(&mut self, now: Instant) -> Option<Ticket> {
        if matches!(self.state, State::Open { until } if now >= until) {
            self.become_next(State::HalfOpen {
                in_flight: 0,
                succeeded: 0,
            });
        }
        let is_probe = match &mut self.state {
            State::Closed => false,
            State::HalfOpen { in_flight, .. } if *in_flight < self.settings.half_open => {
                *in_flight += 1;
                true
            }
            State::Open { .. } | State::HalfOpen { .. } => return None,
        };
        Some(Ticket {
            generation: self.generation,
            is_probe,
        })
    }

    /// Ends a request with its result; `None`: it has none, as it was given up. Gives the state that this led to, if it
    /// is another one.
    pub(crate) fn end(&mut self, ticket: Ticket, failed: Option<bool>, now: Instant) -> Option<Stand> {
        if ticket.generation != self.generation {
            return None;
        }
        if let State::HalfOpen { in_flight, .. } = &mut self.state {
            *in_flight = in_flight.saturating_sub(1);
        }
        let opened = State::Open {
            until: now + self.settings.timeout,
        };
        let failed = failed?;
        let next = match &mut self.state {
            State::Closed => self.counts.count(failed, self.settings.rule).then_some(opened)?,
            State::HalfOpen { .. } if failed => opened,
            State::HalfOpen { succeeded, .. } => {
                *succeeded += 1;
                (*succeeded >= self.settings.half_open).then_some(State::Closed)?
            }
            State::Open { .. } => return None,
        };
        self.become_next(next);
        Some(self.stand(now))
    }

    /// How it stands. One whose time is over is half open, even if no request has come since.
    pub(crate) fn stand(&self, now: Instant) -> Stand {
        match self.state {
            State::Closed => Stand::Closed,
            State::Open { until } if now < until => Stand::Open,
            State::Open { .. } | State::HalfOpen { .. } => Stand::HalfOpen,
        }
    }

    /// When it lets requests through again.
    fn opens_until(&self) -> Option<Instant> {
        match self.state {
            State::Open { until } => Some(until),
            State::Closed | State::HalfOpen { .. } => None,
        }
    }

    fn become_next(&mut self, next: State) {
        if next == State::Closed {
            // What led to the last opening is not held against an upstream that has shown that it is well.
            self.counts = Self::new(self.settings).counts;
        }
        self.state = next;
        self.generation += 1;
    }
}

// === impl Counts ===

impl Counts {
    fn count(&mut self, failed: bool, rule: BreakerRule) -> bool {
        let (BreakerRule::Consecutive { failures } | BreakerRule::Rate { failures, .. }) = rule;
        match self {
            Self::Consecutive(counts) => counts.count(failed, failures),
            Self::Rate(counts) => counts.count(failed, failures),
        }
    }

    fn is_clean(&self) -> bool {
        match self {
            Self::Consecutive(counts) => counts.is_clean(),
            Self::Rate(counts) => counts.is_clean(),
        }
    }
}

// === impl Breaker ===

impl Breaker {
    pub(crate) fn new(settings: BreakerSettings) -> Self {
        Self {
            machine: Mutex::new(Machine::new(settings)),
            is_closed: AtomicBool::new(true),
            is_clean: AtomicBool::new(true),
            generation: AtomicU64::new(0),
        }
    }

    /// Whether a request may begin.
    pub(crate) fn admits(&self, now: impl FnOnce() -> Instant) -> bool {
        self.is_closed.load(Ordering::Relaxed) || self.lock().admits(now())
    }

    /// Begins a request, if one may begin.
    pub(crate) fn enter(&self, now: impl FnOnce() -> Instant) -> Option<Pass<'_>> {
        // The number first: one that is too old makes a result count for nothing, never for the wrong state.
        let generation = self.generation.load(Ordering::Acquire);
        let ticket = if self.is_closed.load(Ordering::Acquire) {
            Ticket {
                generation,
                is_probe: false,
            }
        } else {
            self.change(|machine| machine.begin(now()))?
        };
        Some(Pass {
            breaker: self,
            ticket,
            is_over: false,
        })
    }

    /// How it stands.
    pub(crate) fn stand(&self, now: Instant) -> Stand {
        self.lock().stand(now)
    }

    /// How long it lets no request through yet.
    pub(crate) fn waits(&self, now: Instant) -> Option<Duration> {
        let until = self.lock().opens_until()?;
        Some(until.saturating_duration_since(now))
    }

    fn end(&self, ticket: Ticket, failed: Option<bool>, now: Instant) -> Option<Stand> {
        self.change(|machine| machine.end(ticket, failed, now))
    }

    /// Changes the machine, and publishes what is read without a lock.
    fn change<T>(&self, change: impl FnOnce(&mut Machine) -> T) -> T {
        let mut machine = self.lock();
        let value = change(&mut machine);
        let is_closed = machine.state == State::Closed;
        self.is_closed.store(is_closed, Ordering::Release);
        self.is_clean.store(machine.counts.is_clean(), Ordering::Relaxed);
        self.generation.store(machine.generation, Ordering::Release);
        value
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Pass ===

impl Pass<'_> {
    /// The request has this result. Gives the state that this led to, if it is another one.
    pub(crate) fn leave(mut self, failed: bool, now: impl FnOnce() -> Instant) -> Option<Stand> {
        self.is_over = true;
        let changes_nothing =
            !failed && !self.ticket.is_probe && self.breaker.is_clean.load(Ordering::Relaxed);
        if changes_nothing {
            return None;
        }
        self.breaker.end(self.ticket, Some(failed), now())
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        // Only what tries an upstream takes a place that must be given back.
        if !self.is_over && self.ticket.is_probe {
            self.breaker.end(self.ticket, None, Instant::now());
        }
    }
}
