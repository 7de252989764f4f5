//! One request as it would go, without sending it: the steps of a real one, up to an upstream.

use std::net::{Ipv4Addr, SocketAddr};

use http::{HeaderValue, Method, Request, Response};

use super::exchange::Reached;
use super::journey::{Journey, Next};
use super::view::{ServerView, View};
use super::worker::Worker;
use crate::body::Body;
use crate::http::connection::Connection;
use crate::routing::trace::Tracer;

/// Where a request would be sent.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    pub(crate) method: Method,
    pub(crate) target: String,
    /// The field, if the request that is sent has it by then.
    pub(crate) host: Option<HeaderValue>,
    /// In the order in which they would be tried.
    pub(crate) upstreams: Vec<String>,
    /// Those that would not be asked, and why.
    pub(crate) skipped: Vec<(String, &'static str)>,
    pub(crate) why: Why,
    /// Routes decide about an answer of status 200.
    pub(crate) decided: bool,
}

/// Why it would go there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The configuration names the upstreams.
    Configured,
    /// The token in the path names the pod.
    Token,
    /// The affinity cookie names the server, or there is only one.
    Pinned,
    /// A page for any server.
    Any,
    /// The upstreams are found out at run time.
    Found,
}

/// How it ends.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The connection is closed without an answer.
    Closed,
    Answered {
        response: Box<Response<Body>>,
        /// No handler answered.
        unhandled: bool,
    },
    /// An upstream has it.
    Sent(Destination),
}

/// Takes the steps of one request. What would be sent is not: where routes decide about the answer, `assumed` is told,
/// and they go on as if it had been a plain 200.
pub(crate) async fn rehearse<'a, T: Tracer<'a>>(
    (worker, view, server): (&'a Worker, &'a View, &'a ServerView),
    connection: &'a Connection,
    request: Request<Body>,
    tracer: T,
    mut assumed: impl FnMut(Destination),
) -> Ending {
    let mut journey = match Journey::begin(worker, view, server, connection, None, Box::new(request), tracer)
    {
        Ok(journey) => journey,
        Err(response) => {
            return Ending::Answered {
                response,
                unhandled: false,
            };
        }
    };
    let mut next = journey.enter();
    loop {
        next = match next {
            Next::Answer(None) => return Ending::Closed,
            Next::Answer(Some(answer)) => {
                return Ending::Answered {
                    response: Box::new(answer),
                    unhandled: journey.is_unhandled(),
                };
            }
            // Nothing is looked up.
            Next::Find(finding) => journey.resume(finding.now()),
            Next::Wait(waiting) => {
                let waited = waiting.await;
                journey.resume(waited)
            }
            Next::Send(request, sent) => {
                let destination = sent.destination(worker, &request, journey.decision());
                if !destination.decided {
                    return Ending::Sent(destination);
                }
                assumed(destination);
                let nobody = Reached::At(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
                journey.answered(Ok((Response::new(Body::empty()), nobody)), sent)
            }
        };
    }
}
