//! An upstream's answer, until it goes to the client.

use std::sync::Arc;
use std::time::Duration;

use doors_routing::Decision;
use http::{Response, StatusCode, Version, header};
use http_body::Body as _;

use super::{Journey, Next, Sent, Waited, Waiting, filtering};
use crate::body::{Body, BoxError};
use crate::error::{Failure, Reason};
use crate::forward::attempts::StickyCookie;
use crate::forward::before;
use crate::forward::exchange::{Answered, Failed};
use crate::forward::outgoing;
use crate::forward::proxy::{Proxy, Then};
use crate::http::connection::ConnState;
use crate::http::upgrade::{self};
use crate::http::{buffer, limit};
use crate::routing::header_ops::HeaderOps;
use crate::routing::respond::Status;
use crate::routing::trace::Tracer;

/// Reads the beginning of an answer's body.
fn read_answer<'a>(sent: Box<Sent<'a>>, response: Response<Body>, most: u64) -> Waiting<'a> {
    Box::pin(async move {
        let (head, body) = response.into_parts();
        let body = buffer::ahead(body, most).await;
        let answer = body.map(|body| Box::new(Response::from_parts(head, body)));
        Waited::Answer { sent, answer }
    })
}

/// Waits until a tunnel's time is over, which is never without a limit.
async fn over(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

// === impl Journey ===

impl<'a, T: Tracer<'a>> Journey<'a, T> {
    /// Goes on with what the upstream answered.
    pub(in crate::forward) fn answered(
        &mut self,
        answered: Result<Answered, Failed>,
        mut sent: Box<Sent<'a>>,
    ) -> Next<'a> {
        if let Some(facts) = &mut self.cx.facts {
            facts.answered();
        }
        let next = match answered.and_then(|answered| self.accept(answered, &mut sent)) {
            Ok(response) => match sent.proxy.response_buffer {
                Some(most) if !response.body().is_whole() && !response.body().is_end_stream() => {
                    return Next::Wait(read_answer(sent, response, most));
                }
                _ => self.decide(&sent, response),
            },
            Err(failed) if self.filtering.is_some() => {
                self.fail_at(&sent.cluster.gates, filtering::cause(failed))
            }
            Err(failed) => self.fail_at(&sent.cluster.gates, failed),
        };
        match next {
            Some(next) => next,
            None => self.walk(),
        }
    }

    /// Goes on with an answer whose body was to be read first.
    pub(super) fn answer_buffered(
        &mut self,
        sent: &Sent<'a>,
        answer: Result<Box<Response<Body>>, BoxError>,
    ) -> Option<Next<'a>> {
        match answer {
            Ok(response) => self.decide(sent, *response),
            Err(error) => {
                let upstream = self.log.as_ref().and_then(|log| log.1.upstream.as_ref());
                let failed = Failed {
                    failure: Failure::from(Reason::Cut).with_source(error),
                    upstream: upstream.map_or_else(String::new, |upstream| upstream.to_string()),
                };
                self.fail_at(&sent.cluster.gates, failed)
            }
        }
    }

    /// Checks an upstream's answer and begins the tunnel if it grants an upgrade.
    fn accept(&mut self, answered: Answered, sent: &mut Sent<'a>) -> Result<Response<Body>, Failed> {
        let (mut response, upstream) = answered;
        if let Some((_, seen)) = self.log.as_deref_mut() {
            seen.upstream = Some(upstream);
        }
        if let Some(StickyCookie(cookie)) = response.extensions_mut().remove() {
            self.cx.answer.append(header::SET_COOKIE, cookie);
        }
        outgoing::check_response(&mut response, sent.wanted.as_ref())?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let held = response.body_mut().release();
            let upstream = response.body_mut().take_upgraded();
            let (upstream, client) = upstream
                .zip(self.client_upgrade.take())
                .ok_or(Reason::BadResponse)?;
            let group = self.connection.state().group();
            let streams = sent.proxy.streams;
            // The other streams of its connection may end, and this one goes on.
            let carrier = self.was_connect.then(|| Arc::clone(self.connection.state()));
            let on_connection = carrier.as_ref().map(ConnState::begin);
            let connections = &self.worker.connections;
            let (state, open) = connections.tunnel(group, streams.close_delay, carrier);
            self.worker.tasks.spawn("tunnel", async move {
                let (_open, _held, _on_connection) = (open, held, on_connection);
                tokio::select! {
                    () = upgrade::tunnel(client, upstream, streams.buffer) => {}
                    () = state.closed() => {}
                    () = over(streams.timeout) => {}
                }
            });
        }
        let multiplexed = response.version() == Version::HTTP_2;
        *response.version_mut() = Version::HTTP_11;
        response.extensions_mut().clear();
        if let Some(deadline) = sent.deadline() {
            response = response.map(|body| limit::until(body, deadline));
        }
        let upload = sent.upload.take().filter(|_| multiplexed);
        Ok(match upload {
            Some(upload) => upload.end_with(response),
            None => response,
        })
    }

    /// Passes an answer on, or lets routes decide about it.
    fn decide(&mut self, sent: &Sent<'a>, mut response: Response<Body>) -> Option<Next<'a>> {
        let proxy = sent.proxy;
        let (status, headers) = (response.status().as_u16(), response.headers());
        let found = proxy
            .answers
            .iter()
            .find(|answers| answers.only.matches(status, headers));
        match found.map(|answers| &answers.then) {
            Some(Then::Routes(routes)) => {
                self.cx.caught = Some(Box::new(response));
                self.caught_by = Some(sent.number);
                let failed = self.walk.enter(routes)?;
                return self.step(failed);
            }
            Some(Then::Status(status)) => match status.of(&self.cx) {
                Ok(status) => *response.status_mut() = status,
                Err(failure) => return self.fail(*failure),
            },
            None => {}
        }
        Some(self.pass_on(proxy, response))
    }

    /// `copy_response`: passes on what was caught.
    pub(super) fn copy(&mut self, status: Option<&Status>) -> Option<Next<'a>> {
        let view = self.view;
        let proxy = self.caught_by.map(|number| view.proxy(number));
        let (Some(mut response), Some(proxy)) = (self.cx.caught.take(), proxy) else {
            return self.fail(Reason::NothingCaught.into());
        };
        if let Some(status) = status {
            match status.of(&self.cx) {
                Ok(status) => *response.status_mut() = status,
                Err(failure) => return self.fail(*failure),
            }
        }
        Some(self.pass_on(proxy, *response))
    }

    fn pass_on(&mut self, proxy: &'a Proxy, mut response: Response<Body>) -> Next<'a> {
        let is_final = response.status() != StatusCode::SWITCHING_PROTOCOLS;
        if let Some(down) = proxy.down.as_ref().filter(|_| is_final)
            && down.only.matches(response.status().as_u16(), response.headers())
        {
            self.change_answer(&down.ops, &mut response);
        }
        if !self.cx.answer.is_empty() {
            let set = std::mem::take(&mut self.cx.answer);
            outgoing::add_to(response.headers_mut(), set);
        }
        self.settle(response)
    }

    /// What placeholders are told of the answer is what the upstream said.
    fn change_answer(&mut self, ops: &HeaderOps, response: &mut Response<Body>) {
        if ops.is_fixed() {
            return before::change(ops, &self.cx, response.headers_mut());
        }
        let mut said = Response::new(Body::empty());
        *said.status_mut() = response.status();
        *said.headers_mut() = response.headers().clone();
        let before = self.cx.caught.replace(Box::new(said));
        before::change(ops, &self.cx, response.headers_mut());
        self.cx.caught = before;
    }

    /// What the last `doors_handler` on the way decided.
    pub(in crate::forward) fn decision(&self) -> Option<Decision> {
        self.walk.doors().map(|(_, decision)| decision)
    }
}
