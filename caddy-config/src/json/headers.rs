//! Changes to header fields.

use std::collections::BTreeMap;

use super::{
    decode::{Cx, Object},
    matcher::wanted_fields,
    reader::{Node, Value},
    scalar::pattern,
};
use crate::{
    check,
    model::{HeaderOps, Headers, Replacement, ResponseMatcher, ResponseOps},
};

pub(super) fn headers<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> Headers {
    Headers {
        request: object.get("request", cx, request_ops),
        response: object.get("response", cx, response_ops),
    }
}

/// [`field_values`] of a check, which know one placeholder more.
pub(super) fn check_fields<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<BTreeMap<String, Vec<String>>> {
    let value = |node: &'n Node, cx: &mut Cx<'n, '_>| {
        let text = cx.string(node)?;
        cx.check_value(node, check::health_value(&text))?;
        Some(text)
    };
    let fields = cx.map(node, |node, cx| cx.list(node, value))?;
    check_names(node, fields.keys(), cx);
    Some(fields)
}

/// Field names, each with a list of values.
pub(super) fn field_values<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<BTreeMap<String, Vec<String>>> {
    let fields = cx.map(node, |node, cx| cx.list(node, field_value))?;
    check_names(node, fields.keys(), cx);
    Some(fields)
}

fn request_ops<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<HeaderOps> {
    let mut object = Object::open(node, cx)?;
    let ops = ops(&mut object, cx);
    object.finish(cx);
    Some(ops)
}

fn response_ops<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<ResponseOps> {
    let mut object = Object::open(node, cx)?;
    let response = ResponseOps {
        ops: ops(&mut object, cx),
        require: object.get("require", cx, response_matcher),
        deferred: object.flag("deferred", cx),
    };
    object.finish(cx);
    Some(response)
}

fn ops<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> HeaderOps {
    HeaderOps {
        add: object.get("add", cx, field_values).unwrap_or_default(),
        set: object.get("set", cx, field_values).unwrap_or_default(),
        delete: object.list("delete", cx, field_pattern),
        replace: object.get("replace", cx, replacements).unwrap_or_default(),
    }
}

fn replacements<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<BTreeMap<String, Vec<Replacement>>> {
    let fields = cx.map(node, |node, cx| cx.list(node, replacement))?;
    check_names(node, fields.keys(), cx);
    Some(fields)
}

fn replacement<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Replacement> {
    let mut object = Object::open(node, cx)?;
    let replacement = Replacement {
        search: object
            .get("search", cx, |node, cx| cx.string(node))
            .unwrap_or_default(),
        search_regexp: object.get("search_regexp", cx, pattern).unwrap_or_default(),
        replace: object.get("replace", cx, field_value).unwrap_or_default(),
    };
    let searches = [object.node("search"), object.node("search_regexp")];
    if searches.into_iter().flatten().count() != 1 {
        cx.error(node.span, "give either `search` or `search_regexp`", None);
    }
    object.finish(cx);
    Some(replacement)
}

pub(super) fn response_matcher<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<ResponseMatcher> {
    let mut object = Object::open(node, cx)?;
    let matcher = ResponseMatcher {
        status_code: object.list("status_code", cx, |node, cx| {
            cx.number(node, 999).and_then(|number| u16::try_from(number).ok())
        }),
        headers: object.get("headers", cx, wanted_fields).unwrap_or_default(),
    };
    object.finish(cx);
    Some(matcher)
}

fn field_value<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let value = cx.string(node)?;
    cx.check_value(node, check::field_value(&value))?;
    Some(value)
}

pub(super) fn field_pattern<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let name = cx.string(node)?;
    cx.check(node, check::field_name(&name))?;
    Some(name)
}

pub(super) fn check_names<'k>(node: &Node, names: impl Iterator<Item = &'k String>, cx: &mut Cx<'_, '_>) {
    let Value::Object(members) = &node.value else {
        return;
    };
    for name in names {
        let span = members
            .iter()
            .find(|member| member.key == *name)
            .map_or(node.span, |member| member.key_span);
        if let Err(message) = check::field_name(name) {
            cx.error(span, message, None);
        }
    }
}
