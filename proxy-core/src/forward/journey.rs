//! One request from its head to its answer, step by step: what the routes ask for, until something answers.

mod answering;
mod body;
mod failing;
mod filtering;
mod proxying;
mod targets;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body::Body as _;

use self::body::RequestBody;
pub(super) use self::failing::refuse;
use self::filtering::{Answered, Filtering};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

pub(super) use self::proxying::Sent;
pub(super) use self::targets::Finding;
pub(super) use self::waiting::{Waited, Waiting};
use super::access_log::{Access, Seen};
use super::hosts::Site;
use super::interim;
use super::proxy::Proxy;
use super::view::{ClusterId, Rules, ServerView, View};
use super::worker::Worker;
use crate::auth::{self, Check, Verdict};
use crate::body::Body;
use crate::encode::first_piece;
use crate::error::{Failure, Reason};
use crate::facts::Facts;
use crate::http::connection::Connection;
use crate::http::forwarded;
use crate::http::target::{self, Asks};
use crate::http::upgrade::{self, OnUpgrade};
use crate::http::{limit, reply};
use crate::metrics::{Format, Observation};
use crate::request::{Context, host_name};
use crate::routing::header_ops::ResponseOps;
use crate::routing::respond::StaticResponse;
use crate::routing::routes::{Authenticate, Metrics};
use crate::routing::slots::Value;
use crate::routing::trace::Tracer;
use crate::routing::walk::{Deferred, Step, Walk};
use crate::skipper::table::Table;
use crate::upstream::cluster::Cluster;

/// One request on its way.
pub(super) struct Journey<'a, T = ()> {
    worker: &'a Worker,
    view: &'a View,
    server: &'a ServerView,
    /// What serves the host, if a source of routes has it.
    site: Option<&'a Site>,
    /// Those of the server, or of the host.
    rules: &'a Rules,
    connection: &'a Connection,
    /// The line of the access log, and what became known for it; `None`: there is none.
    log: Option<Box<(Box<Access>, Seen)>>,
    /// Measures the request, if anybody wants to know.
    observation: Option<Box<Observation>>,
    cx: Context,
    walk: Walk<'a, T>,
    body: RequestBody,
    /// The client's connection, if it can be upgraded.
    client_upgrade: Option<OnUpgrade>,
    /// The request was an extended CONNECT.
    was_connect: bool,
    via_trusted_proxy: bool,
    /// The number of the proxy whose answer routes decide about.
    caught_by: Option<ClusterId>,
    /// The routes are those for errors.
    in_errors: bool,
    /// No handler has answered.
    is_unhandled: bool,
    /// When the listener will close, once that is known.
    closing: Option<Instant>,
    /// Copies of it that are to go their own way.
    copies: Vec<Request<Body>>,
    /// How it stands among Skipper's routes, once it came to them.
    filtering: Option<Box<Filtering<'a>>>,
}

