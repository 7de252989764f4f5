//! A request among Skipper's routes: its route, the filters of that, and where it goes then.

mod answer;
mod copies;
mod failed;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use eskip::filters::{self, BodyChange, BodySlot, Env, Exchange, FilterContext, Flow, Resume};
use eskip::routing::{Asked, Clock, Dice};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Response, StatusCode};

pub(super) use self::answer::Answered;
use self::copies::Copied;
use self::failed::unless_it_panics;
pub(super) use self::failed::{cause, is_open};
use super::{Journey, Next, RequestBody, Waited};
use crate::body::Body;
use crate::clock;
use crate::error::{Failure, Phase, Reason};
use crate::forward::access_log::Seen;
use crate::forward::view::ClusterId;
use crate::forward::worker::Worker;
use crate::http::{hop_by_hop, reply};
use crate::request::{host_name_of, valid_host};
use crate::routing::trace::Tracer;
use crate::skipper::table::{Backend, HashedBy, Placed, Route, Table};

/// How a request stands among the routes of a table.
#[derive(Debug)]
pub(super) struct Filtering<'a> {
    number: usize,
    table: &'a Table,
    pub(super) route: Option<&'a Route>,
    /// How often it went through the table again.
    loopbacks: u32,
    /// It is a copy that a `teeLoopback` of this label made.
    tee: Option<Arc<str>>,
    /// The client wants the head of the answer alone.
    is_head: bool,
    /// The number that `TrafficSegment` goes by.
    chance: f64,
    pub(super) exchange: Exchange,
    /// The request's host before any filter.
    host: Option<HeaderValue>,
    /// It failed because a circuit breaker is open.
    pub(super) is_open: bool,
}

/// How a request goes on that does not simply go to the next filter.
type Ended<'a> = Box<Option<Next<'a>>>;

// === impl Filtering ===

impl Filtering<'_> {
    /// What the access log is told: whether the route's answer has a line there, and what filters have noted.
    pub(super) fn note(&self, status: Option<StatusCode>, seen: &mut Seen) {
        let rule = self.route.and_then(|route| route.access_log.as_ref());
        if let (Some(rule), Some(status)) = (rule, status) {
            seen.is_skipped |= !rule.has(status.as_u16());
        }
        let tags = self.exchange.tags.iter();
        seen.extra
            .extend(tags.map(|(name, value)| (name.clone(), value.as_str().into())));
        seen.masked_query.clone_from(&self.exchange.masked_query);
    }
}

// === impl Journey ===

