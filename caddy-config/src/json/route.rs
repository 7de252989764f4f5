//! Routes and matchers.

use super::{
    decode::{Cx, Object},
    handler::handler,
    reader::Node,
};
use crate::model::{MatcherSet, Route};

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

fn matcher_set<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<MatcherSet> {
    let mut object = Object::open(node, cx)?;
    let set = MatcherSet {
        host: object.get("host", cx, strings),
        method: object.get("method", cx, strings),
        path: object.get("path", cx, strings),
    };
    object.finish(cx);
    Some(set)
}

fn strings<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Vec<String>> {
    cx.list(node, |node, cx| cx.string(node))
}
