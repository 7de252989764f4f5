//! Whether an upstream takes requests: what became of requests to it, what its checks say, its circuit breaker.
//!
//! The decisions are pure state machines that are told the time: `failures`, `streak` and
//! [`breaker`](super::breaker). The shell that asks upstreams how they are is `prober`.

mod check;
mod failures;
mod kept;
mod probe;
mod prober;
mod shed;
mod streak;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;
use tracing::{info, warn};

pub(crate) use self::check::{Check, Identity, Plan};
pub(crate) use self::failures::Failures;
pub(crate) use self::kept::Kept;
pub(crate) use self::probe::{Expected, HttpProbe, Probe};
pub(crate) use self::prober::Prober;
pub(crate) use self::shed::{Shed, ShedSettings, Sheds};
pub(crate) use self::streak::Limits;
use super::breaker::{Breaker, BreakerSettings, Pass, Stand};
use super::load::Slot;

/// The circuit breakers in use, by the address of their upstream and their settings.
pub(crate) type Breakers = Kept<BreakerSettings, Breaker>;

/// How the mind about an upstream changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It takes requests again.
    Up,
    /// It takes none any more.
    Down,
}

/// What one proxy goes by, of one upstream. Nothing of it: all is well.
#[derive(Clone, Debug, Default)]
pub(crate) struct Health {
    pub(crate) passive: Option<Arc<Passive>>,
    pub(crate) check: Option<Arc<Check>>,
    pub(crate) breaker: Option<Arc<Breaker>>,
    /// What takes from its share.
    pub(crate) shed: Option<Arc<Shed>>,
}

/// What a proxy goes by whatever its upstreams are, those too that come while it runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    pub(crate) passive: Option<Arc<Passive>>,
    /// The settings of circuit breakers, and where those in use are.
    pub(crate) breaker: Option<(BreakerSettings, Arc<Breakers>)>,
    /// When the share of an upstream gets smaller, and where those are counted.
    pub(crate) shed: Option<(ShedSettings, Arc<Sheds>)>,
}

/// What counts as a failure, and how many make an upstream unhealthy. The failures are the upstream's, whichever proxy
/// sent the requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Passive {
    /// How long a failure counts.
    pub(crate) duration: Duration,
    /// So many make it unhealthy. Default 1.
    pub(crate) most: u32,
    /// Answers of these statuses are failures; below 10, of all of a class.
    pub(crate) statuses: Box<[u16]>,
    /// Answers whose head takes as long are failures.
    pub(crate) latency: Option<Duration>,
}

/// Why an upstream takes no requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It has as many in flight as it may have.
    Full,
    /// Its checks fail.
    Checks,
    /// Too many requests to it failed.
    Failures,
    /// Its circuit breaker is open, or tries it with others already.
    Breaker,
}

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    Status(StatusCode),
    Latency(Duration),
}

// === impl Policy ===

impl Policy {
    /// What is known of the upstream `host:port`, which is not checked.
    pub(crate) fn health(&self, label: &Arc<str>) -> Health {
        let breaker = self.breaker.as_ref();
        Health {
            passive: self.passive.clone(),
            check: None,
            breaker: breaker.map(|(settings, known)| known.of(label, *settings, |new| Breaker::new(*new))),
            shed: self
                .shed
                .as_ref()
                .map(|(settings, known)| known.of(label, *settings, |new| Shed::new(*new, Instant::now()))),
        }
    }
}

// === impl Health ===

impl Health {
    /// Why the upstream of `slot` takes no requests; `None`: it does. The time is asked for only where something is wrong.
    pub(crate) fn trouble(&self, slot: &Slot, now: fn() -> Instant) -> Option<Trouble> {
        let checks = self.check.as_ref().is_some_and(|check| !check.is_healthy());
        if checks {
            return Some(Trouble::Checks);
        }
        if let Some(passive) = &self.passive
            && fails(slot, now) >= passive.limit()
        {
            return Some(Trouble::Failures);
        }
        let breaker = self.breaker.as_ref().is_some_and(|breaker| !breaker.admits(now));
        breaker.then_some(Trouble::Breaker)
    }

