//! The way of a request through the proxy: head checks, routes, backend, answer.

use std::sync::Arc;

use doors_routing::Decision;
use http::header::HeaderMap;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Version};
use http_body::Body as _;
use http1_codec::HeadError;

use super::access_log::{Access, Seen};
use super::exchange::{self, Answered, Beside, Failed, Target};
use super::interim;
use super::outgoing;
use super::upload::{self, Upload};
use super::view::{Place, ServerView, Serves, View};
use super::worker::Worker;
use crate::body::Body;
use crate::error::{Failure, Reason};
use crate::failure_log::FailureGates;
use crate::http::connection::Connection;
use crate::http::forwarded::{self, Client};
use crate::http::marks::Marks;
use crate::http::server::Service;
use crate::http::target::{self, Asks};
use crate::http::upgrade::{self, OnUpgrade, Wanted};
use crate::http::{limit, reply};
use crate::request::Context;
use crate::routing::walk::{Step, Walk};
use crate::upstream::channel::Protocol;
use crate::upstream::cluster::{Cluster, Source};

/// Answers the requests of one server, on one worker.
///
/// A clone is cheap and answers for the same server. The future of a request is driven by the caller;
/// dropping it means that the client is gone, and takes the request to the upstream with it.
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

/// Where a request stands after the routes.
enum Routed<'a> {
    /// It has its answer; `None`: close without one.
    Answered(Option<Response<Body>>),
    /// It goes to an upstream.
    Onward(Box<Onward<'a>>, Box<Request<Body>>),
}

/// A request that goes to an upstream, and what is needed when its answer comes.
struct Onward<'a> {
    cx: Box<Context>,
    walk: Walk<'a>,
    cluster: &'a Cluster,
    target: Target<'a>,
    wanted: Option<Wanted>,
    client_upgrade: Option<OnUpgrade>,
    beside: Beside<'a>,
    upload: Option<Upload>,
}

/// One request on its way.
struct Exchange<'a> {
    worker: &'a Worker,
    view: &'a View,
    server: &'a ServerView,
    connection: &'a Connection,
    access: Option<Box<Access>>,
    /// For the access log.
    seen: Seen,
}

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
        let mut unanswered = Unanswered(Some(worker));
        let mut exchange = Exchange {
            worker,
            view: &view,
            server,
            connection,
            access: None,
            seen: Seen::default(),
        };
        // Everything before and after the one wait is plain code: its locals take no room in the future.
        let answer = match exchange.begin(request) {
            Routed::Answered(answer) => answer,
            Routed::Onward(onward, request) => {
                let Onward {
                    cluster,
                    target,
                    beside,
                    ..
                } = &*onward;
                let answered = exchange::exchange(worker, cluster, *target, request, beside).await;
                Some(exchange.answer(answered, *onward))
            }
        };
        unanswered.0 = None;
        answer.map(|answer| exchange.end(answer)).ok_or(Aborted)
    }
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
        let mut exchange = Exchange {
            worker,
            view: &view,
            server,
            connection,
            access: None,
            seen: Seen::default(),
        };
        let response = exchange.fail(&server.gates, "", failure.into());
        // Nothing of the head can be trusted: its line says no more than who sent it, and why it was refused.
        let access = server
            .logs
            .as_ref()
            .and_then(|logs| Access::begin(logs, &Request::new(Body::empty()), connection));
        match access {
            Some(access) => Box::new(access).finish(response, exchange.seen, &worker.counters),
            None => response,
        }
    }
}

// === impl Exchange ===

