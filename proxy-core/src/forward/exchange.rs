//! One request to one of several upstreams: choosing, connecting, sending, and trying elsewhere only as
//! long as no byte can have reached an application.

use std::net::SocketAddr;

use http::header::{self, HeaderMap};
use http::{Request, Response, StatusCode};
use tokio::time::Instant;
use tracing::debug;

use super::addresses::{Choices, Pod};
use super::attempts;
use super::choice::Choice;
use super::interim::Interim;
use super::worker::Worker;
use crate::body::{Body, Held};
use crate::error::{Failure, Phase, Reason, Side};
use crate::facts::Chosen;
use crate::http::forwarded::Added;
use crate::request::{self, Context};
use crate::routing::header_ops::{self, HeaderOps};
use crate::routing::matcher::MatcherSet;
use crate::upstream::channel::{Channel, Fate, Home, SendFailure};
use crate::upstream::cluster::{Cluster, Upstream};
use crate::upstream::gate::{Grant, Permit};
use crate::upstream::transport::{Purpose, Transport, Way};

/// How many kept connections may prove dead before a new one is opened.
const MAX_STALE: usize = 4;

/// Where a request may go.
#[derive(Debug)]
pub(crate) enum Target<'v> {
    /// To this pod of `server` and nowhere else. A refused connection is answered with `dead_status`.
    Pod {
        address: SocketAddr,
        server: &'v Upstream,
        dead_status: StatusCode,
    },
    /// To one of several upstreams.
    Any(Choice<'v>),
}

/// What belongs to a request beside itself, at whichever upstream.
#[derive(Debug)]
pub(crate) struct Beside<'c> {
    /// What is done with interim answers.
    pub(crate) interim: Interim<'c>,
    /// Fields that are sent with it.
    pub(crate) added: Added,
    /// What a connection for it must be.
    pub(crate) purpose: Purpose,
}

/// What is done before a request goes to an upstream, at each that is tried.
#[derive(Debug, Default)]
pub(crate) struct Before<'v> {
    /// Changes to these fields, which are those of the request so far.
    pub(crate) changes: Option<(&'v HeaderOps, HeaderMap)>,
    /// Placeholders ask where the request went.
    pub(crate) notes: bool,
    /// When it may be sent again although it may have reached an application.
    pub(crate) resend: Option<&'v Resend>,
    /// Upstreams are told their own host and port as the Host, unless the changes say otherwise.
    pub(crate) sets_host: bool,
}

/// `lb_retry_match`: what is sent again.
#[derive(Debug)]
pub(crate) struct Resend {
    /// A request that failed after bytes of it were sent, if any of these sets matches.
    pub(crate) requests: Vec<MatcherSet>,
    /// Those that ask about answers: an answer is replaced if any of them matches.
    pub(crate) answers: Vec<MatcherSet>,
}

/// [`Before`] and the request that it is about; boxed rarely, as most requests have none.
pub(super) type Prepared<'e, 'v> = Option<(&'e mut Before<'v>, &'e mut Context)>;

/// What became of a request at one upstream that did not answer.
pub(super) enum Missed {
    /// No byte was sent: it may go elsewhere.
    Unsent(Box<Request<Body>>, Failure),
    /// It may have reached an application.
    Sent(Failure),
}

/// A failure, with the upstream that caused it.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    pub(crate) upstream: String,
}

// === impl Failed ===

impl Failed {
    pub(super) fn at(upstream: &Upstream, failure: Failure) -> Self {
        let upstream = upstream.to_string();
        Self { failure, upstream }
    }
}

impl<F: Into<Failure>> From<F> for Failed {
    fn from(failure: F) -> Self {
        Self {
            failure: failure.into(),
            upstream: String::new(),
        }
    }
}

// === impl Before ===