    /// How long until something may change about `trouble`, as far as that is known.
    pub(crate) fn waits(&self, trouble: Trouble, slot: &Slot, now: Instant) -> Option<Duration> {
        match trouble {
            Trouble::Full => None,
            Trouble::Checks => self.check.as_ref()?.waits(now),
            Trouble::Failures => slot.failures().waits(now),
            Trouble::Breaker => self.breaker.as_ref()?.waits(now),
        }
    }

    /// Whether the time until an answer must be known.
    pub(crate) fn is_timed(&self) -> bool {
        self.passive
            .as_ref()
            .is_some_and(|passive| passive.latency.is_some())
    }

    /// Begins a request. `Err`: the breaker lets none through now.
    pub(crate) fn enter(&self, now: fn() -> Instant) -> Result<Option<Pass<'_>>, Trouble> {
        let Some(breaker) = &self.breaker else {
            return Ok(None);
        };
        breaker.enter(now).map(Some).ok_or(Trouble::Breaker)
    }

    /// A request has its result, as its breaker counts it.
    pub(crate) fn leave(slot: &Slot, pass: Option<Pass<'_>>, failed: bool) {
        match pass.and_then(|pass| pass.leave(failed, Instant::now)) {
            Some(Stand::Closed) => {
                slot.standing().came(Instant::now());
                info!(upstream = %slot.label(), "the circuit breaker is closed: the upstream is used again");
            }
            Some(Stand::Open | Stand::HalfOpen) => {
                warn!(upstream = %slot.label(), "the circuit breaker opens: the upstream is left alone for a while");
            }
            None => {}
        }
    }

    /// A request has failed because of the upstream.
    pub(crate) fn failed(&self, slot: &Slot, cause: &dyn fmt::Display) {
        let Some(passive) = &self.passive else { return };
        let now = Instant::now();
        let change = slot.failures().add(passive.duration, passive.most, now);
        note(slot, change, cause, now);
    }

    /// What is wrong with an answer of this status that came after this time.
    pub(crate) fn flaw(&self, status: StatusCode, latency: Option<Duration>) -> Option<Flaw> {
        let passive = self.passive.as_ref()?;
        let code = status.as_u16();
        let is_listed = |listed: &u16| *listed == code || *listed < 10 && *listed == code / 100;
        if passive.statuses.iter().any(is_listed) {
            return Some(Flaw::Status(status));
        }
        let latency = latency?;
        let is_slow = passive.latency.is_some_and(|limit| latency >= limit);
        is_slow.then_some(Flaw::Latency(latency))
    }
}

/// How many failures of an upstream count now.
pub(crate) fn fails(slot: &Slot, now: fn() -> Instant) -> u32 {
    let (count, change) = slot.failures().count(now);
    if change.is_some() {
        note(slot, change, &"no longer as many failures", now());
    }
    count
}

/// Says once that an upstream is healthy or not any more.
fn note(slot: &Slot, change: Option<Change>, cause: &dyn fmt::Display, now: Instant) {
    let upstream = slot.label();
    match change {
        Some(Change::Up) => {
            slot.standing().came(now);
            info!(%upstream, %cause, "the upstream is healthy again");
        }
        Some(Change::Down) => warn!(%upstream, %cause, "the upstream is unhealthy"),
        None => {}
    }
}

// === impl Passive ===

impl Passive {
    fn limit(&self) -> u32 {
        self.most.min(failures::MOST)
    }
}

// === impl Trouble ===

impl Trouble {
    /// In a few words.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Full => "it has as many requests as it may have",
            Self::Checks => "its checks fail",
            Self::Failures => "too many requests to it failed",
            Self::Breaker => "its circuit breaker is open",
        }
    }
}

// === impl Flaw ===

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "it answered with {}", status.as_u16()),
            Self::Latency(latency) => write!(f, "it took {} ms to answer", latency.as_millis()),
        }
    }
}

#[cfg(test)]
mod tests;