impl<'a, T: Tracer<'a>> Journey<'a, T> {
    /// `eskip`: goes through the table of this number.
    pub(super) fn filter(&mut self, number: usize) -> Option<Next<'a>> {
        let Some(table) = self.table(number) else {
            return self.fail(Reason::NoUpstream.into());
        };
        hop_by_hop::strip_nominated(&mut self.cx.parts.headers);
        let mut exchange = Exchange::default();
        exchange.peer = self.cx.peer;
        exchange.tls = self.cx.tls;
        exchange.host = self.cx.host_port().to_owned();
        exchange.client_certificate = self.connection.vouched_for().map(Into::into);
        exchange.table = number;
        let copied: Option<Copied> = self.cx.parts.extensions.remove();
        let (tee, loopbacks) = copied.map_or((None, 0), |copied| (Some(copied.label), copied.loopbacks));
        self.filtering = Some(Box::new(Filtering {
            number,
            table,
            route: None,
            loopbacks,
            tee,
            is_head: self.cx.parts.method == Method::HEAD,
            chance: self.worker.chance(),
            exchange,
            host: self.cx.parts.headers.remove(header::HOST),
            is_open: false,
        }));
        if !table.is_complete {
            return self.fail(Failure::from(Reason::NotLoaded).with_retry_after(1));
        }
        self.enter_route()
    }

    /// Finds the route of the request as it is now, and goes through its filters.
    fn enter_route(&mut self) -> Option<Next<'a>> {
        let Some(filtering) = self.filtering.as_deref_mut() else {
            return self.fail(Reason::NoRoute.into());
        };
        let worker = self.worker;
        let parts = &self.cx.parts;
        let host = std::mem::take(&mut filtering.exchange.host);
        let compared = if filtering.table.rules.normalize_host {
            host_name_of(&host)
        } else {
            Cow::Borrowed(host.as_str())
        };
        let asked = Asked {
            method: &parts.method,
            host: &compared,
            path: parts.uri.path(),
            query: parts.uri.query().unwrap_or_default(),
            headers: &parts.headers,
            peer: filtering.exchange.peer_ip(),
            content_length: self.body.length(),
            is_shutting_down: self.closing.is_some(),
            tee: filtering.tee.as_deref(),
            chance: filtering.chance,
            clock: Clock(&clock::wall),
            dice: Dice(&|| worker.chance()),
        };
        let found = filtering.table.routes.find(&asked);
        let Some(found) = found else {
            filtering.exchange.host = host;
            let status = filtering.table.rules.default_status;
            return self.fail(Failure::from(Reason::NoRoute).with_status(status));
        };
        for (name, value) in found.params() {
            filtering.exchange.add_param(name, value);
        }
        filtering.exchange.route.clear();
        filtering.exchange.route.push_str(found.id());
        let route = found.value();
        filtering.exchange.host = host;
        filtering.route = Some(route);
        if self.rules.errors.is_some() {
            // Routes for errors see the request as it came.
            self.cx.rewrite(None, None);
        }
        self.pass_filters(&route.filters, route)
    }

    /// Goes on behind `route`'s filters from the first of `filters` on.
    fn pass_filters(&mut self, filters: &'a [Placed], route: &'a Route) -> Option<Next<'a>> {
        for (index, placed) in filters.iter().enumerate() {
            if T::ONLY_ASKS && placed.wants.acts {
                continue;
            }
            if placed.wants.response {
                self.walk.defer(placed);
            }
            if !placed.wants.request {
                continue;
            }
            let flow = self.run_filter(|cx| placed.filter.request(cx));
            self.copy_if_asked();
            let rest = filters.get(index + 1..).unwrap_or_default();
            if let Err(ended) = self.passed(flow, rest, route) {
                return *ended;
            }
        }
        self.reach_backend(route)
    }

    /// Goes on as a filter says.
    fn passed(&mut self, flow: Option<Flow>, rest: &'a [Placed], route: &'a Route) -> Result<(), Ended<'a>> {
        Err(Box::new(match flow {
            Some(_) if self.is_target_too_long() => self.fail(Reason::TargetTooLong.into()),
            Some(Flow::Next) => return Ok(()),
            Some(Flow::Serve(response)) => {
                let response = response.map(Body::from);
                Some(self.settle(response))
            }
            Some(Flow::Wait(waiting)) => Some(Next::Wait(Box::pin(async move {
                Waited::Filter {
                    resume: unless_it_panics(waiting).await,
                    rest,
                    route,
                }
            }))),
            Some(Flow::Reroute) => self.reroute(),
            None => self.fail(Reason::FilterPanicked.into()),
        }))
    }

    /// Whether the path or the query is not what a filter wanted it to be.
    fn is_target_too_long(&self) -> bool {
        let filtering = self.filtering.as_deref();
        filtering.is_some_and(|filtering| filtering.exchange.target_too_long)
    }

    /// Goes on with what a filter has waited for.
    pub(super) fn filter_waited(
        &mut self,
        resume: Option<Resume>,
        rest: &'a [Placed],
        route: &'a Route,
    ) -> Option<Next<'a>> {
        let flow = resume.and_then(|resume| self.run_filter(resume));
        match self.passed(flow, rest, route) {
            Ok(()) => self.pass_filters(rest, route),
            Err(ended) => *ended,
        }
    }

    /// Runs the first phase of a filter; `None`: it panicked.
    fn run_filter(&mut self, run: impl FnOnce(&mut FilterContext<'_>) -> Flow) -> Option<Flow> {
        let filtering = self.filtering.as_deref_mut()?;
        let mut body = BodySlot::new(self.body.length());
        let mut cx = FilterContext {
            request: &mut self.cx.parts,
            request_body: &mut body,
            exchange: &mut filtering.exchange,
            response: None,
            env: self.worker,
        };
        let flow = catch_unwind(AssertUnwindSafe(|| run(&mut cx))).ok();
        if let Some(change) = body.take_change() {
            self.change_request_body(change);
        }
        flow
    }

    fn change_request_body(&mut self, change: BodyChange) {
        let headers = &mut self.cx.parts.headers;
        let (body, keeps_length) = match change {
            BodyChange::Replace(new) => {
                set_length(headers, new.length());
                (Body::from(new), true)
            }
            BodyChange::Wrap { wrap, keeps_length } => {
                // What one upstream has is nobody's to wrap.
                let Some(body) = self.body.take() else { return };
                (wrapped(body, wrap), keeps_length)
            }
        };
        if !keeps_length {
            headers.remove(header::CONTENT_LENGTH);
        }
        headers.remove(header::TRANSFER_ENCODING);
        self.body = RequestBody::Whole(body);
    }

    /// Behind the last filter.
    fn reach_backend(&mut self, route: &'a Route) -> Option<Next<'a>> {
        let number = self.filtering.as_deref().map_or(0, |filtering| filtering.number);
        match route.backend {
            Backend::Cluster(cluster) => {
                if let Some(by) = &route.hashed_by {
                    self.cx.hash_key = self.hash_key(by).map(Into::into);
                }
                self.tell_host(route);
                self.proxy(ClusterId::Table(number, cluster))
            }
            Backend::Shunt => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::NOT_FOUND;
                Some(self.settle(response))
            }
            Backend::Loopback => self.reroute(),
            Backend::Dynamic { http, https } => {
                let target = self
                    .filtering
                    .as_deref()
                    .map(|filtering| &filtering.exchange.dynamic);
                let Some(authority) = target.and_then(|target| target.authority.as_ref()) else {
                    return self.fail(Reason::NoTarget.into());
                };
                let is_tls = target.and_then(|target| target.scheme.as_deref()) == Some("https");
                let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
                self.cx.dynamic = Some(format!("{}:{port}", authority.host()).into());
                self.tell_host(route);
                self.proxy(ClusterId::Table(number, if is_tls { https } else { http }))
            }
        }
    }

    /// What a backend is chosen by.
    fn hash_key(&mut self, by: &HashedBy) -> Option<String> {
        let mut key = None;
        self.run_filter(|cx| {
            key = match by {
                HashedBy::Source => cx.source(),
                HashedBy::Template(template) => Some(cx.fill(template).text),
            };
            Flow::Next
        });
        key
    }

    /// Through the table again, as the filters have changed the request.
    pub(super) fn reroute(&mut self) -> Option<Next<'a>> {
        let Some(filtering) = self.filtering.as_deref_mut() else {
            return self.fail(Reason::NoRoute.into());
        };
        filtering.loopbacks = filtering.loopbacks.saturating_add(1);
        if filtering.loopbacks > filtering.table.rules.most_loopbacks {
            return self.fail(Reason::TooManyLoopbacks.into());
        }
        if self.body.is_spent() {
            return self.fail(Reason::BodySpent.into());
        }
        let host = self.cx.parts.headers.get(header::HOST).map(valid_host);
        if let Some(host) = host.as_ref().and_then(|host| host.to_str().ok()) {
            host.clone_into(&mut filtering.exchange.host);
        }
        self.enter_route()
    }

    /// Gives the request the Host that its backend is told, if that is not the backend's own.
    fn tell_host(&mut self, route: &Route) {
        let Some(filtering) = self.filtering.as_deref() else {
            return;
        };
        let headers = &mut self.cx.parts.headers;
        let set = headers.get_all(header::HOST).iter().next_back().map(valid_host);
        let preserves = route.preserve_host.unwrap_or(filtering.table.rules.preserve_host);
        let host = set
            .or_else(|| filtering.exchange.outgoing_host.clone())
            .or_else(|| filtering.host.clone().filter(|_| preserves));
        self.cx.keeps_host = host.is_some();
        if let Some(host) = host {
            headers.insert(header::HOST, host);
        }
    }

    /// Gives the request back the Host that it came with: others than filters look for it among the fields.
    pub(super) fn restore_host(&mut self) {
        if let Some(host) = self
            .filtering
            .as_deref_mut()
            .and_then(|filtering| filtering.host.take())
        {
            self.cx.parts.headers.insert(header::HOST, host);
        }
    }

    /// How long the client has for its body.
    pub(super) fn read_timeout(&self) -> Option<Duration> {
        let route = self.filtering.as_deref().and_then(|filtering| filtering.route);
        route
            .and_then(|route| route.read_timeout)
            .or(self.server.body_timeout)
    }

    /// How long the client has to take the answer.
    pub(super) fn write_timeout(&self) -> Option<Duration> {
        let route = self.filtering.as_deref().and_then(|filtering| filtering.route);
        route
            .and_then(|route| route.write_timeout)
            .or(self.server.write_timeout)
    }

    /// The status of a failure among Skipper's routes.
    pub(super) fn status_of(&self, failure: &Failure) -> StatusCode {
        if self.filtering.is_none() {
            return failure.status;
        }
        match (failure.reason, failure.phase) {
            (Reason::TimedOut, Phase::Connect) => StatusCode::BAD_GATEWAY,
            (Reason::Closed | Reason::Cut, _) => StatusCode::SERVICE_UNAVAILABLE,
            (Reason::BadResponse, _) => StatusCode::INTERNAL_SERVER_ERROR,
            _ => failure.status,
        }
    }

    /// The answer to a failure among Skipper's routes: the status in words.
    pub(super) fn unanswered_text(&self, status: StatusCode, reason: Reason) -> Response<Body> {
        let mut response = reply::text(status);
        let headers = response.headers_mut();
        if reply::closes(reason) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
        if self
            .filtering
            .as_deref()
            .is_some_and(|filtering| filtering.is_open)
        {
            headers.insert("x-circuit-open", HeaderValue::from_static("true"));
        }
        response
    }
}

impl Env for Worker {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn wall(&self) -> SystemTime {
        clock::wall()
    }

    fn random(&self) -> u64 {
        self.next_random()
    }
}

// === bodies ===

fn wrapped(body: Body, wrap: filters::Wrap) -> Body {
    Body::new(wrap(Box::pin(body)))
}

fn set_length(headers: &mut HeaderMap, length: Option<u64>) {
    match length {
        Some(length) => {
            headers.insert(header::CONTENT_LENGTH, length.into());
        }
        None => {
            headers.remove(header::CONTENT_LENGTH);
        }
    }
}
