//! Matchers.

use std::collections::{BTreeMap, HashSet};

use super::{
    decode::{Cx, Object},
    headers::check_names,
    reader::{Node, Value},
    scalar::{pattern, template, word},
};
use crate::{
    check,
    expression::Program,
    model::{Expression, IpMatcher, MatcherSet, RegexpMatcher},
    support::{Area, SupportState, support},
};

pub(super) fn matcher_set<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<MatcherSet> {
    let mut object = Object::open(node, cx)?;
    let set = MatcherSet {
        client_ip: object.get("client_ip", cx, ranges),
        expression: object.get("expression", cx, expression),
        geo_country: object.get("geo_country", cx, |node, cx| cx.list(node, country)),
        header: object.get("header", cx, wanted_fields).unwrap_or_default(),
        header_regexp: object.get("header_regexp", cx, field_regexps).unwrap_or_default(),
        host: object.get("host", cx, hosts),
        method: object.get("method", cx, |node, cx| cx.list(node, method)),
        not: object.list("not", cx, matcher_set),
        path: object.get("path", cx, templates),
        path_regexp: object.get("path_regexp", cx, regexp),
        protocol: object.get("protocol", cx, |node, cx| cx.string(node)),
        query: object.get("query", cx, keyed_templates),
        remote_ip: object.get("remote_ip", cx, ranges),
        vars: object.get("vars", cx, keyed_templates).unwrap_or_default(),
        vars_regexp: object.get("vars_regexp", cx, keyed_regexps).unwrap_or_default(),
    };
    for row in support().filter(|row| row.area == Area::Matcher && row.state == SupportState::Refused) {
        object.refuse(row.name, row.note, cx);
    }
    object.finish(cx);
    Some(set)
}

fn templates<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Vec<String>> {
    cx.list(node, template)
}

/// Fields, each with the values of which it must have one; `null` asks for the field's absence.
pub(super) fn wanted_fields<'n>(
    node: &'n Node,
    cx: &mut Cx<'n, '_>,
) -> Option<BTreeMap<String, Option<Vec<String>>>> {
    let fields = cx.map(node, |node, cx| match node.value {
        Value::Null => Some(None),
        _ => templates(node, cx).map(Some),
    })?;
    check_names(node, fields.keys(), cx);
    Some(fields)
}

fn country<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let code = cx.string(node)?;
    cx.check(node, check::country(&code))
}

fn method<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let method = cx.string(node)?;
    cx.check(node, check::method(&method))?;
    Some(method)
}

/// Caddy refuses a host that is listed twice too.
fn hosts<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Vec<String>> {
    let mut seen = HashSet::new();
    cx.list(node, |node, cx| {
        let host = template(node, cx)?;
        let host = cx.check(node, check::host_pattern(&host))?;
        let new = seen.insert(host.to_ascii_lowercase());
        cx.check(node, new.then_some(()).ok_or("this host is repeated"))?;
        Some(host)
    })
}

fn ranges<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<IpMatcher> {
    let mut object = Object::open(node, cx)?;
    let matcher = IpMatcher {
        ranges: object.list("ranges", cx, |node, cx| {
            let range = cx.string(node)?;
            cx.check(node, check::ip_range(&range))?;
            Some(range)
        }),
    };
    object.finish(cx);
    Some(matcher)
}

/// A string, or an object with a name beside it.
fn expression<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Expression> {
    if !matches!(node.value, Value::Object(_)) {
        let expr = cx.string(node)?;
        return checked(node, Expression { expr, name: None }, cx);
    }
    let mut object = Object::open(node, cx)?;
    let expr = object.require("expr", cx, |node, cx| cx.string(node));
    let name = object.get("name", cx, word);
    object.finish(cx);
    checked(node, Expression { expr: expr?, name }, cx)
}

fn checked(node: &Node, expression: Expression, cx: &mut Cx<'_, '_>) -> Option<Expression> {
    match Program::parse(&expression.expr, expression.name.as_deref()) {
        Ok(program) => {
            let taken = cx.regexps.take_states(program.regexp_states());
            cx.check(node, taken.map_err(|error| error.to_string()))?;
            Some(expression)
        }
        Err(error) => {
            cx.error(node.span, error.to_string(), error.way_out().map(str::to_owned));
            None
        }
    }
}

/// Keys, each with a list of values; both may hold placeholders.
fn keyed_templates<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<BTreeMap<String, Vec<String>>> {
    let keys = cx.map(node, templates)?;
    for key in keys.keys() {
        cx.check_value(node, check::template(key));
    }
    Some(keys)
}

fn keyed_regexps<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<BTreeMap<String, RegexpMatcher>> {
    let keys = cx.map(node, regexp)?;
    for key in keys.keys() {
        cx.check_value(node, check::template(key));
    }
    Some(keys)
}

fn field_regexps<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<BTreeMap<String, RegexpMatcher>> {
    let fields = cx.map(node, regexp)?;
    check_names(node, fields.keys(), cx);
    Some(fields)
}

fn regexp<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<RegexpMatcher> {
    let mut object = Object::open(node, cx)?;
    let regexp = RegexpMatcher {
        name: object.get("name", cx, word),
        pattern: object.get("pattern", cx, pattern).unwrap_or_default(),
    };
    object.finish(cx);
    Some(regexp)
}