impl<'a> Exchange<'a> {
    /// Begins the line of the access log, and routes.
    fn begin(&mut self, mut request: Box<Request<Body>>) -> Routed<'a> {
        if let Some(logs) = &self.server.logs
            && let Some(access) = Access::begin(logs, &request, self.connection)
        {
            *request = request.map(|body| access.meter_request(body));
            self.access = Some(Box::new(access));
        }
        self.route(request)
    }

    /// The answer to a request that went to an upstream.
    fn answer(&mut self, answered: Result<Answered, Failed>, mut onward: Onward<'a>) -> Response<Body> {
        let response = match answered.and_then(|answered| self.accept(answered, &mut onward)) {
            Ok(response) => response,
            Err(failed) => self.fail(&onward.cluster.gates, onward.cx.host_port(), failed),
        };
        let response = beside_early(response, &mut onward.cx);
        filter(response, &onward.walk, &onward.cx)
    }

    /// What is done with every answer.
    fn end(self, mut response: Response<Body>) -> Response<Body> {
        if self.server.write_timeout.is_some() {
            response = response.map(|body| limit::within(body, self.server.write_timeout));
        }
        match self.access {
            Some(access) => access.finish(response, self.seen, &self.worker.counters),
            None => response,
        }
    }

    /// Checks the head and walks the routes to an answer or to an upstream.
    fn route(&mut self, request: Box<Request<Body>>) -> Routed<'a> {
        let (mut parts, body) = request.into_parts();
        let host = match target::check(&mut parts, self.connection.state().is_checked()) {
            Ok(Asks::Resource(host)) => host,
            Ok(Asks::Server) => return Routed::Answered(Some(Response::new(Body::empty()))),
            Err(rejection) => {
                let failure =
                    Failure::from(Reason::BadRequest(rejection.reason)).with_status(rejection.status);
                return Routed::Answered(Some(self.fail(&self.server.gates, "", failure.into())));
            }
        };
        let Self {
            server, connection, ..
        } = *self;
        let client = forwarded::client(
            connection,
            &parts.headers,
            &server.trusted_proxies,
            &server.client_ip_fields,
        );
        self.seen.client_ip = client.ip;
        let mut cx = Box::new(Context {
            parts,
            host,
            peer: connection.peer(),
            client_ip: client.ip,
            tls: connection.is_tls(),
            early: HeaderMap::new(),
        });
        let mut walk = Walk::new(&server.routes, &cx);
        let response = match walk.next(&mut cx) {
            Step::Static(fixed) if fixed.abort => return Routed::Answered(None),
            Step::Static(fixed) => over_early(fixed.respond(&cx), &cx),
            Step::End => beside_early(Response::new(Body::empty()), &mut cx),
            Step::Gone(doors, reason) => {
                let failure = Failure::from(Reason::BadToken).with_source(reason);
                let response = self.fail(&doors.gates, cx.host_port(), failure.into());
                beside_early(response, &mut cx)
            }
            Step::Proxy(number) => {
                let marks = Marks::of(&cx.parts.headers);
                let reason = if marks.any(Marks::VIA) && forwarded::is_looping(&cx.parts.headers) {
                    Reason::Loop
                } else {
                    match self.destination(number, &walk, &cx.parts.method) {
                        Some(to) => return self.onward(cx, walk, to, &client, body, marks),
                        None => Reason::NoUpstream,
                    }
                };
                let response = self.fail(&server.gates, cx.host_port(), reason.into());
                beside_early(response, &mut cx)
            }
        };
        Routed::Answered(Some(filter(response, &walk, &cx)))
    }

    /// Makes the request that goes to the upstream.
    fn onward(
        &self,
        mut cx: Box<Context>,
        walk: Walk<'a>,
        (cluster, target): (&'a Cluster, Target<'a>),
        client: &Client,
        body: Body,
        marks: Marks,
    ) -> Routed<'a> {
        let wanted = Wanted::of(&cx.parts, marks, !body.is_end_stream());
        let client_upgrade = wanted
            .as_ref()
            .and_then(|_| OnUpgrade::of(&mut cx.parts.extensions));
        // Filters of the response phase may still ask for the request; most routes have none.
        let mut parts = if walk.has_deferred() {
            cx.parts.clone()
        } else {
            take_head(&mut cx.parts)
        };
        parts.extensions.clear();
        let body = limit::within(body.upwards(), self.server.body_timeout);
        let (body, upload) = match cluster.protocol {
            // The answer drives the upload, and takes it with it when it ends.
            Protocol::Http1 => (body, None),
            Protocol::H2c => upload::stoppable(body),
        };
        let (body, interim) = interim::begin(body, parts.version, marks, self.connection);
        let added = outgoing::prepare(
            &mut parts,
            self.connection,
            client,
            cx.host.as_ref(),
            wanted.as_ref(),
            marks,
        );
        let request = Box::new(Request::from_parts(parts, body));
        Routed::Onward(
            Box::new(Onward {
                cx,
                walk,
                cluster,
                target,
                wanted,
                client_upgrade,
                beside: Beside { interim, added },
                upload,
            }),
            request,
        )
    }

    /// Checks an upstream's answer and begins the tunnel if it grants an upgrade.
    fn accept(&mut self, answered: Answered, onward: &mut Onward<'a>) -> Result<Response<Body>, Failed> {
        let (mut response, upstream) = answered;
        self.seen.upstream = Some(upstream);
        outgoing::check_response(&mut response, onward.wanted.as_ref())?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let held = response.body_mut().release();
            let upstream = response.body_mut().take_upgraded();
            let (upstream, client) = upstream
                .zip(onward.client_upgrade.take())
                .ok_or(Reason::BadResponse)?;
            let group = self.connection.state().group();
            let (state, open) = self.worker.connections.tunnel(group);
            self.worker.tasks.spawn("tunnel", async move {
                let (_open, _held) = (open, held);
                tokio::select! {
                    () = upgrade::tunnel(client, upstream) => {}
                    () = state.closed() => {}
                }
            });
        }
        *response.version_mut() = Version::HTTP_11;
        response.extensions_mut().clear();
        Ok(match onward.upload.take() {
            Some(upload) => upload.end_with(response),
            None => response,
        })
    }

    fn destination(
        &self,
        number: usize,
        walk: &Walk<'a>,
        method: &Method,
    ) -> Option<(&'a Cluster, Target<'a>)> {
        let cluster = self.view.clusters.get(number)?;
        Some((cluster, self.target(cluster, walk, method)?))
    }

    fn target(&self, cluster: &'a Cluster, walk: &Walk<'a>, method: &Method) -> Option<Target<'a>> {
        if let Source::Fixed(list) = &cluster.source {
            let first = self.worker.choose(list.len());
            return Some(Target::Upstreams {
                list,
                first,
                others: list.len(),
            });
        }
        let (doors, decision) = walk.doors()?;
        let list = cluster.source.doors(doors.id)?;
        let first = match decision {
            Decision::Pod { addr, server } => {
                return Some(Target::Pod {
                    address: addr,
                    server: list.get(server)?,
                    dead_status: doors.dead_pod_status,
                });
            }
            Decision::Server(pinned) => pinned,
            Decision::Any => self.worker.choose(list.len()),
            Decision::Gone(_) => return None,
        };
        let others = doors.router.alternatives(decision, method.as_str()).count();
        Some(Target::Upstreams { list, first, others })
    }

    /// Counts and logs a failure, and gives the answer to it.
    fn fail(&mut self, gates: &FailureGates, host: &str, failed: Failed) -> Response<Body> {
        let Self { worker, server, .. } = *self;
        worker.counters.failed(failed.failure.reason);
        gates.log(
            &failed.failure,
            &server.name,
            host,
            &failed.upstream,
            worker.seconds(),
        );
        let response = reply::to_response(&failed.failure);
        self.seen.failed = Some(failed);
        response
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

// === the response phase ===

/// A fixed answer's own fields replace those that filters set on the way in.
fn over_early(mut response: Response<Body>, cx: &Context) -> Response<Body> {
    for (name, value) in &cx.early {
        if !response.headers().contains_key(name) {
            response.headers_mut().append(name, value.clone());
        }
    }
    response
}

/// An upstream's fields come beside those that filters set on the way in.
fn beside_early(mut response: Response<Body>, cx: &mut Context) -> Response<Body> {
    if cx.early.is_empty() {
        return response;
    }
    let mut headers = std::mem::take(&mut cx.early);
    for (name, value) in response.headers() {
        headers.append(name, value.clone());
    }
    *response.headers_mut() = headers;
    response
}

/// The filters that waited for the answer.
fn filter(mut response: Response<Body>, walk: &Walk<'_>, cx: &Context) -> Response<Body> {
    let status = response.status().as_u16();
    for ops in walk.deferred() {
        ops.apply(status, response.headers_mut(), cx);
    }
    response
}

fn take_head(parts: &mut Parts) -> Parts {
    std::mem::replace(parts, Request::new(()).into_parts().0)
}
