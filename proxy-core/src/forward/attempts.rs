//! One request at several upstreams, one after the other, until one answers.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request};
use tokio::time::{self, Instant};

use super::before::Before;
use super::choice::{Choice, Pick};
use super::exchange::{self, Answered, Beside, Failed, Missed, Prepared, Reached};
use super::worker::Worker;
use crate::body::{Body, Held};
use crate::error::{Failure, Phase, Reason, Side};
use crate::upstream::breaker::Pass;
use crate::upstream::cluster::{Addresses, Cluster, Upstream};
use crate::upstream::health::Flaw;
use crate::upstream::retry::Attempts;

/// The cookie that leads a client back to the upstream that has answered, on its way with the answer.
#[derive(Clone, Debug)]
pub(super) struct StickyCookie(pub(super) HeaderValue);

// === the attempts ===

/// The shortest pause of a request that may not ask a failing upstream now.
const MIN_PAUSE: Duration = Duration::from_millis(50);

/// One request that goes from upstream to upstream.
struct Round<'r, 'v> {
    worker: &'r Worker,
    cluster: &'r Cluster,
    choice: &'r mut Choice<'v>,
    attempts: Attempts,
    /// The next attempt is not the first one of a request that may have reached an application.
    is_again: bool,
    failed: Option<Failed>,
    /// An answer that was to be replaced by a better one.
    answered: Option<(Answered, Upstream, Option<Flaw>)>,
}

