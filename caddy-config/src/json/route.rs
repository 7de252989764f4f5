//! Routes and matchers.

use std::collections::HashSet;

use super::{
    decode::{Cx, Object},
    handler::handler,
    reader::Node,
};
use crate::{
    check,
    model::{ErrorRoutes, MatcherSet, Route},
};

pub(super) fn route<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Route> {
    let mut object = Object::open(node, cx)?;
    let route = Route {
        group: object
            .get("group", cx, |node, cx| cx.string(node))
            .filter(|group| !group.is_empty()),
        matchers: object.list("match", cx, matcher_set),
        handlers: object.list("handle", cx, handler),
        terminal: object.flag("terminal", cx),
    };
    object.finish(cx);
    Some(route)
}

/// What stands at `errors`, in servers and subroutes.
pub(super) fn error_routes<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<ErrorRoutes> {
    let mut object = Object::open(node, cx)?;
    let errors = ErrorRoutes {
        routes: object.list("routes", cx, route),
    };
    object.finish(cx);
    Some(errors)
}

fn matcher_set<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<MatcherSet> {
    let mut object = Object::open(node, cx)?;
    let set = MatcherSet {
        host: object.get("host", cx, hosts),
        method: object.get("method", cx, values),
        path: object.get("path", cx, values),
        ..MatcherSet::default()
    };
    object.finish(cx);
    Some(set)
}

fn values<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Vec<String>> {
    cx.list(node, |node, cx| {
        let text = cx.string(node)?;
        cx.check(node, check::no_placeholder(&text))?;
        Some(text)
    })
}

/// Caddy refuses a host that is listed twice too.
fn hosts<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Vec<String>> {
    let mut seen = HashSet::new();
    cx.list(node, |node, cx| {
        let host = cx.string(node)?;
        cx.check(node, check::no_placeholder(&host))?;
        cx.check(
            node,
            seen.insert(host.to_ascii_lowercase())
                .then_some(())
                .ok_or("this host is repeated"),
        )?;
        Some(host)
    })
}
