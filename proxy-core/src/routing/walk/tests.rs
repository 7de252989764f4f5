//! Walks through small route lists.

use http::StatusCode;

use super::*;
use crate::routing::glob::PathPattern;
use crate::routing::header_ops::HeaderOps;
use crate::routing::matcher::MatcherSet;
use crate::routing::tests::context;

fn answer(status: u16) -> Handler {
    Handler::Static(Box::new(StaticResponse {
        status: Some(Status::Fixed(StatusCode::from_u16(status).unwrap())),
        ..StaticResponse::default()
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
        response,
        ..Headers::default()
    }))
}

fn subroute(routes: Vec<Route>, errors: Option<Vec<Route>>) -> Handler {
    Handler::Subroute(Box::new(Subroute { routes, errors }))
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

fn code(fixed: &StaticResponse) -> u16 {
    match &fixed.status {
        Some(Status::Fixed(status)) => status.as_u16(),
        _ => 0,
    }
}

fn status(routes: Vec<Route>, path: &str) -> u16 {
    let routes = Routes::new(routes);
    let mut cx = context("GET", &format!("http://a.test{path}"));
    match Walk::new(&routes, &[], cx.host.as_ref(), ()).next(&mut cx) {
        Step::Static(response) => code(response),
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
    let inner = || subroute(vec![on("/b", vec![answer(201)])], None);
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
    let mut walk = Walk::new(&routes, &[], cx.host.as_ref(), ());
    walk.next(&mut cx);

    assert!(cx.answer.contains_key("now") && !cx.answer.contains_key("later"));
    assert!(matches!(walk.next_deferred(), Some(Deferred::Headers(_))));
    assert!(walk.next_deferred().is_none());
}
