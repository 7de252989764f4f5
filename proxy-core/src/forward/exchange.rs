//! One request to one of several upstreams: choosing, connecting, sending, and trying elsewhere only as
//! long as no byte can have reached an application.

use std::fmt;
use std::net::SocketAddr;

use http::{Request, Response, StatusCode};
use tokio::time::Instant;
use tracing::debug;

use super::addresses::{Choices, Pod};
use super::attempts;
use super::before::Before;
use super::choice::Choice;
use super::connecting::{enter, home};
use super::interim::Interim;
use super::worker::Worker;
use crate::body::{Body, Held};
use crate::error::{Failure, Phase, Reason};
use crate::http::forwarded::Added;
use crate::request::Context;
use crate::upstream::channel::{Fate, SendFailure};
use crate::upstream::cluster::{Cluster, Upstream};
use crate::upstream::transport::Purpose;

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
    /// Until when the upstream must have given all of its answer.
    pub(crate) deadline: Option<Instant>,
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

// === the exchange ===

/// Who answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    At(SocketAddr),
    /// What listens on the unix socket of this path.
    Socket(Box<str>),
}

/// An answer's head, and who gave it.
pub(crate) type Answered = (Response<Body>, Reached);

// === impl Reached ===

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(address) => address.fmt(f),
            Self::Socket(path) => write!(f, "unix/{path}"),
        }
    }
}

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
    upstream: &impl fmt::Display,
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
            Ok(response) => {
                let reached = match &way.unix {
                    None => Reached::At(address),
                    Some(path) => Reached::Socket(path.clone()),
                };
                return Ok((response, reached));
            }
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
