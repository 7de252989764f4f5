//! Which upstream a request goes to next.

use std::ops::Deref;

use consul_upstreams::{LookupError, Tier as Instances};
use tokio::time::Instant;

use super::selection::Ask;
use super::worker::Worker;
use crate::error::{Failure, Reason};
use crate::upstream::balance::Candidates;
use crate::upstream::breaker::{IsOpen, Pass};
use crate::upstream::cluster::{Cluster, Upstream};
use crate::upstream::discovery::Found;
use crate::upstream::health::Trouble;
use crate::upstream::retry::Attempts;

/// Upstreams one of which takes a request.
#[derive(Debug)]
pub(crate) struct Choice<'v> {
    pub(crate) list: List<'v>,
    pub(crate) ask: Ask<'v>,
    /// The one that is asked first, if it can be.
    pub(crate) pinned: Option<usize>,
    /// Whether others may be asked when it fails.
    pub(crate) others: bool,
}

/// The upstreams of one request.
#[derive(Debug)]
pub(crate) enum List<'v> {
    Fixed(&'v [Upstream]),
    /// What was found out when the request came. A later change is seen when its attempts begin anew.
    Found(Box<Found<'v>>),
}

/// The upstreams as the rule sees them now.
struct Seen<'s> {
    choice: &'s Choice<'s>,
    attempts: &'s Attempts,
    cluster: &'s Cluster,
    tier: Tier,
    now: Instant,
    /// What [`SlowStart::is_warm`](crate::upstream::cluster::SlowStart::is_warm) goes by.
    threshold: f64,
    /// One that fails is passed over if this is below the part of its requests that others get; `None`: none is.
    shed: Option<f64>,
}

/// Who may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    /// Those of which nothing bad is known, and that are warm.
    Sound,
    /// All that are available.
    Available,
    /// All, whatever is known of their health.
    Panic,
}

/// The upstream that is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick {
    pub(super) index: usize,
    /// Whatever is known of its health.
    is_panic: bool,
}

/// What a client is told to wait at most, in seconds.
const MOST_WAIT: u8 = 60;

/// What it is told if nothing is known.
const UNKNOWN_WAIT: u8 = 5;

// === impl List ===

impl Deref for List<'_> {
    type Target = [Upstream];

    fn deref(&self) -> &[Upstream] {
        match self {
            Self::Fixed(list) => list,
            Self::Found(found) => found.list(),
        }
    }
}

impl List<'_> {
    /// Which instances Consul's are, if it has told any.
    pub(crate) fn tier(&self) -> Option<Instances> {
        match self {
            Self::Fixed(_) => None,
            Self::Found(found) => found.tier(),
        }
    }

    /// Why Consul told nothing.
    fn failed(&self) -> Option<&LookupError> {
        match self {
            Self::Fixed(_) => None,
            Self::Found(found) => found.failed(),
        }
    }

    fn is_weighted(&self) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::Found(found) => found.is_weighted(),
        }
    }
}

// === impl Choice ===

impl Choice<'_> {
    /// The upstream for the next attempt; `None` if there is none now.
    pub(super) fn pick(&self, worker: &Worker, cluster: &Cluster, attempts: &Attempts) -> Option<Pick> {
        let (index, tier) = self.index(worker, cluster, attempts)?;
        let is_panic = tier == Tier::Panic;
        Some(Pick { index, is_panic })
    }

    /// Begins a request to it, if its circuit breaker lets it through.
    pub(super) fn enter(&self, pick: Pick) -> Result<Option<Pass<'_>>, Trouble> {
        match self.list.get(pick.index) {
            Some(upstream) if !pick.is_panic => upstream.health().enter(Instant::now),
            _ => Ok(None),
        }
    }

    /// Whether a source can be asked for upstreams again before another attempt is made.
    pub(super) fn can_look_again(&self) -> bool {
        matches!(&self.list, List::Found(found) if found.has_consul())
    }

    /// Takes the upstreams of now, for attempts that begin anew. Consul is asked again.
    pub(super) async fn renew(&mut self) -> bool {
        let is_other = match &mut self.list {
            List::Fixed(_) => false,
            List::Found(found) => found.look_again().await,
        };
        if let Some(stuck) = self.ask.sticky.as_mut().filter(|_| is_other) {
            stuck.named = None;
        }
        is_other
    }

    fn index(&self, worker: &Worker, cluster: &Cluster, attempts: &Attempts) -> Option<(usize, Tier)> {
        // The most frequent case, without a look at the clock.
        if let [only] = &*self.list
            && attempts.made() == 0
            && only.is_available()
        {
            return Some((0, Tier::Available));
        }
        let mut seen = Seen {
            choice: self,
            attempts,
            cluster,
            tier: Tier::Available,
            now: Instant::now(),
            threshold: cluster.slow_start().map_or(0.0, |_| worker.chance()),
            shed: None,
        };
        seen.shed = seen.may_shed().then(|| worker.chance());
        let pinned = || self.pinned.or_else(|| self.ask.sticky.as_ref()?.named);
        let first = (attempts.made() == 0).then(pinned).flatten();
        if let Some(pinned) = first.filter(|pinned| seen.is_free(*pinned)) {
            return Some((pinned, Tier::Available));
        }
        let tiers: &[Tier] = if seen.panics() {
            &[Tier::Panic]
        } else {
            &[Tier::Sound, Tier::Available]
        };
        let mut random = || worker.next_random();
        tiers.iter().find_map(|tier| {
            seen.tier = *tier;
            let index = self.ask.rule.choose(&seen, &self.ask.key, &mut random)?;
            Some((index, *tier))
        })
    }

    /// The places of upstreams in the order in which they would be asked, if all refused.
    pub(crate) fn order(&self, worker: &Worker, cluster: &Cluster) -> Vec<usize> {
        let mut attempts = Attempts::default();
        let mut order = Vec::new();
        while let Some(pick) = self.pick(worker, cluster, &attempts) {
            attempts.attempt(pick.index);
            order.push(pick.index);
        }
        order
    }

    /// Upstreams that are passed over, and why.
    pub(crate) fn skipped(&self) -> Vec<(String, &'static str)> {
        let skipped = self.list.iter().filter_map(|upstream| {
            let trouble = upstream.trouble()?;
            Some((upstream.to_string(), trouble.as_str()))
        });
        skipped.collect()
    }

    /// While none is available: the whole seconds until one may be.
    fn retry_after(&self) -> u8 {
        let now = Instant::now();
        let waits = self.list.iter().filter_map(|upstream| upstream.waits(now));
        waits.min().map_or(UNKNOWN_WAIT, |wait| {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            u8::try_from(seconds).unwrap_or(MOST_WAIT).clamp(1, MOST_WAIT)
        })
    }

    /// Why a request fails while none is available.
    pub(super) fn unavailable(&self) -> Failure {
        let failure = Failure::from(Reason::NoUpstream).with_retry_after(self.retry_after());
        let mut troubles = self.list.iter().map(Upstream::trouble);
        match self.list.failed() {
            Some(error) => failure.with_source(error.clone()),
            None if !self.list.is_empty() && troubles.all(|trouble| trouble == Some(Trouble::Breaker)) => {
                failure.with_source(IsOpen)
            }
            None => failure,
        }
    }

    /// All requests that they have had.
    pub(super) fn requests(&self) -> u64 {
        self.list.iter().map(|upstream| upstream.slot().begun()).sum()
    }
}

