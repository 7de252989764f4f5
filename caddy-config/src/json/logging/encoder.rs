//! The form of a line.

use super::{
    super::{
        decode::{Cx, Object},
        reader::{Node, Value as JsonValue},
    },
    kind,
};
use crate::{
    check,
    model::{
        AppendEncoder, FilterAction, FilterEncoder, IpMask, LineFormat, LogEncoder, LogFilter, RegexpFilter,
        Value,
    },
};

const ENCODERS: [&str; 4] = ["append", "console", "filter", "json"];

const FILTERS: [&str; 10] = [
    "cookie",
    "delete",
    "hash",
    "ip_mask",
    "multi_regexp",
    "query",
    "regexp",
    "rename",
    "replace",
    "set_cookie",
];

pub(super) fn encoder<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<LogEncoder> {
    let mut object = Object::open(node, cx)?;
    let encoder = match kind(&mut object, "format", &ENCODERS, cx)? {
        "append" => LogEncoder::Append(AppendEncoder {
            wrap: object.get("wrap", cx, encoder).map(Box::new),
            fields: object
                .get("fields", cx, |node, cx| cx.map(node, value))
                .unwrap_or_default(),
        }),
        "console" => LogEncoder::Console(line_format(&mut object, cx)),
        "filter" => LogEncoder::Filter(FilterEncoder {
            wrap: object.get("wrap", cx, encoder).map(Box::new),
            fields: object
                .get("fields", cx, |node, cx| cx.map(node, filter))
                .unwrap_or_default(),
        }),
        _ => LogEncoder::Json(line_format(&mut object, cx)),
    };
    object.finish(cx);
    Some(encoder)
}

fn line_format<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> LineFormat {
    let mut text = |name, cx: &mut Cx<'n, '_>| object.get(name, cx, |node, cx| cx.string(node));
    let mut format = LineFormat {
        message_key: text("message_key", cx),
        level_key: text("level_key", cx),
        time_key: text("time_key", cx),
        name_key: text("name_key", cx),
        caller_key: text("caller_key", cx),
        stacktrace_key: text("stacktrace_key", cx),
        line_ending: text("line_ending", cx),
        time_format: text("time_format", cx).filter(|text| !text.is_empty()),
        ..LineFormat::default()
    };
    format.time_local = object.flag("time_local", cx);
    let mut word = |name, known: fn(&str) -> Result<(), String>, cx: &mut Cx<'n, '_>| {
        object.get(name, cx, |node, cx| {
            let text = cx.string(node).filter(|text| !text.is_empty())?;
            cx.check(node, known(&text))?;
            Some(text)
        })
    };
    format.duration_format = word("duration_format", check::duration_format, cx);
    format.level_format = word("level_format", check::level_format, cx);
    format
}

/// A value to add; Caddy has no use for lists and objects there either.
fn value<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Value> {
    match &node.value {
        JsonValue::String(text) => Some(Value::String(text.clone())),
        JsonValue::Bool(value) => Some(Value::Bool(*value)),
        JsonValue::Null => Some(Value::Null),
        JsonValue::Number(text) => cx.check(node, check::plain_number(text)).map(Value::Number),
        _ => cx.wrong_type(node, "a text, a number, true or false"),
    }
}

fn filter<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<LogFilter> {
    let mut object = Object::open(node, cx)?;
    let kind = kind(&mut object, "filter", &FILTERS, cx)?;
    let filter = match kind {
        "cookie" => LogFilter::Cookie {
            actions: object.list("actions", cx, |node, cx| action(node, "name", cx)),
        },
        "delete" => LogFilter::Delete {},
        "hash" => LogFilter::Hash {},
        "ip_mask" => LogFilter::IpMask(IpMask {
            ipv4_cidr: object.get("ipv4_cidr", cx, |node, cx| bits(node, 32, cx)),
            ipv6_cidr: object.get("ipv6_cidr", cx, |node, cx| bits(node, 128, cx)),
        }),
        "multi_regexp" => LogFilter::MultiRegexp {
            operations: object.list("operations", cx, |node, cx| {
                let mut object = Object::open(node, cx)?;
                let operation = regexp(&mut object, cx);
                object.finish(cx);
                Some(operation)
            }),
        },
        "query" => LogFilter::Query {
            actions: object.list("actions", cx, |node, cx| action(node, "parameter", cx)),
        },
        "regexp" => LogFilter::Regexp(regexp(&mut object, cx)),
        "rename" => LogFilter::Rename {
            name: text(&mut object, "name", cx),
        },
        "replace" => LogFilter::Replace {
            value: text(&mut object, "value", cx),
        },
        _ => LogFilter::SetCookie {
            actions: object.list("actions", cx, |node, cx| action(node, "name", cx)),
        },
    };
    object.finish(cx);
    Some(filter)
}

fn action<'n>(node: &'n Node, key: &'static str, cx: &mut Cx<'n, '_>) -> Option<FilterAction> {
    let mut object = Object::open(node, cx)?;
    let kind = kind(&mut object, "type", &["delete", "hash", "replace"], cx)?;
    let name = object
        .require(key, cx, |node, cx| cx.string(node))
        .unwrap_or_default();
    let action = match kind {
        "delete" => FilterAction::Delete { name },
        "hash" => FilterAction::Hash { name },
        _ => FilterAction::Replace {
            name,
            value: text(&mut object, "value", cx),
        },
    };
    object.finish(cx);
    Some(action)
}

fn regexp<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> RegexpFilter {
    RegexpFilter {
        regexp: object
            .get("regexp", cx, |node, cx| {
                let pattern = cx.string(node)?;
                cx.check_regex(node, &pattern)?;
                Some(pattern)
            })
            .unwrap_or_default(),
        value: text(object, "value", cx),
    }
}

fn text<'n>(object: &mut Object<'n>, name: &'static str, cx: &mut Cx<'n, '_>) -> String {
    object
        .get(name, cx, |node, cx| cx.string(node))
        .unwrap_or_default()
}

/// So many leading bits; zero stands for all.
fn bits<'n>(node: &'n Node, most: u64, cx: &mut Cx<'n, '_>) -> Option<u8> {
    let bits = cx.number(node, most)?;
    u8::try_from(bits).ok().filter(|bits| *bits != 0)
}