/// What is done next with a request.
pub(super) enum Next<'a> {
    /// This is its answer; `None`: close without one.
    Answer(Option<Response<Body>>),
    /// It goes to an upstream, then [`Journey::answered`].
    Send(Box<Request<Body>>, Box<Sent<'a>>),
    /// Its upstreams must be waited for.
    Find(Finding<'a>),
    /// Something else must be waited for, then [`Journey::resume`].
    Wait(Waiting<'a>),
}

// === impl Journey ===

impl<'a, T: Tracer<'a>> Journey<'a, T> {
    /// Checks the head and begins the line of the access log.
    ///
    /// # Errors
    ///
    /// The answer to a request that no route sees.
    pub(super) fn begin(
        worker: &'a Worker,
        view: &'a View,
        server: &'a ServerView,
        connection: &'a Connection,
        closing: Option<Instant>,
        mut request: Box<Request<Body>>,
        tracer: T,
    ) -> Result<Box<Self>, Box<Response<Body>>> {
        let access = server
            .logs
            .as_ref()
            .and_then(|logs| Access::begin(logs, &request, connection))
            .map(Box::new);
        if let Some(access) = &access {
            let body = std::mem::replace(request.body_mut(), Body::empty());
            *request.body_mut() = access.meter_request(body);
        }
        let counts = server.metrics.is_some();
        let observation = counts.then(|| Box::new(Observation::begin(worker.number, &request)));
        let (mut parts, body) = request.into_parts();
        let host = match target::check(&mut parts, connection.state().is_checked()) {
            Ok(Asks::Resource(host)) => host,
            Ok(Asks::Server) => {
                let mut response = Response::new(Body::empty());
                if let Some(access) = access {
                    response = access.finish(response, Seen::default(), &worker.counters);
                }
                return Err(Box::new(response));
            }
            Err(rejection) => {
                let failure =
                    Failure::from(Reason::BadRequest(rejection.reason)).with_status(rejection.status);
                return Err(Box::new(failing::rejected(worker, server, access, failure)));
            }
        };
        let client = forwarded::client(
            connection,
            &parts.headers,
            &server.trusted_proxies,
            &server.client_ip_fields,
        );
        let log = access.map(|access| {
            let seen = Seen {
                client_ip: client.ip,
                ..Seen::default()
            };
            Box::new((access, seen))
        });
        let site = host.as_ref().filter(|_| server.serves_hosts);
        let site = site.and_then(|host| view.hosts.get(&host_name(host)));
        let rules = site.map_or(&server.rules, |site| &site.rules);
        let client_upgrade = OnUpgrade::of(&mut parts.extensions);
        let mut journey = Box::new(Self {
            worker,
            view,
            server,
            connection,
            log,
            observation,
            site,
            rules,
            walk: Walk::new(&rules.routes, &rules.named_routes, host.as_ref(), tracer),
            cx: Context::new(parts, host, connection.peer(), client.ip, connection.is_tls()),
            body: RequestBody::Whole(body),
            was_connect: client_upgrade.as_ref().is_some_and(OnUpgrade::is_stream),
            client_upgrade,
            via_trusted_proxy: client.via_trusted_proxy,
            caught_by: None,
            in_errors: false,
            is_unhandled: false,
            closing,
            copies: Vec::new(),
            filtering: None,
        });
        (journey.cx.worker, journey.cx.via_trusted_proxy) = (worker.number, client.via_trusted_proxy);
        if rules.asked.any() {
            journey.cx.facts = Some(Box::new(Facts {
                closing,
                local: connection.local_address(),
                tls: connection.secured().cloned(),
                ..Facts::now()
            }));
        }
        Ok(journey)
    }

    /// Comes to the routes; a request that its connection is not for comes to those for errors.
    pub(super) fn enter(&mut self) -> Next<'a> {
        if self.server.strict_sni_host
            && let Some(tls) = self.connection.secured()
            && !tls.is_for(&self.cx.host_name())
            && let Some(next) = self.fail(Reason::Misdirected.into())
        {
            return next;
        }
        self.walk()
    }

    /// Goes through the routes until something answers or must be waited for.
    pub(super) fn walk(&mut self) -> Next<'a> {
        loop {
            let step = self.walk.next(&mut self.cx);
            self.observe();
            if let Some(next) = self.step(step) {
                return next;
            }
        }
    }

    // --- what numbers stand for ---

    fn cluster(&self, id: ClusterId) -> Option<&'a Cluster> {
        match self.site {
            Some(site) => site.cluster(id),
            None => self.view.cluster(id),
        }
    }

    fn proxy_of(&self, id: ClusterId) -> &'a Proxy {
        match self.site {
            Some(site) => site.proxy(id),
            None => self.view.proxy(id),
        }
    }

    fn table(&self, number: usize) -> Option<&'a Arc<Table>> {
        let tables = self.site.map_or(&*self.view.tables, |site| &*site.tables);
        tables.get(number)
    }

    /// Whether no handler has answered.
    pub(super) fn is_unhandled(&self) -> bool {
        self.is_unhandled
    }

    /// Counts the request for the routes that it has come to.
    fn observe(&mut self) {
        let (Some(observation), Some(routes)) = (&mut self.observation, &self.server.metrics) else {
            return;
        };
        for number in self.walk.counted() {
            if let Some(route) = routes.get(number) {
                observation.enter(route, &self.cx.host_name());
            }
        }
    }

    /// Takes one step; `None`: the routes go on.
    fn step(&mut self, step: Step<'a>) -> Option<Next<'a>> {
        match step {
            Step::Static(fixed) if fixed.abort => {
                if let Some((_, seen)) = self.log.as_deref_mut() {
                    seen.failed.get_or_insert_with(|| Reason::Aborted.into());
                }
                Some(Next::Answer(None))
            }
            Step::Static(fixed) => self.say(fixed),
            Step::Answer(response) => Some(self.settle(*response)),
            Step::Proxy(number) => self.proxy(ClusterId::Config(number)),
            Step::Skipper(number) => self.filter(number),
            Step::Authenticate(users) => self.authenticate(users),
            Step::CopyResponse(status) => self.copy(status),
            Step::LimitBody(most) => self.limit_body(most),
            Step::SetBody(text) => {
                self.set_body(text);
                None
            }
            Step::Gone(doors, reason) => {
                let failure = Failure::from(Reason::BadToken).with_source(reason);
                self.fail_at(&doors.gates, failure.into())
            }
            Step::Raise(raise) => {
                let failure = raise.failure(&self.cx);
                self.fail(*failure)
            }
            Step::Failed(failure) => self.fail(*failure),
            Step::Metrics(metrics) => Some(self.metrics(metrics)),
            Step::End => self.end_of_routes(),
        }
    }

    // --- answers ---

    fn say(&mut self, fixed: &StaticResponse) -> Option<Next<'a>> {
        match fixed.say(&mut self.cx) {
            Ok(Some(response)) => Some(self.settle(response)),
            Ok(None) => {
                let (version, status) = (self.cx.parts.version, StatusCode::EARLY_HINTS);
                interim::say(self.connection, version, status, &self.cx.answer);
                None
            }
            Err(failure) => self.fail(*failure),
        }
    }

    /// No handler answered.
    fn end_of_routes(&mut self) -> Option<Next<'a>> {
        if let Some(told) = &self.cx.error {
            let (reason, status, retry_after) = (told.reason, told.status, told.retry_after);
            let response = self.unanswered(reason, status, retry_after);
            return Some(self.settle(response));
        }
        self.is_unhandled = true;
        if self.server.serves_hosts && !self.view.hosts.is_complete() {
            return self.fail(Failure::from(Reason::NotLoaded).with_retry_after(1));
        }
        if self.server.strict || self.server.serves_hosts {
            return self.fail(Reason::NoRoute.into());
        }
        let mut response = Response::new(Body::empty());
        *response.headers_mut() = std::mem::take(&mut self.cx.answer);
        Some(self.settle(response))
    }

    /// Does what waited for the answer, last to first.
    fn settle(&mut self, mut response: Response<Body>) -> Next<'a> {
        while let Some(deferred) = self.walk.next_deferred() {
            match deferred {
                Deferred::Headers(ops) => self.change_fields(ops, &mut response),
                Deferred::Encode(encode, asked) if encode.waits_for_piece(asked, &response) => {
                    return Next::Wait(Box::pin(async move {
                        let first = first_piece(&mut response).await;
                        Waited::Piece {
                            encode,
                            asked,
                            response: Box::new(response),
                            first,
                        }
                    }));
                }
                Deferred::Encode(encode, asked) => {
                    encode.answer(asked, &mut response, None, &self.worker.encoders);
                }
                Deferred::Filter(placed) => {
                    match self.see_answer(&mut response, |cx| placed.filter.response(cx)) {
                        Answered::On => {}
                        other => return self.end_seeing(other, placed, response),
                    }
                }
            }
        }
        Next::Answer(Some(response))
    }

    fn change_fields(&mut self, ops: &ResponseOps, response: &mut Response<Body>) {
        std::mem::swap(&mut self.cx.answer, response.headers_mut());
        ops.apply(response.status().as_u16(), &mut self.cx);
        std::mem::swap(&mut self.cx.answer, response.headers_mut());
    }

    /// What is done with every answer.
    pub(super) fn end(&mut self, mut response: Response<Body>) -> Response<Body> {
        if self.was_connect && !upgrade::answer_connect(&mut response) {
            response = self.refuse_tunnel();
        }
        let failed = self.cx.error.as_ref().map(|told| told.reason);
        if failed.is_some_and(reply::closes) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        if let Some(limit) = self.write_timeout() {
            response = response.map(|body| self.until_taken(body, limit));
        }
        if let Some(observation) = self.observation.take() {
            response = observation.answered(response, self.is_unhandled);
        }
        match self.line(Some(response.status())) {
            Some((access, seen)) => access.finish(response, seen, &self.worker.counters),
            None => response,
        }
    }

    /// The client has so long to take `body`.
    fn until_taken(&self, body: Body, limit: Duration) -> Body {
        if body.is_whole() || body.is_end_stream() || limit.is_zero() {
            return body;
        }
        // Other streams of a connection are not to suffer.
        let state = self.connection.state();
        let watch = (!state.activity().multiplexed).then(|| {
            let closing = limit::close_after(limit, Arc::clone(state));
            AbortOnDropHandle::new(self.worker.background.spawn("time-out of an answer", closing))
        });
        limit::taken_within(body, limit, watch)
    }

    // --- who it is ---

    fn authenticate(&mut self, users: &'a Authenticate) -> Option<Next<'a>> {
        let Some(basic) = &users.basic else {
            return self.fail(Reason::Unauthenticated.into());
        };
        match basic.check(&self.cx.parts.headers, self.cx.client_ip) {
            Check::Known(verdict) => self.judge(users, verdict),
            Check::Comparing(comparison) => Some(Next::Wait(Box::pin(async move {
                Waited::Verdict(users, comparison.verdict().await)
            }))),
        }
    }

    fn judge(&mut self, users: &Authenticate, verdict: Verdict) -> Option<Next<'a>> {
        match verdict {
            Verdict::Passed(user) => {
                self.cx.vars.set(users.user, Value::Text(user));
                None
            }
            Verdict::Refused => {
                if let Some(basic) = &users.basic {
                    self.cx.answer.insert(header::WWW_AUTHENTICATE, basic.challenge());
                }
                self.fail(Reason::Unauthenticated.into())
            }
            Verdict::Busy => {
                let busy = Failure::from(Reason::AuthenticationBusy);
                self.fail(busy.with_retry_after(auth::RETRY_AFTER))
            }
        }
    }

    /// The numbers of the process, in the format that the client likes best.
    fn metrics(&mut self, metrics: Metrics) -> Next<'a> {
        let accept = self.cx.parts.headers.get(header::ACCEPT);
        let accept = accept.and_then(|accept| accept.to_str().ok());
        let format = Format::accepted(accept.filter(|_| metrics.open_metrics));
        let page = self.worker.metrics.page(format);
        let mut response = Response::new(Body::full(page.text));
        *response.headers_mut() = std::mem::take(&mut self.cx.answer);
        let kind = HeaderValue::from_static(page.content_type);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        self.settle(response)
    }
}

impl<T> Journey<'_, T> {
    /// The line of the access log, and all that became known for it.
    fn line(&mut self, status: Option<StatusCode>) -> Option<(Box<Access>, Seen)> {
        let (access, mut seen) = *self.log.take()?;
        let (slots, vars) = (&self.rules.log_slots, &self.cx.vars);
        seen.is_unhandled = self.is_unhandled;
        seen.user = slots.user(vars);
        seen.uuid = self.cx.known_uuid().map(str::to_owned);
        seen.loggers = slots.loggers(vars).map(<[String]>::to_vec);
        seen.is_skipped = slots.skips(vars);
        if let Some(filtering) = self.filtering.as_deref() {
            filtering.note(status, &mut seen);
        }
        Some((access, seen))
    }
}

impl<T> Drop for Journey<'_, T> {
    /// A client that leaves has its line too, unless the routes said otherwise.
    fn drop(&mut self) {
        if let Some((mut access, seen)) = self.line(None) {
            access.note(seen);
        }
    }
}