// === impl Seen ===

impl Seen<'_> {
    fn upstream(&self, index: usize) -> Option<&Upstream> {
        self.choice.list.get(index)
    }

    /// Whether it may be asked as far as this request is concerned.
    fn is_eligible(&self, index: usize) -> bool {
        (self.choice.others || self.choice.pinned == Some(index)) && !self.attempts.has_tried(index)
    }

    fn is_sound(&self, index: usize, upstream: &Upstream) -> bool {
        let standing = upstream.slot().standing();
        let is_warm = || {
            self.cluster
                .slow_start()
                .is_none_or(|slow| slow.is_warm(standing.age(self.now), self.threshold))
        };
        !self.attempts.was_last(index)
            && !standing.is_suspected(|| self.now)
            && is_warm()
            && !self.shed.is_some_and(|chance| chance < self.shed_part(upstream))
    }

    /// The part of its requests that others get.
    fn shed_part(&self, upstream: &Upstream) -> f64 {
        let shed = upstream.health().shed.as_ref();
        shed.map_or(0.0, |shed| shed.part(self.now))
    }

    /// Whether so few fail that others can have a part of their requests.
    fn may_shed(&self) -> bool {
        let Some(most) = self.cluster.most_shed() else {
            return false;
        };
        let all = &self.choice.list;
        let failing = all
            .iter()
            .filter(|upstream| self.shed_part(upstream) > 0.0)
            .count();
        #[expect(clippy::cast_precision_loss, reason = "nobody has so many upstreams")]
        let part = failing as f64 / all.len().max(1) as f64;
        failing > 0 && part <= most
    }

    /// Whether so few are available that their health is not looked at.
    fn panics(&self) -> bool {
        let Some(threshold) = self.cluster.panic_threshold() else {
            return false;
        };
        let available = self
            .choice
            .list
            .iter()
            .filter(|upstream| upstream.is_available())
            .count();
        let panics =
            available.saturating_mul(100) < self.choice.list.len().saturating_mul(threshold as usize);
        self.cluster.note_panic(panics);
        panics
    }
}

impl Candidates for Seen<'_> {
    fn len(&self) -> usize {
        self.choice.list.len()
    }

    fn is_free(&self, index: usize) -> bool {
        let Some(upstream) = self.upstream(index).filter(|_| self.is_eligible(index)) else {
            return false;
        };
        match self.tier {
            Tier::Sound => upstream.is_available() && self.is_sound(index, upstream),
            Tier::Available => upstream.is_available(),
            Tier::Panic => upstream.has_room(),
        }
    }

    fn load(&self, index: usize) -> u32 {
        self.upstream(index)
            .map_or(0, |upstream| upstream.slot().in_flight())
    }

    fn latency(&self, index: usize) -> f64 {
        self.upstream(index)
            .map_or(0.0, |upstream| upstream.slot().standing().latency())
    }

    fn is_weighted(&self) -> bool {
        self.choice.list.is_weighted()
    }

    fn weight(&self, index: usize) -> u16 {
        self.upstream(index).map_or(1, Upstream::weight)
    }

    fn label(&self, index: usize) -> &str {
        self.upstream(index)
            .map_or("", |upstream| upstream.slot().label())
    }
}
