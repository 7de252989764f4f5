//! The way of a request through the proxy: head checks, routes, backend, answer.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, StatusCode};
use http1_codec::HeadError;
use http1_codec::server::Command;

use super::journey::{self, Journey, Next};
use super::view::{Place, ServerView, Serves};
use super::worker::Worker;
use crate::body::Body;
use crate::error::{Failure, Reason};
use crate::http::connection::Connection;
use crate::http::reply;
use crate::http::server::Service;

/// Answers the requests of one server, on one worker.
///
/// A clone is cheap and answers for the same server. The future of a request is driven by the caller;
/// dropping it means that the client is gone, and takes the request to the upstream with it.
///
/// It is also a service of tower, for requests with any body of bytes: axum and others can mount it.
#[derive(Clone, Debug)]
pub struct Handler {
    worker: Arc<Worker>,
    serves: Serves,
}

/// The configuration says to close the connection without an answer (`abort`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aborted;

/// Counts a client that leaves before the head of its answer.
struct Unanswered<'w>(Option<&'w Worker>);

// === impl Handler ===

impl Handler {
    /// Answers as the listener at `place` does.
    pub(crate) fn new(worker: Arc<Worker>, place: Arc<Place>) -> Self {
        let serves = Serves::Listener(place);
        Self { worker, serves }
    }

    /// Answers as the server `name` does.
    pub(crate) fn named(worker: Arc<Worker>, name: &str) -> Self {
        let serves = Serves::Named(name.into());
        Self { worker, serves }
    }

    /// Answers one request that came over `connection`.
    ///
    /// # Errors
    ///
    /// [`Aborted`] if the configuration wants the connection closed without an answer.
    pub async fn handle(
        &self,
        request: Request<Body>,
        connection: &Connection,
    ) -> Result<Response<Body>, Aborted> {
        self.handle_boxed(Box::new(request), connection).await
    }

    /// As [`Handler::handle`]. Boxed: a request is handed down through many calls.
    async fn handle_boxed(
        &self,
        request: Box<Request<Body>>,
        connection: &Connection,
    ) -> Result<Response<Body>, Aborted> {
        let worker = &*self.worker;
        worker.counters.requests.add();
        let view = self.serves.view(&worker.view);
        let Some(server) = self.serves.server(&view) else {
            return Ok(reply::text(StatusCode::SERVICE_UNAVAILABLE));
        };
        if !self.serves.admits(&view, connection) {
            return Ok(misdirected(worker, server, connection, &request));
        }
        let mut unanswered = Unanswered(Some(worker));
        let closing = self.serves.closing();
        let mut journey = match Journey::begin(worker, &view, server, connection, closing, request, ()) {
            Ok(journey) => journey,
            Err(answer) => {
                unanswered.0 = None;
                return Ok(*answer);
            }
        };
        // Everything between the waits is plain code: its locals take no room in the future.
        let mut next = journey.enter();
        let answer = loop {
            for copy in journey.copies() {
                self.send_copy(copy, connection);
            }
            next = match next {
                Next::Answer(answer) => break answer,
                Next::Send(request, mut sent) => {
                    let answered = if sent.deadline().is_none() {
                        sent.exchange(worker, request, &mut journey).await
                    } else {
                        Box::pin(sent.exchange_in_time(worker, request, &mut journey)).await
                    };
                    journey.answered(answered, sent)
                }
                Next::Find(finding) => Next::Wait(finding.wait()),
                Next::Wait(waiting) => {
                    let waited = waiting.await;
                    journey.resume(waited)
                }
            };
        };
        unanswered.0 = None;
        answer.map(|answer| journey.end(answer)).ok_or(Aborted)
    }
}

impl Handler {
    /// Lets a copy of a request go its own way. Nobody waits for its answer. While too many are under way, it is left out.
    fn send_copy(&self, request: Request<Body>, connection: &Connection) {
        let Ok(permit) = Arc::clone(&self.worker.copies).try_acquire_owned() else {
            return;
        };
        let (handler, connection) = (self.clone(), connection.clone());
        // Its own future would be part of itself.
        let answer: BoxFuture<'static, _> =
            Box::pin(async move { handler.handle(request, &connection).await });
        self.worker.background.spawn("copy of a request", async move {
            drop(answer.await);
            drop(permit);
        });
    }
}

/// Answers a request over a connection that would not be let in now, and ends the connection. No route sees the request,
/// not even those for errors.
fn misdirected(
    worker: &Worker,
    server: &ServerView,
    connection: &Connection,
    request: &Request<Body>,
) -> Response<Body> {
    let failure = Failure::from(Reason::Misdirected).with_source(
        "the connection was opened before clients had to show the certificates that they must show now",
    );
    let mut answer = journey::refuse(worker, server, connection, request, failure);
    if connection.state().is_checked() {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
    }
    connection.state().command(Command::Drain);
    answer
}

impl Service for Handler {
    type Abort = Aborted;

    // No async function: its future would hold the request once more.
    fn call(
        &self,
        request: Request<Body>,
        connection: &Connection,
    ) -> impl Future<Output = Result<Response<Body>, Aborted>> + Send {
        self.handle_boxed(Box::new(request), connection)
    }

    fn refuse(&self, error: HeadError, connection: &Connection) -> Response<Body> {
        let worker = &*self.worker;
        worker.counters.requests.add();
        let view = self.serves.view(&worker.view);
        let failure = Failure::from(Reason::BadRequest(error.reason())).with_status(error.status());
        let Some(server) = self.serves.server(&view) else {
            return reply::to_response(&failure);
        };
        // Nothing of the head can be trusted: its line says no more than who sent it, and why it was refused.
        journey::refuse(worker, server, connection, &Request::new(Body::empty()), failure)
    }
}

// === impl Unanswered ===

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(worker) = self.0 {
            worker.counters.failed(Reason::ClientGone);
        }
    }
}

// === impl Aborted ===

impl std::fmt::Display for Aborted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection is closed without an answer, as configured")
    }
}

impl std::error::Error for Aborted {}