/// Asks the upstreams of `choice`, one after the other, as the configuration says.
pub(super) async fn to_any(
    worker: &Worker,
    cluster: &Cluster,
    choice: &mut Choice<'_>,
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
        let index = pick.index;
        let Some(upstream) = round.choice.list.get(index) else {
            break;
        };
        let Ok(pass) = round.choice.enter(pick) else {
            // Another request has taken the place since.
            round.attempts.pass_over(index);
            continue;
        };
        if round.attempts.made() > 0 {
            worker.counters.retries.add();
        }
        round.attempts.attempt(index);
        let copy = before
            .as_mut()
            .and_then(|(before, cx)| before.copy_of(&request, cx));
        match attempt(worker, cluster, (upstream, pass), request, beside, &mut before).await {
            Ok((answered, flaw)) => {
                let again = copy.filter(|_| round.may_replace(&answered, &mut before));
                let Some(again) = again else {
                    flaw.into_iter().for_each(|flaw| upstream.flawed(flaw));
                    return Ok(round.chosen(index, answered));
                };
                round.answered = Some((answered, upstream.clone(), flaw));
                round.is_again = true;
                request = again;
            }
            Err(Missed::Unsent(unsent, failure)) => {
                // Whoever has too much to do can be reached.
                if failure.reason != Reason::Busy {
                    upstream.connect_failed();
                }
                round.failed = Some(Failed::at(upstream, failure));
                request = unsent;
            }
            Err(Missed::Sent(failure)) => {
                let may_repeat = before
                    .as_mut()
                    .is_some_and(|(before, cx)| before.resends(&failure, cx));
                round.failed = Some(Failed::at(upstream, failure));
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
        round.look_again().await;
        if let Some((_, cx)) = &mut before {
            cx.note_tier(round.choice.list.tier());
        }
    }
    round.end()
}

/// Sends the request to one upstream.
async fn attempt(
    worker: &Worker,
    cluster: &Cluster,
    (upstream, pass): (&Upstream, Option<Pass<'_>>),
    mut request: Box<Request<Body>>,
    beside: &Beside<'_>,
    before: &mut Prepared<'_, '_>,
) -> Result<(Answered, Option<Flaw>), Missed> {
    let started = cluster.verbose.then(Instant::now);
    let turn = worker.choose(usize::MAX);
    let addresses = match upstream.addresses(cluster.transport.dial.timeout, turn).await {
        Ok(addresses) => addresses,
        Err(failure) => {
            upstream.failed(pass, &failure);
            let missed = Err(Missed::Unsent(request, failure));
            exchange::tell(cluster, upstream, started, &missed);
            return missed.map(|answered| (answered, None));
        }
    };
    if let Some(answered) = refused(cluster, upstream, &addresses) {
        let flaw = upstream.answered(pass, answered.0.status(), None);
        return Ok((answered, flaw));
    }
    if let Some((before, cx)) = before {
        before.go_to(upstream.host(), upstream.way(), cx, &mut request);
    }
    let in_flight = worker.tally.begin(upstream.slot());
    let is_timed = cluster.measures || upstream.health().is_timed();
    let began = is_timed.then(Instant::now);
    let sending = exchange::send(worker, cluster, &addresses, request, beside);
    let outcome = match beside.deadline {
        None => sending.await,
        // The upstream is told of it, so it is not enough that the whole request ends then.
        Some(deadline) => match time::timeout_at(deadline, Box::pin(sending)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Missed::Sent(
                Failure::from(Reason::TimedOut).with_phase(Phase::Wait),
            )),
        },
    };
    exchange::tell(cluster, upstream, started, &outcome);
    let (mut response, address) = match outcome {
        Ok(answered) => answered,
        Err(missed) => {
            let (Missed::Unsent(_, failure) | Missed::Sent(failure)) = &missed;
            // What the client does is not held against the upstream.
            if failure.reason.side() == Side::Upstream {
                upstream.failed(pass, failure);
            }
            return Err(missed);
        }
    };
    let standing = upstream.slot().standing();
    standing.trust(Instant::now);
    let latency = began.map(|began| {
        let now = Instant::now();
        if cluster.measures {
            standing.measure(now - began, now);
        }
        now - began
    });
    let flaw = upstream.answered(pass, response.status(), latency);
    if let Some(in_flight) = in_flight {
        response.body_mut().hold(Held::Upstream(in_flight));
    }
    Ok(((response, address), flaw))
}

/// The answer to a request that is one more than the upstream gets in a time.
fn refused(cluster: &Cluster, upstream: &Upstream, addresses: &Addresses) -> Option<Answered> {
    let (limit, limits) = cluster.limit()?;
    let now = Instant::now().into_std();
    let refusal = limits.refusal(limit, upstream.slot().label(), now)?;
    Some((refusal.map(Body::from), Reached::At(addresses.first()?)))
}

// === impl Round ===

impl Round<'_, '_> {
    /// The upstream that is asked next, once one is free; `None` if there is none in time.
    async fn next(&mut self) -> Option<Pick> {
        loop {
            let pick = self.choice.pick(self.worker, self.cluster, &self.attempts);
            if let Some(pick) = pick.filter(|pick| self.affords(pick.index)) {
                return Some(pick);
            }
            let pause = self.attempts.next_round(&self.cluster.retry, Instant::now)?;
            // One that is free and may not be asked would be found again at once.
            let least = if pick.is_some() { MIN_PAUSE } else { Duration::ZERO };
            time::sleep(pause.max(least)).await;
            if self.renew().await {
                self.attempts.forget_last();
            }
        }
    }

    /// Takes the upstreams of now, if that does not take too long. Says whether they are others than before.
    async fn renew(&mut self) -> bool {
        let patience = self.cluster.transport.dial.timeout;
        time::timeout(patience, self.choice.renew())
            .await
            .unwrap_or(false)
    }

    /// Before another attempt is made Consul is asked again, as it may know more by now. Those that were tried in this
    /// round stay so, wherever they stand.
    async fn look_again(&mut self) {
        if !self.choice.can_look_again() {
            return;
        }
        let tried = |(index, upstream): (usize, &Upstream)| {
            let is_last = self.attempts.was_last(index);
            (is_last || self.attempts.has_tried(index)).then(|| (Arc::clone(upstream.slot()), is_last))
        };
        let tried: Vec<_> = self.choice.list.iter().enumerate().filter_map(tried).collect();
        if !self.renew().await {
            return;
        }
        self.attempts.forget_places();
        for (index, upstream) in self.choice.list.iter().enumerate() {
            let before = tried.iter().find(|(slot, _)| Arc::ptr_eq(slot, upstream.slot()));
            if let Some((_, is_last)) = before {
                self.attempts.remember(index, *is_last);
            }
        }
    }

    /// Whether an attempt at the upstream at `index` is a first one, adds nothing to the load of one that is failing, or is within the
    /// budget.
    fn affords(&self, index: usize) -> bool {
        let is_first = self.attempts.made() == 0;
        let is_failing = |upstream: &Upstream| upstream.slot().standing().is_failing();
        let is_free = is_first || !self.is_again && !self.choice.list.get(index).is_some_and(is_failing);
        is_free || self.cluster.budget.take(self.choice.requests(), Instant::now())
    }

    /// Whether the configuration wants a better answer, and another attempt may be made for it.
    fn may_replace(&self, answered: &Answered, before: &mut Prepared<'_, '_>) -> bool {
        let wants_better = |(before, cx): &mut (&mut Before<'_>, &mut crate::request::Context)| {
            before.refuses(&answered.0, cx)
        };
        self.attempts.may_go_on(&self.cluster.retry, Instant::now)
            && before.as_mut().is_some_and(wants_better)
    }

    /// The answer of the upstream that was picked, with the cookie that leads there.
    fn chosen(&self, index: usize, (mut response, address): Answered) -> Answered {
        let stuck = self.choice.ask.sticky.as_ref().zip(self.choice.list.get(index));
        if let Some(cookie) = stuck.and_then(|(stuck, upstream)| stuck.cookie(index, upstream)) {
            response.extensions_mut().insert(StickyCookie(cookie));
        }
        (response, address)
    }

    /// No further attempt is made.
    fn end(self) -> Result<Answered, Failed> {
        if let Some((answered, upstream, flaw)) = self.answered {
            flaw.into_iter().for_each(|flaw| upstream.flawed(flaw));
            return Ok(answered);
        }
        // One rule, whoever was first to find out: while none is available, the answer says so.
        let any = self.choice.list.iter().any(Upstream::is_available);
        Err(match self.failed {
            Some(failed) if any => failed,
            Some(Failed { failure, upstream }) => Failed {
                failure: self.choice.unavailable().with_source(failure),
                upstream,
            },
            None => self.choice.unavailable().into(),
        })
    }
}
