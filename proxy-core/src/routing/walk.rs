//! The way of one request through compiled routes.

use std::slice;

use doors_routing::{Decision, GoneReason};
use http::{HeaderValue, Response};

use super::doors::Doors;
use super::header_ops::{OfAnswer, OfRequest, ResponseOps};
use super::host_index::Candidate;
use super::respond::{Raise, StaticResponse, Status};
use super::routes::{Authenticate, Destinations, Handler, Headers, Metrics, Route, Routes, Subroute};
use super::slots::Value;
use super::template::Template;
use super::trace::Tracer;
use crate::body::Body;
use crate::encode::{self, Encode};
use crate::error::{Failure, Reason};
use crate::request::{Context, host_name};
use crate::skipper::table::Placed;

/// How deep routes may lead into each other.
const MAX_DEPTH: usize = 100;

/// Where a request stands in the routes. [`Walk::next`] goes on to the next handler that needs more than the request's
/// head.
#[derive(Debug)]
pub(crate) struct Walk<'v, T = ()> {
    pub(crate) tracer: T,
    frames: Vec<Frame<'v>>,
    /// What is done with the answer, in the order in which it was met.
    deferred: Vec<Deferred<'v>>,
    /// Subroutes with routes for errors that the request came through.
    catches: Vec<Catch<'v>>,
    named: &'v [Route],
    doors: Option<(&'v Doors, Decision)>,
    /// The numbers of routes that count their requests and were entered since somebody asked.
    counted: Vec<usize>,
}

