//! What becomes of a request that failed.

use http::{HeaderValue, Request, Response, StatusCode, header};

use super::{Journey, Next, filtering};
use crate::body::Body;
use crate::error::{Failure, Reason};
use crate::failure_log::FailureGates;
use crate::forward::access_log::{Access, Seen};
use crate::forward::exchange::Failed;
use crate::forward::view::ServerView;
use crate::forward::worker::Worker;
use crate::http::connection::Connection;
use crate::http::reply;
use crate::request::Told;
use crate::routing::trace::Tracer;

/// Answers a head that is no request, or a request that its connection is not for.
pub(in crate::forward) fn refuse(
    worker: &Worker,
    server: &ServerView,
    connection: &Connection,
    request: &Request<Body>,
    failure: Failure,
) -> Response<Body> {
    let access = server
        .logs
        .as_ref()
        .and_then(|logs| Access::begin(logs, request, connection));
    rejected(worker, server, access.map(Box::new), failure)
}

/// Answers a request that no route sees.
pub(super) fn rejected(
    worker: &Worker,
    server: &ServerView,
    access: Option<Box<Access>>,
    failure: Failure,
) -> Response<Body> {
    let response = reply::to_response(&failure);
    let failed = Failed::from(failure);
    note(worker, server, &server.gates, "", &failed);
    match access {
        Some(access) => {
            let seen = Seen {
                failed: Some(failed),
                ..Seen::default()
            };
            access.finish(response, seen, &worker.counters)
        }
        None => response,
    }
}

/// Counts and logs a failure.
fn note(worker: &Worker, server: &ServerView, gates: &FailureGates, host: &str, failed: &Failed) {
    worker.counters.failed(failed.failure.reason);
    gates.log(
        &failed.failure,
        &server.name,
        host,
        &failed.upstream,
        worker.seconds(),
    );
}

impl<'a, T: Tracer<'a>> Journey<'a, T> {
    /// As [`Journey::fail_at`], for what belongs to the server.
    pub(super) fn fail(&mut self, failure: Failure) -> Option<Next<'a>> {
        let server = self.server;
        self.fail_at(&server.gates, failure.into())
    }

    /// Goes on with the routes for errors, if there are any; else answers. Nothing of what waited for the answer is
    /// done with that, but fields that are set already stay.
    pub(super) fn fail_at(&mut self, gates: &FailureGates, failed: Failed) -> Option<Next<'a>> {
        self.walk.tracer.failed(&failed.failure);
        note(self.worker, self.server, gates, self.cx.host_port(), &failed);
        if let Some(observation) = &mut self.observation {
            observation.failed();
        }
        let mut failed = failed;
        failed.failure.status = self.status_of(&failed.failure);
        self.restore_host();
        let told = || Box::new(Told::new(&failed.failure));
        let errors = self.rules.errors.as_ref().filter(|_| !self.in_errors);
        let answer = if self.walk.catch() {
            self.cx.error = Some(told());
            None
        } else if let Some(errors) = errors {
            self.in_errors = true;
            self.cx.error = Some(told());
            self.cx.restore();
            self.walk.restart(errors, &self.cx);
            None
        } else {
            self.walk.leave_to_filters();
            // What fails among the routes for errors changes nothing for the client.
            let told = self.cx.error.as_ref().filter(|_| self.in_errors);
            let failure = &failed.failure;
            let (reason, status, retry_after) = match told {
                Some(told) => (told.reason, told.status, told.retry_after),
                None => (failure.reason, failure.status, failure.retry_after),
            };
            if let Some(filtering) = &mut self.filtering {
                filtering.is_open = filtering::is_open(failure);
            }
            Some(self.unanswered(reason, status, retry_after))
        };
        // The access log names the first one: what fails among the routes for errors is not what was wrong.
        if let Some((_, seen)) = self.log.as_deref_mut() {
            seen.failed.get_or_insert(failed);
        }
        answer.map(|answer| self.settle(answer))
    }

    /// The answer to a client of HTTP/2 that wants a tunnel, instead of one that would seem to open it.
    pub(super) fn refuse_tunnel(&mut self) -> Response<Body> {
        let failed = Failed::from(Reason::NoTunnel);
        let host = self.cx.host_port();
        note(self.worker, self.server, &self.server.gates, host, &failed);
        let response = reply::empty(failed.failure.status, Reason::NoTunnel);
        if let Some((_, seen)) = self.log.as_deref_mut() {
            seen.failed.get_or_insert(failed);
        }
        response
    }

    /// The answer to a failure that no route answers: an empty one, but for tokens and where trying again may help.
    pub(super) fn unanswered(
        &mut self,
        reason: Reason,
        status: StatusCode,
        retry_after: Option<u8>,
    ) -> Response<Body> {
        let mut response = match reason {
            _ if self.filtering.is_some() => self.unanswered_text(status, reason),
            // Whoever holds the token looks at this answer.
            Reason::BadToken | Reason::DeadPod => reply::gone(status),
            Reason::NoUpstream => reply::unavailable(status),
            reason => reply::empty(status, reason),
        };
        if let Some(seconds) = retry_after {
            let seconds = HeaderValue::from(u16::from(seconds));
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        if self.cx.answer.is_empty() {
            return response;
        }
        // Of what was said so far nothing may promise another body.
        self.cx.answer.remove(header::CONTENT_LENGTH);
        for (name, value) in response.headers() {
            self.cx.answer.insert(name, value.clone());
        }
        *response.headers_mut() = std::mem::take(&mut self.cx.answer);
        response
    }
}
