//! One request at several upstreams, one after the other, until one answers.

use std::time::Duration;

use http::{HeaderValue, Request};
use tokio::time::{self, Instant};

use super::exchange::{self, Answered, Beside, Failed, Missed, Prepared};
use super::selection::Ask;
use super::worker::Worker;
use crate::body::{Body, Held};
use crate::error::{Failure, Reason};
use crate::upstream::balance::Candidates;
use crate::upstream::cluster::{Cluster, Upstream};
use crate::upstream::retry::Attempts;

/// Upstreams one of which takes a request.
#[derive(Debug)]
pub(crate) struct Choice<'v> {
    pub(crate) list: &'v [Upstream],
    pub(crate) ask: Ask<'v>,
    /// The one that is asked first, if it can be.
    pub(crate) pinned: Option<usize>,
    /// Whether others may be asked when it fails.
    pub(crate) others: bool,
}

/// The upstreams as the rule sees them now.
struct Seen<'s> {
    choice: &'s Choice<'s>,
    attempts: &'s Attempts,
    cluster: &'s Cluster,
    tier: Tier,
    now: Instant,
    /// An upstream that came takes requests with the chance that its age is beyond this part of its slow start.
    threshold: f64,
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

/// The cookie that leads a client back to the upstream that has answered, on its way with the answer.
#[derive(Clone, Debug)]
pub(super) struct StickyCookie(pub(super) HeaderValue);

/// The upstream that is asked.
#[derive(Clone, Copy, Debug)]
struct Pick<'v> {
    index: usize,
    upstream: &'v Upstream,
}

// === impl Choice ===