impl Before<'_> {
    /// Whether there is anything to do.
    pub(crate) fn is_any(&self) -> bool {
        self.notes || self.sets_host || self.changes.is_some() || self.resend.is_some()
    }

    /// A copy of `request`, if it may have to be sent again.
    pub(super) fn copy_of(&self, request: &Request<Body>, cx: &mut Context) -> Option<Box<Request<Body>>> {
        let resend = self.resend?;
        let by_request = |set: &MatcherSet| set.matches(cx).unwrap_or(false);
        let may_be_sent = !resend.answers.is_empty() || resend.requests.iter().any(by_request);
        may_be_sent.then(|| request::copy(request)).flatten()
    }

    /// Whether the request is sent again after `failure`, although bytes of it were sent.
    pub(super) fn resends(&self, failure: &Failure, cx: &mut Context) -> bool {
        // A client that fails would fail again.
        let Some(resend) = self.resend.filter(|_| failure.reason.side() == Side::Upstream) else {
            return false;
        };
        if let Some(facts) = &mut cx.facts {
            facts.transport_error = true;
        }
        let sent_again = resend.requests.iter().any(|set| set.matches(cx).unwrap_or(false));
        if let Some(facts) = &mut cx.facts {
            facts.transport_error = false;
        }
        sent_again
    }

    /// Whether a better answer than this one is wanted.
    pub(super) fn refuses(&self, response: &Response<Body>, cx: &mut Context) -> bool {
        let Some(resend) = self.resend.filter(|resend| !resend.answers.is_empty()) else {
            return false;
        };
        let mut told = Response::new(Body::empty());
        *told.status_mut() = response.status();
        *told.headers_mut() = response.headers().clone();
        let before = cx.caught.replace(Box::new(told));
        let refused = resend.answers.iter().any(|set| set.matches(cx).unwrap_or(false));
        cx.caught = before;
        refused
    }

    pub(super) fn go_to(
        &self,
        (host, port): (&str, u16),
        way: &Way,
        cx: &mut Context,
        request: &mut Request<Body>,
    ) {
        if let Some(facts) = &mut cx.facts {
            facts.retries = facts
                .upstream
                .as_ref()
                .map_or(0, |_| facts.retries.saturating_add(1));
            facts.upstream = Some(Chosen {
                host: host.to_owned(),
                port,
                latency: None,
            });
            facts.sent = Some(Instant::now());
        }
        if let Some((ops, fields)) = &self.changes {
            let mut fields = fields.clone();
            set_host(way, &mut fields);
            change_request(ops, cx, &mut fields);
            if !fields.contains_key(header::HOST) {
                set_host(way, &mut fields);
            }
            *request.headers_mut() = fields;
        } else {
            set_host(way, request.headers_mut());
        }
    }
}

fn set_host(way: &Way, fields: &mut HeaderMap) {
    if let Some(host) = &way.host {
        fields.insert(header::HOST, host.clone());
    }
}

/// Changes the fields of a request to an upstream, or of its answer. Those that frame a message or concern one
/// connection are not among them.
pub(crate) fn change(ops: &HeaderOps, cx: &Context, fields: &mut HeaderMap) {
    ops.apply(&mut header_ops::Beside { cx, fields });
}

/// The same for a request, which has one host at most. What a client wrote into a placeholder's value may be none:
/// then it is empty, as in Caddy.
pub(crate) fn change_request(ops: &HeaderOps, cx: &Context, fields: &mut HeaderMap) {
    change(ops, cx, fields);
    let mut hosts = fields.get_all(header::HOST).iter();
    let Some(first) = hosts.next() else { return };
    let host = hosts.next().unwrap_or(first).clone();
    fields.insert(header::HOST, request::valid_host(&host));
}

// === the exchange ===

/// An answer's head, and the address that gave it.
pub(crate) type Answered = (Response<Body>, SocketAddr);

