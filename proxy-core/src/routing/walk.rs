//! The way of one request through compiled routes.

use std::slice;

use doors_routing::{Decision, GoneReason};

use super::doors::Doors;
use super::header_ops::{HeaderOps, ResponseOps};
use super::host_index::Candidate;
use super::respond::StaticResponse;
use super::routes::{Handler, Route, Routes};
use crate::request::Context;

/// Where a request stands in the routes. [`Walk::next`] goes on to the next handler that may answer.
#[derive(Debug)]
pub(crate) struct Walk<'v> {
    frames: Vec<Frame<'v>>,
    deferred: Vec<&'v ResponseOps>,
    doors: Option<(&'v Doors, Decision)>,
}

/// What is to do for a request.
#[derive(Debug)]
pub(crate) enum Step<'v> {
    /// Answer with this.
    Static(&'v StaticResponse),
    /// Forward by the proxy of this number.
    Proxy(usize),
    /// The token in the path names no pod.
    Gone(&'v Doors, GoneReason),
    /// No handler answers.
    End,
}

#[derive(Debug)]
struct Frame<'v> {
    routes: Pending<'v>,
    handlers: slice::Iter<'v, Handler>,
    terminal: bool,
    groups: Vec<usize>,
}

#[derive(Debug)]
enum Pending<'v> {
    Indexed {
        routes: &'v [Route],
        candidates: slice::Iter<'v, Candidate>,
    },
    All(slice::Iter<'v, Route>),
}

// === impl Walk ===

impl<'v> Walk<'v> {
    /// Begins at the first route for the request's host.
    pub(crate) fn new(routes: &'v Routes, cx: &Context) -> Self {
        let candidates = routes.index.candidates(&cx.host_name()).iter();
        let first = Frame::new(Pending::Indexed {
            routes: &routes.list,
            candidates,
        });
        // Room for a few nested subroutes.
        let mut frames = Vec::with_capacity(4);
        frames.push(first);
        Self {
            frames,
            deferred: Vec::new(),
            doors: None,
        }
    }

    /// Goes on to the next handler that may answer, applying the filters on the way.
    pub(crate) fn next(&mut self, cx: &mut Context) -> Step<'v> {
        while let Some(frame) = self.frames.last_mut() {
            let Some(handler) = frame.handlers.next() else {
                if frame.terminal {
                    self.frames.clear();
                } else if !frame.enter_next_route(cx) {
                    self.frames.pop();
                }
                continue;
            };
            match handler {
                Handler::Subroute(routes) => self.frames.push(Frame::new(Pending::All(routes.iter()))),
                Handler::Headers(headers) => {
                    apply_request_ops(&headers.request, cx);
                    self.apply_response_ops(headers.response.as_ref(), cx);
                }
                Handler::Doors(doors) => match doors.decide(cx) {
                    Decision::Gone(reason) => return Step::Gone(doors, reason),
                    decision => self.doors = Some((doors, decision)),
                },
                Handler::Static(response) => return Step::Static(response),
                Handler::Proxy(number) => return Step::Proxy(*number),
            }
        }
        Step::End
    }

    /// What the last `doors_handler` on the way decided.
    pub(crate) fn doors(&self) -> Option<(&'v Doors, Decision)> {
        self.doors
    }

    /// Whether any filter waits for the answer.
    pub(crate) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// The filters of the response phase, in the order in which they apply: last to first.
    pub(crate) fn deferred(&self) -> impl Iterator<Item = &'v ResponseOps> + '_ {
        self.deferred.iter().rev().copied()
    }

    fn apply_response_ops(&mut self, ops: Option<&'v ResponseOps>, cx: &mut Context) {
        let Some(ops) = ops else { return };
        if ops.deferred {
            self.deferred.push(ops);
        } else {
            let mut early = std::mem::take(&mut cx.early);
            // No answer exists yet, so a condition on its status cannot hold.
            ops.apply(0, &mut early, cx);
            cx.early = early;
        }
    }
}

fn apply_request_ops(ops: &HeaderOps, cx: &mut Context) {
    if ops.is_empty() {
        return;
    }
    let mut headers = std::mem::take(&mut cx.parts.headers);
    ops.apply(&mut headers, cx);
    cx.parts.headers = headers;
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

    fn enter_next_route(&mut self, cx: &Context) -> bool {
        while let Some((route, matches)) = self.routes.next(cx, &self.groups) {
            if !matches {
                continue;
            }
            self.groups.extend(route.group);
            self.handlers = route.handlers.iter();
            self.terminal = route.terminal;
            return true;
        }
        false
    }
}

