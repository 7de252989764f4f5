//! The routes of one block: sorted, grouped, and merged where they are alike.

use super::{cx::Cx, order::Order, stable_sort::stable_sort};
use crate::model::Route;

/// A route with the directive that it came from.
#[derive(Clone, Debug)]
pub(super) struct DirectiveRoute {
    pub(super) directive: &'static str,
    pub(super) route: Route,
}

/// Of the routes of these directives, only the first that matches runs. The flag: in a group even when alone, lest
/// it be merged with a neighbour.
const EXCLUSIVE: [(&str, bool); 3] = [("handle", false), ("rewrite", true), ("root", false)];

/// The routes in the order in which they run.
pub(super) fn sorted(mut routes: Vec<DirectiveRoute>, cx: &mut Cx<'_>) -> Vec<Route> {
    stable_sort(&mut routes, &|a, b| goes_before(a, b, &cx.order));
    as_written(routes, cx)
}

/// The routes in the order in which they stand.
pub(super) fn as_written(mut routes: Vec<DirectiveRoute>, cx: &mut Cx<'_>) -> Vec<Route> {
    for (directive, alone) in EXCLUSIVE {
        let count = routes.iter().filter(|route| route.directive == directive).count();
        if count <= 1 && !alone {
            continue;
        }
        // The number is used up even if there is no such route, as in Caddy.
        let group = cx.next_group();
        for route in routes.iter_mut().filter(|route| route.directive == directive) {
            route.route.group = Some(group.clone());
        }
    }
    merged(routes.into_iter().map(|route| route.route))
}

/// Neighbours with equal conditions become one route.
pub(super) fn merged(routes: impl Iterator<Item = Route>) -> Vec<Route> {
    let mut out: Vec<Route> = Vec::new();
    for route in routes {
        match out.last_mut() {
            Some(last)
                if last.matchers == route.matchers
                    && last.terminal == route.terminal
                    && last.group == route.group =>
            {
                last.handlers.extend(route.handlers);
            }
            _ => out.push(route),
        }
    }
    out
}

fn goes_before(a: &DirectiveRoute, b: &DirectiveRoute, order: &Order) -> bool {
    if a.directive != b.directive {
        return order.position(a.directive) < order.position(b.directive);
    }
    let narrower = is_narrower(&a.route, &b.route);
    // The last variable that is set counts, so the narrowest route comes last.
    if a.directive == "vars" {
        !narrower
    } else {
        narrower
    }
}

fn is_narrower(a: &Route, b: &Route) -> bool {
    match (single_path(a), single_path(b)) {
        (Some(a), Some(b)) => {
            let (short_a, short_b) = (a.strip_suffix('*').unwrap_or(a), b.strip_suffix('*').unwrap_or(b));
            if short_a == short_b {
                a.len() < b.len()
            } else if short_a.len() == short_b.len() {
                short_a < short_b
            } else {
                short_a.len() > short_b.len()
            }
        }
        _ => !a.matchers.is_empty() && b.matchers.is_empty(),
    }
}

/// The pattern of a route that matches by one path.
fn single_path(route: &Route) -> Option<&str> {
    let [set] = route.matchers.as_slice() else {
        return None;
    };
    match set.path.as_deref() {
        Some([path]) if !path.is_empty() => Some(path),
        _ => None,
    }
}