/// Sends `request` and gives the answer's head as soon as it is there. The request is boxed, as it is handed
/// down through many calls.
pub(crate) async fn exchange(
    worker: &Worker,
    cluster: &Cluster,
    target: &mut Target<'_>,
    request: Box<Request<Body>>,
    beside: &Beside<'_>,
    mut before: Prepared<'_, '_>,
) -> Result<Answered, Failed> {
    match *target {
        Target::Pod {
            address,
            server,
            dead_status,
        } => {
            let mut request = request;
            let pod = Pod {
                address,
                way: server.way(),
            };
            if let Some((before, cx)) = &mut before {
                let host = address.ip().to_string();
                before.go_to((&host, address.port()), pod.way, cx, &mut request);
            }
            let visit = worker.pods.visit(address, server.slot(), worker.seconds());
            let answered = to_pod(worker, cluster, &pod, dead_status, request, beside).await;
            answered.map(|(mut response, address)| {
                if let Some(mut visit) = visit {
                    visit.answered();
                    response.body_mut().hold(Held::Pod(visit));
                }
                (response, address)
            })
        }
        Target::Any(ref mut choice) => {
            attempts::to_any(worker, cluster, choice, request, beside, before).await
        }
    }
}

/// A line for one attempt at an upstream, for those who want to see each.
pub(super) fn tell(
    cluster: &Cluster,
    upstream: &impl std::fmt::Display,
    began: Option<Instant>,
    outcome: &Result<Answered, Missed>,
) {
    let Some(began) = began.filter(|_| cluster.verbose) else {
        return;
    };
    let took = began.elapsed();
    match outcome {
        Ok((response, address)) => {
            debug!(%upstream, %address, status = response.status().as_u16(), ?took, "upstream answered");
        }
        Err(missed) => {
            let (sent, failure) = match missed {
                Missed::Unsent(_, failure) => (false, failure),
                Missed::Sent(failure) => (true, failure),
            };
            debug!(%upstream, reason = %failure, sent, ?took, "upstream did not answer");
        }
    }
}

async fn to_pod(
    worker: &Worker,
    cluster: &Cluster,
    pod: &Pod<'_>,
    dead_status: StatusCode,
    request: Box<Request<Body>>,
    beside: &Beside<'_>,
) -> Result<Answered, Failed> {
    let began = cluster.verbose.then(Instant::now);
    let outcome = send(worker, cluster, pod, request, beside).await;
    tell(cluster, &pod.address, began, &outcome);
    let missed = match outcome {
        Ok(answered) => return Ok(answered),
        Err(missed) => missed,
    };
    let (failure, gone) = match missed {
        Missed::Unsent(_, failure) => {
            let refused = failure.reason == Reason::Refused;
            (failure, refused)
        }
        // The connection broke: of a pod that was killed, or of one that lives on.
        Missed::Sent(failure) if failure.reason == Reason::Closed => {
            let refused = refuses(worker, cluster, pod).await;
            (failure, refused)
        }
        Missed::Sent(failure) => (failure, false),
    };
    // The process is gone, and the sessions that the token stands for went with it.
    let failure = if gone {
        Failure::from(Reason::DeadPod).with_status(dead_status)
    } else {
        failure
    };
    Err(Failed {
        failure,
        upstream: pod.address.to_string(),
    })
}

/// Whether nobody listens at `pod` any more. Nothing of a request is sent.
async fn refuses(worker: &Worker, cluster: &Cluster, pod: &Pod<'_>) -> bool {
    let probe = cluster
        .transport
        .connect(&worker.connector, pod.way, pod.all(), Purpose::default());
    matches!(Box::pin(probe).await, Err(failure) if failure.reason == Reason::Refused)
}