/// What is to do for a request.
#[derive(Debug)]
pub(crate) enum Step<'v> {
    /// Answer with this, or with nothing.
    Static(&'v StaticResponse),
    /// This is the answer.
    Answer(Box<Response<Body>>),
    /// Forward by the proxy of this number.
    Proxy(usize),
    /// Go through Skipper's routes: the table of this number.
    Skipper(usize),
    /// The token in the path names no pod.
    Gone(&'v Doors, GoneReason),
    /// Look who it is, and go on if that is known.
    Authenticate(&'v Authenticate),
    /// Answer with what was caught.
    CopyResponse(Option<&'v Status>),
    /// Answer with the numbers of the process.
    Metrics(Metrics),
    /// The body may be as long as this; go on.
    LimitBody(u64),
    /// This is the body; go on.
    SetBody(&'v Template),
    /// End with an error.
    Raise(&'v Raise),
    Failed(Box<Failure>),
    /// No handler answers.
    End,
}

/// What waits for the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deferred<'v> {
    Headers(&'v ResponseOps),
    Encode(&'v Encode, encode::Asked),
    /// A filter of Skipper's routes.
    Filter(&'v Placed),
}

#[derive(Clone, Debug)]
struct Frame<'v> {
    routes: Pending<'v>,
    handlers: slice::Iter<'v, Handler>,
    terminal: bool,
    groups: Vec<usize>,
}

#[derive(Clone, Debug)]
enum Pending<'v> {
    /// Those of a server.
    Indexed {
        routes: &'v [Route],
        /// Which of them are worth trying; `None`: all.
        candidates: Option<slice::Iter<'v, Candidate>>,
        /// The number behind that of the last route that was tried.
        next: usize,
    },
    All(slice::Iter<'v, Route>),
}

/// Routes for the errors of a subroute, and what follows them.
#[derive(Debug)]
struct Catch<'v> {
    errors: &'v [Route],
    frames: Vec<Frame<'v>>,
    deferred: usize,
}

// === impl Walk ===

impl<'v, T: Tracer<'v>> Walk<'v, T> {
    /// Begins at the first route for the request's host. `named` are the routes that an `invoke` runs.
    pub(crate) fn new(routes: &'v Routes, named: &'v [Route], host: Option<&HeaderValue>, tracer: T) -> Self {
        // Room for a few nested subroutes.
        let mut frames = Vec::with_capacity(4);
        frames.push(Frame::indexed(routes, host));
        Self {
            tracer,
            frames,
            deferred: Vec::new(),
            catches: Vec::new(),
            named,
            doors: None,
            counted: Vec::new(),
        }
    }

    /// Goes on to the next handler that needs more than the head; the others are run on the way.
    pub(crate) fn next(&mut self, cx: &mut Context) -> Step<'v> {
        while let Some(frame) = self.frames.last_mut() {
            let Some(handler) = frame.handlers.next() else {
                if frame.terminal {
                    self.frames.clear();
                    continue;
                }
                match frame.enter_next_route(cx, &mut self.tracer) {
                    Ok(Some(route)) => self.counted.extend(route.counted),
                    Ok(None) => {
                        self.frames.pop();
                    }
                    Err(failure) => return Step::Failed(failure),
                }
                continue;
            };
            if let Some(step) = self.run(handler, cx) {
                return step;
            }
        }
        Step::End
    }

    /// Runs a handler, or says what it needs.
    fn run(&mut self, handler: &'v Handler, cx: &mut Context) -> Option<Step<'v>> {
        self.tracer.runs(handler, self.frames.len(), cx);
        match handler {
            Handler::Subroute(subroute) => return self.enter_subroute(subroute),
            Handler::Invoke(number) => {
                let route = self.named.get(*number).map_or(&[][..], slice::from_ref);
                return self.enter(route);
            }
            Handler::Headers(headers) => self.headers(headers, cx),
            Handler::Rewrite(rewrite) => match rewrite.of(cx) {
                Ok(new) => cx.rewrite(new.method, new.target),
                Err(failure) => return Some(Step::Failed(failure)),
            },
            Handler::Vars(vars) => vars.iter().for_each(|one| one.run(cx)),
            Handler::Map(destinations) => map(destinations, cx),
            Handler::CopyFields(fields) => fields.run(cx),
            Handler::Encode(encode) => {
                let asked = encode.ask(&mut cx.parts);
                self.deferred.push(Deferred::Encode(encode, asked));
            }
            Handler::Doors(doors) => match doors.decide(cx) {
                Decision::Gone(reason) => return Some(Step::Gone(doors, reason)),
                decision => self.doors = Some((doors, decision)),
            },
            Handler::Geo(geo) => return geo.run(cx).map(Box::new).map(Step::Answer),
            Handler::Static(response) => return Some(Step::Static(response)),
            Handler::Proxy(number) => return Some(Step::Proxy(*number)),
            Handler::Skipper(number) => return Some(Step::Skipper(*number)),
            Handler::Authenticate(users) => return Some(Step::Authenticate(users)),
            Handler::CopyResponse(status) => return Some(Step::CopyResponse(status.as_ref())),
            Handler::LimitBody(most) => return Some(Step::LimitBody(*most)),
            Handler::SetBody(body) => return Some(Step::SetBody(body)),
            Handler::Metrics(metrics) => return Some(Step::Metrics(*metrics)),
            Handler::Raise(raise) => return Some(Step::Raise(raise)),
        }
        None
    }

    fn enter_subroute(&mut self, subroute: &'v Subroute) -> Option<Step<'v>> {
        if let Some(errors) = &subroute.errors {
            self.catches.push(Catch {
                errors,
                frames: self.frames.clone(),
                deferred: self.deferred.len(),
            });
        }
        self.enter(&subroute.routes)
    }

    /// Goes through `routes` before what follows here.
    pub(crate) fn enter(&mut self, routes: &'v [Route]) -> Option<Step<'v>> {
        if self.frames.len() > MAX_DEPTH {
            return Some(Step::Failed(Box::new(Reason::TooDeep.into())));
        }
        self.frames.push(Frame::new(Pending::All(routes.iter())));
        None
    }

    /// After an error: goes to the routes for errors of the subroute that is nearest, if there is one. What followed
    /// the subroute then follows them, and what was to be done with the answer inside of it is not.
    pub(crate) fn catch(&mut self) -> bool {
        let Some(catch) = self.catches.pop() else {
            return false;
        };
        self.frames = catch.frames;
        self.frames.push(Frame::new(Pending::All(catch.errors.iter())));
        self.deferred.truncate(catch.deferred);
        true
    }

    /// After an error: goes to the routes for errors of the server.
    pub(crate) fn restart(&mut self, errors: &'v Routes, cx: &Context) {
        self.abandon();
        self.frames.push(Frame::indexed(errors, cx.host.as_ref()));
    }

    /// Nothing more is done, with the answer neither.
    pub(crate) fn abandon(&mut self) {
        self.frames.clear();
        self.deferred.clear();
        self.catches.clear();
    }

    /// A filter waits for the answer.
    pub(crate) fn defer(&mut self, filter: &'v Placed) {
        self.deferred.push(Deferred::Filter(filter));
    }

    /// After an error that nothing else answers: nothing more is done but by the filters that want to see errors, too.
    pub(crate) fn leave_to_filters(&mut self) {
        self.frames.clear();
        self.catches.clear();
        self.deferred
            .retain(|deferred| matches!(deferred, Deferred::Filter(placed) if placed.wants.errors));
    }

    /// The routes that count the request, each once.
    pub(crate) fn counted(&mut self) -> impl Iterator<Item = usize> {
        std::mem::take(&mut self.counted).into_iter()
    }

    /// What the last `doors_handler` on the way decided.
    pub(crate) fn doors(&self) -> Option<(&'v Doors, Decision)> {
        self.doors
    }

    /// Whether the request may still be asked for once it is sent: by what waits for the answer, or by routes for
    /// errors.
    pub(crate) fn needs_request(&self) -> bool {
        !self.catches.is_empty() || self.deferred.iter().any(Deferred::needs_request)
    }

    /// The next that waits for the answer: last to first.
    pub(crate) fn next_deferred(&mut self) -> Option<Deferred<'v>> {
        self.deferred.pop()
    }

    fn headers(&mut self, headers: &'v Headers, cx: &mut Context) {
        if !headers.request.is_empty() {
            headers.request.apply(&mut OfRequest(cx));
            if headers.touches_host {
                cx.follow_host();
                self.frames.iter_mut().for_each(Frame::forget_index);
            }
        }
        let Some(response) = &headers.response else { return };
        if response.deferred {
            self.deferred.push(Deferred::Headers(response));
        } else {
            response.ops.apply(&mut OfAnswer(cx));
        }
    }
}

// === impl Deferred ===

impl Deferred<'_> {
    fn needs_request(&self) -> bool {
        match self {
            Self::Headers(_) | Self::Encode(..) => true,
            Self::Filter(placed) => placed.wants.head,
        }
    }
}

fn map(destinations: &Destinations, cx: &mut Context) {
    for (number, slot) in destinations.slots.iter().enumerate() {
        // Of several maps with one destination the first gives its value.
        if !cx.vars.get(*slot).is_set() {
            cx.vars
                .set(*slot, Value::Mapped(destinations.map.clone(), number));
        }
    }
}

// === impl Frame ===

impl<'v> Frame<'v> {
    fn new(routes: Pending<'v>) -> Self {
        Self {
            routes,
            handlers: [].iter(),
            terminal: false,
            groups: Vec::new(),
        }
    }

    fn indexed(routes: &'v Routes, host: Option<&HeaderValue>) -> Self {
        let candidates = routes.index.as_ref().map(|index| {
            let host = host.map(host_name).unwrap_or_default();
            index.candidates(&host).iter()
        });
        Self::new(Pending::Indexed {
            routes: &routes.list,
            candidates,
            next: 0,
        })
    }

    fn enter_next_route(
        &mut self,
        cx: &mut Context,
        tracer: &mut impl Tracer<'v>,
    ) -> Result<Option<&'v Route>, Box<Failure>> {
        while let Some((route, matches)) = self.routes.next(cx, &self.groups, tracer)? {
            if !matches {
                continue;
            }
            tracer.entered(route);
            self.groups.extend(route.group);
            self.handlers = route.handlers.iter();
            self.terminal = route.terminal;
            return Ok(Some(route));
        }
        Ok(None)
    }

    /// The request has another host now: every route is tried.
    fn forget_index(&mut self) {
        if let Pending::Indexed { candidates, .. } = &mut self.routes {
            *candidates = None;
        }
    }
}

// === impl Pending ===

/// A route, and whether it runs.
type Tried<'v> = Option<(&'v Route, bool)>;

impl<'v> Pending<'v> {
    /// The next route and whether it runs.
    fn next(
        &mut self,
        cx: &mut Context,
        groups: &[usize],
        tracer: &mut impl Tracer<'v>,
    ) -> Result<Tried<'v>, Box<Failure>> {
        let (route, candidate) = match self {
            Self::All(routes) => (routes.next(), None),
            Self::Indexed {
                routes,
                candidates,
                next,
            } => {
                let candidate = candidates.as_mut().map(Iterator::next);
                let number = match candidate {
                    // Every route is worth trying.
                    None => *next,
                    Some(Some(candidate)) => candidate.route,
                    Some(None) => routes.len(),
                };
                tracer.elsewhere(routes.get(*next..number).unwrap_or_default());
                *next = number.saturating_add(1);
                (routes.get(number), candidate.flatten())
            }
        };
        let Some(route) = route else { return Ok(None) };
        if route.group.is_some_and(|group| groups.contains(&group)) {
            // One of its group has run, so it is not even matched.
            tracer.excluded(route);
            return Ok(Some((route, false)));
        }
        let matches = match candidate {
            Some(candidate) => candidate.matches(route, cx)?,
            None => route.matches(cx)?,
        };
        if !matches {
            tracer.refused(route, cx);
        }
        Ok(Some((route, matches)))
    }
}

#[cfg(test)]
mod tests;
