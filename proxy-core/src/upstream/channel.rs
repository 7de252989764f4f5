//! One connection to an upstream that can take a request.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{HeaderName, HeaderValue, Request, Response};
use http1_codec::HeadLimits;
use http1_codec::client::{Answer, Cause, Connection, Keep, SendError};

use super::connect::Io;
use super::gate::Gate;
use super::http2::{Http2, Place};
use super::idle::IdleTotal;
use super::pool::{Pool, PoolLimits};
use super::transport::{Connected, Key};
use crate::body::{Body, BoxError};
use crate::error::{Failure, Reason};
use crate::request::may_repeat;
use crate::tasks::Tasks;

/// A connection that can take one request now.
#[derive(Debug)]
pub(crate) enum Channel {
    Http1(Connection<Io>, Key),
    Http2(Place, Key),
}

/// A request that got no answer.
#[derive(Debug)]
pub(crate) struct SendFailure {
    pub(crate) fate: Fate,
    pub(crate) failure: Failure,
}

/// What can become of a request that got no answer.
#[derive(Debug)]
pub(crate) enum Fate {
    /// No byte of it was sent: it may go anywhere.
    Unsent(Box<Request<Body>>),
    /// The upstream had most likely closed the connection without looking at the request, and a second one does
    /// no harm: it may go over a new connection.
    Repeatable(Box<Request<Body>>),
    /// The upstream says that it did not look at the request: it may go anywhere.
    Refused(Box<Request<Body>>),
    /// It may have reached an application.
    Sent,
}

/// Gives an HTTP/1.1 connection back to where it is kept.
#[derive(Debug)]
pub(crate) struct GiveBack {
    keeper: Keeper,
    limits: PoolLimits,
    total: Option<Arc<IdleTotal>>,
    key: Key,
}

#[derive(Debug)]
enum Keeper {
    Pool(Arc<Pool>),
    /// And the worker that can use it.
    Gate(Arc<Gate>, usize),
}

/// Where connections are kept for further requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home<'h> {
    pub(crate) pool: &'h Arc<Pool>,
    pub(crate) limits: PoolLimits,
    /// How many may be idle in all.
    pub(crate) total: Option<&'h Arc<IdleTotal>>,
    /// What keeps them instead where their number is limited.
    pub(crate) gate: Option<&'h Arc<Gate>>,
    /// The number of the worker.
    pub(crate) worker: usize,
}

// === impl Channel ===

impl Channel {
    /// Begins HTTP on a new connection, which other requests find at `home` by `key` if it can serve them.
    pub(crate) async fn open(
        connected: Connected,
        key: Key,
        limits: &HeadLimits,
        tasks: &Tasks,
        home: Option<Home<'_>>,
    ) -> Result<Self, Failure> {
        if !connected.http2 {
            return Ok(Self::Http1(Connection::new(connected.stream), key));
        }
        let gate = home.and_then(|home| home.gate);
        let freed = gate.map(|gate| Arc::clone(gate.places()));
        let (opened, place) = Http2::open(connected, limits, freed, tasks).await?;
        match (gate, home) {
            (Some(gate), _) => gate.share(key, opened),
            (None, Some(home)) => home.pool.share(key, opened, home.limits, home.total),
            (None, None) => {}
        }
        Ok(Self::Http2(place, key))
    }

    /// Where it leads to.
    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Http1(_, key) | Self::Http2(_, key) => key.address(),
        }
    }

    /// Sends a request, with `added` beside its fields, and waits for the head of its answer. An HTTP/1.1 connection goes
    /// back to its `home` once both messages are complete; without one it is closed then. `on_interim` is given interim
    /// answers.
    pub(crate) async fn send(
        self,
        request: Box<Request<Body>>,
        added: &[(HeaderName, HeaderValue)],
        limits: &HeadLimits,
        home: Option<Home<'_>>,
        on_interim: impl FnMut(&Response<()>),
    ) -> Result<Response<Body>, SendFailure> {
        match self {
            Self::Http1(connection, key) => {
                let keep = home.map(|home| GiveBack {
                    keeper: match home.gate {
                        None => Keeper::Pool(Arc::clone(home.pool)),
                        Some(gate) => Keeper::Gate(Arc::clone(gate), home.worker),
                    },
                    limits: home.limits,
                    total: home.total.cloned(),
                    key,
                });
                let may_repeat = may_repeat(&request);
                let answer = connection.send(request, added, limits, keep, on_interim).await;
                answer
                    .map(response)
                    .map_err(|error| SendFailure::of(error, may_repeat))
            }
            Self::Http2(place, _) => place.send(request, added).await,
        }
    }
}

fn response(answer: Response<Answer<Io, Body, Option<GiveBack>>>) -> Response<Body> {
    answer.map(|answer| match answer {
        Answer::Whole(data) => Body::full(data),
        Answer::Streaming(body) => body.into(),
        Answer::Upgraded(connection) => Body::upgraded(connection),
    })
}

// === impl GiveBack ===

impl Keep<Io> for GiveBack {
    fn keep(self, connection: Connection<Io>) {
        match self.keeper {
            Keeper::Pool(pool) => {
                pool.give_back(connection, self.key, self.limits, self.total.as_ref());
            }
            Keeper::Gate(gate, worker) => {
                let (idle, total) = (self.limits.idle, self.total.as_ref());
                gate.give_back(connection, self.key, (worker, idle), total);
            }
        }
    }
}

// === impl SendFailure ===

impl SendFailure {
    fn of(error: SendError<Body, BoxError>, may_repeat: bool) -> Self {
        let SendError {
            cause,
            wrote,
            received,
            reused,
            request,
        } = error;
        let broke = matches!(cause, Cause::Io(_) | Cause::Closed);
        let fate = if broke && !wrote {
            Fate::Unsent(request)
        } else if broke && reused && !received && may_repeat {
            Fate::Repeatable(request)
        } else {
            Fate::Sent
        };
        Self {
            fate,
            failure: failure(cause),
        }
    }
}

fn failure(cause: Cause<BoxError>) -> Failure {
    match cause {
        Cause::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
            Failure::from(Reason::TimedOut).with_source(error)
        }
        Cause::Io(error) => Failure::from(Reason::Closed).with_source(error),
        Cause::Closed => Reason::Closed.into(),
        Cause::Head(error) => Failure::from(Reason::BadResponse).with_source(error),
        Cause::Body(error) => Failure::of_body(error),
        Cause::Length => Reason::ClientBody.into(),
    }
}