/// Sends over a kept connection if there is one, else over a new one.
pub(super) async fn send(
    worker: &Worker,
    cluster: &Cluster,
    addresses: &impl Choices,
    mut request: Box<Request<Body>>,
    beside: &Beside<'_>,
) -> Result<Answered, Missed> {
    let transport = &cluster.transport;
    let (way, purpose) = (addresses.way(), beside.purpose);
    let home = home(worker, transport, way);
    let mut tries = MAX_STALE;
    loop {
        let take = || {
            let key = transport.key(way, addresses.first()?, purpose);
            worker.pool.take(key, way.protocol(purpose))
        };
        let kept = if tries > 0 && way.gate.is_none() {
            take()
        } else {
            None
        };
        let (channel, is_kept) = match kept {
            Some(channel) => (channel, true),
            // Boxed, as it is large and rare: every request's future would carry the room for it.
            None => match Box::pin(enter(worker, cluster, addresses, purpose)).await {
                Ok(opened) => opened,
                Err(failure) => return Err(Missed::Unsent(request, failure)),
            },
        };
        let address = channel.address();
        let answer = channel.send(
            request,
            beside.added.fields(),
            &transport.head_limits,
            home,
            |head| {
                beside.interim.pass_on(head);
            },
        );
        let answer = match transport.head_timeout {
            None => answer.await,
            Some(limit) => match tokio::time::timeout(limit, Box::pin(answer)).await {
                Ok(answer) => answer,
                Err(_) => {
                    let failure = Failure::from(Reason::TimedOut).with_phase(Phase::Wait);
                    return Err(Missed::Sent(failure));
                }
            },
        };
        let SendFailure { fate, failure } = match answer {
            Ok(response) => return Ok((response, address)),
            Err(failed) => failed,
        };
        match fate {
            Fate::Unsent(unsent) if is_kept && tries > 0 => {
                tries -= 1;
                request = unsent;
            }
            Fate::Repeatable(again) => {
                worker.counters.retries.add();
                tries = 0;
                request = again;
            }
            // Once more: the next connection may have room for it.
            Fate::Refused(again) if tries > 0 => {
                worker.counters.retries.add();
                tries = 0;
                request = again;
            }
            Fate::Refused(unsent) | Fate::Unsent(unsent) => return Err(Missed::Unsent(unsent, failure)),
            Fate::Sent => return Err(Missed::Sent(failure)),
        }
    }
}

/// Where connections by `way` are kept, if they are.
fn home<'h>(worker: &'h Worker, transport: &Transport, way: &'h Way) -> Option<Home<'h>> {
    transport.keep.map(|limits| Home {
        pool: &worker.pool,
        limits,
        gate: way.gate.as_ref(),
        worker: worker.number,
    })
}

/// Opens a connection, once there may be one more; or gives one that became free meanwhile, and says so.
async fn enter(
    worker: &Worker,
    cluster: &Cluster,
    addresses: &impl Choices,
    purpose: Purpose,
) -> Result<(Channel, bool), Failure> {
    let (way, first) = (addresses.way(), addresses.first());
    let Some((gate, first)) = way.gate.as_ref().zip(first) else {
        let opened = open(worker, cluster, addresses, purpose, None).await?;
        return Ok((opened, false));
    };
    let key = cluster.transport.key(way, first, purpose);
    match gate.enter(key, way.protocol(purpose), worker.number).await? {
        Grant::Channel(channel) => Ok((channel, true)),
        Grant::Permit(permit) => {
            let opened = open(worker, cluster, addresses, purpose, Some(permit)).await?;
            Ok((opened, false))
        }
    }
}

async fn open(
    worker: &Worker,
    cluster: &Cluster,
    addresses: &impl Choices,
    purpose: Purpose,
    permit: Option<Permit>,
) -> Result<Channel, Failure> {
    worker.counters.upstream_connects.add();
    let transport = &cluster.transport;
    let way = addresses.way();
    let mut connected = transport
        .connect(&worker.connector, way, addresses.all(), purpose)
        .await?;
    if let Some(permit) = permit {
        connected.stream = permit.hold(connected.stream);
    }
    let address = connected.address;
    let key = transport.key(way, address, purpose);
    let home = home(worker, transport, way);
    let opened = Channel::open(connected, key, &transport.head_limits, &worker.background, home).await?;
    if addresses.by_name() {
        worker.pool.named(address.ip());
    }
    Ok(opened)
}