// === impl Pending ===

impl<'v> Pending<'v> {
    /// The next route and whether it runs; a route of a group that has run is not even matched.
    fn next(&mut self, cx: &Context, groups: &[usize]) -> Option<(&'v Route, bool)> {
        let done = |route: &Route| route.group.is_some_and(|group| groups.contains(&group));
        match self {
            Self::All(routes) => {
                let route = routes.next()?;
                Some((route, !done(route) && route.matches(cx)))
            }
            Self::Indexed { routes, candidates } => {
                let candidate = candidates.next()?;
                let route = routes.get(candidate.route)?;
                Some((route, !done(route) && candidate.matches(route, cx)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::routing::glob::PathPattern;
    use crate::routing::matcher::MatcherSet;
    use crate::routing::respond::Text;
    use crate::routing::routes::Headers;
    use crate::routing::template::Template;
    use crate::routing::tests::context;

    fn answer(status: u16) -> Handler {
        let (status, body) = (
            StatusCode::from_u16(status).unwrap(),
            Text::new(Template::default()),
        );
        Handler::Static(Box::new(StaticResponse {
            status,
            headers: vec![],
            body,
            close: false,
            abort: false,
        }))
    }

    fn set(name: &'static str, deferred: bool) -> Handler {
        let value = (http::HeaderName::from_static(name), "1".parse().unwrap());
        let ops = HeaderOps {
            set: vec![value],
            ..HeaderOps::default()
        };
        let response = Some(ResponseOps {
            ops,
            deferred,
            ..ResponseOps::default()
        });
        Handler::Headers(Box::new(Headers {
            request: HeaderOps::default(),
            response,
        }))
    }

    fn on(path: &str, handlers: Vec<Handler>) -> Route {
        let matchers = MatcherSet {
            path: Some(vec![PathPattern::new(path)]),
            ..MatcherSet::default()
        };
        Route {
            matchers: vec![matchers],
            handlers,
            ..Route::default()
        }
    }

    fn status(routes: Vec<Route>, path: &str) -> u16 {
        let routes = Routes::new(routes);
        let mut cx = context("GET", &format!("http://a.test{path}"));
        match Walk::new(&routes, &cx).next(&mut cx) {
            Step::Static(response) => response.status.as_u16(),
            _ => 0,
        }
    }

    #[test]
    fn the_first_handler_that_answers_ends_the_walk() {
        let filter = || on("/a*", vec![set("x", false)]);
        let routes = || vec![filter(), on("/a", vec![answer(201)]), on("*", vec![answer(202)])];
        assert_eq!(status(routes(), "/a"), 201);
        assert_eq!(status(routes(), "/ab"), 202);
    }

    #[test]
    fn after_a_terminal_route_nothing_runs() {
        let terminal = Route {
            terminal: true,
            ..on("/a", vec![set("x", false)])
        };
        assert_eq!(status(vec![terminal, on("*", vec![answer(201)])], "/a"), 0);
    }

    #[test]
    fn of_a_group_only_the_first_match_runs() {
        let first = Route {
            group: Some(1),
            ..on("/a", vec![set("x", false)])
        };
        let second = Route {
            group: Some(1),
            ..on("*", vec![answer(201)])
        };
        assert_eq!(status(vec![first, second, on("*", vec![answer(202)])], "/a"), 202);
    }

    #[test]
    fn a_subroute_that_does_not_answer_is_left_again() {
        let inner = || Handler::Subroute(vec![on("/b", vec![answer(201)])]);
        let routes = || vec![on("*", vec![inner(), answer(202)])];
        assert_eq!(status(routes(), "/b"), 201);
        assert_eq!(status(routes(), "/c"), 202);
    }

    #[test]
    fn filters_run_on_the_way_in_or_wait_for_the_answer() {
        let routes = Routes::new(vec![on(
            "*",
            vec![set("now", false), set("later", true), answer(200)],
        )]);
        let mut cx = context("GET", "http://a.test/");
        let mut walk = Walk::new(&routes, &cx);
        walk.next(&mut cx);

        assert!(cx.early.contains_key("now") && !cx.early.contains_key("later"));
        assert_eq!(walk.deferred().count(), 1);
    }
}