impl<'v> Choice<'v> {
    /// The upstream for the next attempt; `None` if there is none now.
    fn pick(&self, worker: &Worker, cluster: &Cluster, attempts: &Attempts) -> Option<Pick<'v>> {
        let index = self.index(worker, cluster, attempts)?;
        let upstream = self.list.get(index)?;
        Some(Pick { index, upstream })
    }

    fn index(&self, worker: &Worker, cluster: &Cluster, attempts: &Attempts) -> Option<usize> {
        // The most frequent case, without a look at the clock.
        if let [only] = self.list
            && attempts.made() == 0
            && only.is_available()
        {
            return Some(0);
        }
        let mut seen = Seen {
            choice: self,
            attempts,
            cluster,
            tier: Tier::Available,
            now: Instant::now(),
            threshold: cluster.slow_start.map_or(0.0, |_| worker.chance()),
        };
        let pinned = || self.pinned.or_else(|| self.ask.sticky.as_ref()?.named);
        let first = (attempts.made() == 0).then(pinned).flatten();
        if let Some(pinned) = first.filter(|pinned| seen.is_free(*pinned)) {
            return Some(pinned);
        }
        let tiers: &[Tier] = if seen.panics() {
            &[Tier::Panic]
        } else {
            &[Tier::Sound, Tier::Available]
        };
        let mut random = || worker.next_random();
        tiers.iter().find_map(|tier| {
            seen.tier = *tier;
            self.ask.rule.choose(&seen, &self.ask.key, &mut random)
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

    fn requests(&self) -> u64 {
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
            self.cluster.slow_start.is_none_or(|time| {
                standing.age(self.now).as_secs_f64() >= time.as_secs_f64() * self.threshold
            })
        };
        !self.attempts.was_last(index) && !standing.is_suspected(|| self.now) && is_warm()
    }

    /// Whether so few are available that their health is not looked at.
    fn panics(&self) -> bool {
        let Some(threshold) = self.cluster.panic_threshold else {
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

    fn label(&self, index: usize) -> &str {
        self.upstream(index)
            .map_or("", |upstream| upstream.slot().label())
    }
}

// === the attempts ===

/// The shortest pause of a request that may not ask a failing upstream now.
const MIN_PAUSE: Duration = Duration::from_millis(50);

/// One request that goes from upstream to upstream.
struct Round<'r, 'v> {
    worker: &'r Worker,
    cluster: &'r Cluster,
    choice: &'r Choice<'v>,
    attempts: Attempts,
    /// The next attempt is not the first one of a request that may have reached an application.
    is_again: bool,
    failed: Option<Failed>,
    /// An answer that was to be replaced by a better one.
    answered: Option<Answered>,
}

/// Asks the upstreams of `choice`, one after the other, as the configuration says.
pub(super) async fn to_any(
    worker: &Worker,
    cluster: &Cluster,
    choice: &Choice<'_>,
    mut request: Box<Request<Body>>,
    beside: &Beside<'_>,
    mut before: Prepared<'_, '_>,
) -> Result<Answered, Failed> {
    let mut round = Round {
        worker,
        cluster,
        choice,
        attempts: Attempts::begin(&cluster.retry, Instant::now),
        is_again: false,
        failed: None,
        answered: None,
    };
    while let Some(pick) = round.next().await {
        let copy = before
            .as_mut()
            .and_then(|(before, cx)| before.copy_of(&request, cx));
        match attempt(worker, cluster, pick.upstream, request, beside, &mut before).await {
            Ok(answered) => {
                let again = copy.filter(|_| round.may_replace(&answered, &mut before));
                let Some(again) = again else {
                    return Ok(round.chosen(pick, answered));
                };
                round.answered = Some(answered);
                round.is_again = true;
                request = again;
            }
            Err(Missed::Unsent(unsent, failure)) => {
                pick.upstream.connect_failed();
                round.fail(pick, failure);
                request = unsent;
            }
            Err(Missed::Sent(failure)) => {
                let may_repeat = before
                    .as_mut()
                    .is_some_and(|(before, cx)| before.resends(&failure, cx));
                round.fail(pick, failure);
                let Some(again) = copy.filter(|_| may_repeat) else {
                    break;
                };
                round.is_again = true;
                request = again;
            }
        }
        if !round.attempts.may_go_on(&cluster.retry, Instant::now) {
            break;
        }
    }
    round.end()
}

/// Sends the request to one upstream.
async fn attempt(
    worker: &Worker,
    cluster: &Cluster,
    upstream: &Upstream,
    mut request: Box<Request<Body>>,
    beside: &Beside<'_>,
    before: &mut Prepared<'_, '_>,
) -> Result<Answered, Missed> {
    let started = cluster.verbose.then(Instant::now);
    let turn = worker.choose(usize::MAX);
    let addresses = match upstream.addresses(cluster.dial_timeout, turn).await {
        Ok(addresses) => addresses,
        Err(failure) => {
            let missed = Err(Missed::Unsent(request, failure));
            exchange::tell(cluster, upstream, started, &missed);
            return missed;
        }
    };
    if let Some((before, cx)) = before {
        before.go_to(upstream.name().host(), upstream.port(), cx, &mut request);
    }
    let in_flight = worker.tally.begin(upstream.slot());
    let began = cluster.measures.then(Instant::now);
    let outcome = exchange::send(worker, cluster, &addresses, request, beside).await;
    exchange::tell(cluster, upstream, started, &outcome);
    let (mut response, address) = outcome?;
    let standing = upstream.slot().standing();
    standing.trust(Instant::now);
    if let Some(began) = began {
        let now = Instant::now();
        standing.measure(now - began, now);
    }
    if let Some(in_flight) = in_flight {
        response.body_mut().hold(Held::Upstream(in_flight));
    }
    Ok((response, address))
}

// === impl Round ===

impl<'v> Round<'_, 'v> {
    /// The upstream that is asked next, once one is free; `None` if there is none in time.
    async fn next(&mut self) -> Option<Pick<'v>> {
        loop {
            let pick = self.choice.pick(self.worker, self.cluster, &self.attempts);
            if let Some(pick) = pick.filter(|pick| self.affords(pick.upstream)) {
                if self.attempts.made() > 0 {
                    self.worker.counters.retries.add();
                }
                self.attempts.attempt(pick.index);
                return Some(pick);
            }
            let pause = self.attempts.next_round(&self.cluster.retry, Instant::now)?;
            // One that is free and may not be asked would be found again at once.
            let least = if pick.is_some() { MIN_PAUSE } else { Duration::ZERO };
            time::sleep(pause.max(least)).await;
        }
    }

    /// Whether an attempt at `upstream` is a first one, adds nothing to the load of one that is failing, or is within the
    /// budget.
    fn affords(&self, upstream: &Upstream) -> bool {
        let is_first = self.attempts.made() == 0;
        let is_free = is_first || !self.is_again && !upstream.slot().standing().is_failing();
        is_free || self.cluster.budget.take(self.choice.requests(), Instant::now())
    }

    /// Whether the configuration wants a better answer, and another attempt may be made for it.
    fn may_replace(&self, answered: &Answered, before: &mut Prepared<'_, '_>) -> bool {
        let wants_better = |(before, cx): &mut (&mut exchange::Before<'_>, &mut crate::request::Context)| {
            before.refuses(&answered.0, cx)
        };
        self.attempts.may_go_on(&self.cluster.retry, Instant::now)
            && before.as_mut().is_some_and(wants_better)
    }

    fn fail(&mut self, pick: Pick<'_>, failure: Failure) {
        self.failed = Some(Failed {
            failure,
            upstream: pick.upstream.to_string(),
        });
    }

    /// The answer of the upstream that was picked, with the cookie that leads there.
    fn chosen(&self, pick: Pick<'_>, (mut response, address): Answered) -> Answered {
        let stuck = self.choice.ask.sticky.as_ref();
        if let Some(cookie) = stuck.and_then(|stuck| stuck.cookie(pick.index, pick.upstream)) {
            response.extensions_mut().insert(StickyCookie(cookie));
        }
        (response, address)
    }

    /// No further attempt is made.
    fn end(self) -> Result<Answered, Failed> {
        if let Some(answered) = self.answered {
            return Ok(answered);
        }
        // One rule, whoever was first to find out: while none is available, the answer says so.
        let any = self.choice.list.iter().any(Upstream::is_available);
        Err(match self.failed {
            Some(failed) if any => failed,
            Some(Failed { failure, upstream }) => Failed {
                failure: Failure::from(Reason::NoUpstream).with_source(failure),
                upstream,
            },
            None => Reason::NoUpstream.into(),
        })
    }
}
