//! Routes.

use super::{
    decode::{Cx, Object},
    handler::handler,
    matcher::matcher_set,
    reader::Node,
};
use crate::model::{ErrorRoutes, Route};

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
