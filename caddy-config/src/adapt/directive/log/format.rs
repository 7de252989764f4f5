//! `format json|console { ... }`, `format filter { ... }`, `format append { ... }`: the form of a line.

use std::collections::BTreeMap;

use super::{
    super::super::{
        cx::Cx,
        values::{Once, block, scalar, text},
    },
    kind,
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{
        AppendEncoder, FilterAction, FilterEncoder, IpMask, LineFormat, LogEncoder, LogFilter, RegexpFilter,
        Value,
    },
};

const FORMATS: [&str; 4] = ["append", "console", "filter", "json"];

const OPTIONS: [&str; 11] = [
    "caller_key",
    "duration_format",
    "level_format",
    "level_key",
    "line_ending",
    "message_key",
    "name_key",
    "stacktrace_key",
    "time_format",
    "time_key",
    "time_local",
];

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

/// Reads `format KIND ...` or `wrap KIND ...`.
pub(super) fn read(line: &Line, cx: &mut Cx<'_>) -> Option<LogEncoder> {
    let (kind, rest) = kind(line, "console, json, filter or append", cx)?;
    if FORMATS.contains(&kind.text.as_str()) {
        cx.surplus(rest);
    }
    match kind.text.as_str() {
        "append" => Some(LogEncoder::Append(append(line, cx))),
        "console" => Some(LogEncoder::Console(line_format(line, cx))),
        "filter" => Some(LogEncoder::Filter(filter(line, cx))),
        "json" => Some(LogEncoder::Json(line_format(line, cx))),
        "journald" => {
            let help = "write `format json` to standard error, which systemd keeps as it is".to_owned();
            cx.error(kind.span, "the format `journald` is not supported", help);
            None
        }
        "transform" => {
            let help =
                "it is a plug-in of Caddy; `format filter` and `format append` change fields".to_owned();
            cx.error(kind.span, "the format `transform` is not supported", help);
            None
        }
        _ => {
            cx.unknown(kind, "format", &FORMATS);
            None
        }
    }
}

fn line_format(line: &Line, cx: &mut Cx<'_>) -> LineFormat {
    let mut format = LineFormat::default();
    let mut once = Once::default();
    for line in block(line) {
        once.note(&line.name, cx);
        match line.name.text.as_str() {
            "time_local" => {
                cx.nothing(line);
                format.time_local = true;
            }
            "duration_format" => format.duration_format = word(line, check::duration_format, cx),
            "level_format" => format.level_format = word(line, check::level_format, cx),
            "time_format" => {
                format.time_format = text(line, "a format", cx).filter(|text| !text.is_empty());
            }
            "message_key" => format.message_key = text(line, "a key", cx),
            "level_key" => format.level_key = text(line, "a key", cx),
            "time_key" => format.time_key = text(line, "a key", cx),
            "name_key" => format.name_key = text(line, "a key", cx),
            "caller_key" => format.caller_key = text(line, "a key", cx),
            "stacktrace_key" => format.stacktrace_key = text(line, "a key", cx),
            "line_ending" => format.line_ending = text(line, "the end of a line", cx),
            _ => cx.unknown(&line.name, "option", &OPTIONS),
        }
    }
    format
}

fn word(line: &Line, known: fn(&str) -> Result<(), String>, cx: &mut Cx<'_>) -> Option<String> {
    let arg = cx.one(line, "a format")?;
    cx.check(arg, known(&arg.text)).map(|()| arg.text.clone())
}

// === append ===

fn append(line: &Line, cx: &mut Cx<'_>) -> AppendEncoder {
    let mut append = AppendEncoder::default();
    for line in block(line) {
        match line.name.text.as_str() {
            "wrap" => append.wrap = read(line, cx).map(Box::new),
            "fields" if line.block.is_some() => {
                cx.surplus(&line.args);
                for line in block(line) {
                    field(line, &mut append.fields, cx);
                }
            }
            _ => field(line, &mut append.fields, cx),
        }
    }
    append
}

fn field(line: &Line, fields: &mut BTreeMap<String, Value>, cx: &mut Cx<'_>) {
    if let Some(arg) = cx.one(line, "a value") {
        fields.extend(scalar(arg, cx).map(|value| (line.name.text.clone(), value)));
    }
}

// === filter ===

fn filter(line: &Line, cx: &mut Cx<'_>) -> FilterEncoder {
    let mut filter = FilterEncoder::default();
    for line in block(line) {
        match line.name.text.as_str() {
            "wrap" => filter.wrap = read(line, cx).map(Box::new),
            "fields" if line.block.is_some() => {
                cx.surplus(&line.args);
                for line in block(line) {
                    filtered(line, &mut filter.fields, cx);
                }
            }
            _ => filtered(line, &mut filter.fields, cx),
        }
    }
    filter
}

/// `FIELD FILTER ...`. Several regular expressions for one field run one after the other.
fn filtered(line: &Line, fields: &mut BTreeMap<String, LogFilter>, cx: &mut Cx<'_>) {
    let Some(new) = one_filter(line, cx) else { return };
    let path = &line.name.text;
    let joined = match (fields.remove(path), new) {
        (None, new) => new,
        (Some(LogFilter::Regexp(first)), LogFilter::Regexp(second)) => LogFilter::MultiRegexp {
            operations: vec![first, second],
        },
        (Some(LogFilter::MultiRegexp { mut operations }), LogFilter::Regexp(next)) => {
            operations.push(next);
            LogFilter::MultiRegexp { operations }
        }
        (Some(_), new) => {
            let message = "this field has a filter already; only several of `regexp` go together";
            cx.error(line.name.span, message, None);
            new
        }
    };
    fields.insert(path.clone(), joined);
}

fn one_filter(line: &Line, cx: &mut Cx<'_>) -> Option<LogFilter> {
    let (kind, rest) = kind(line, "a filter, such as delete", cx)?;
    let takes_block = matches!(
        kind.text.as_str(),
        "cookie" | "ip_mask" | "multi_regexp" | "query" | "set_cookie"
    );
    if !takes_block {
        cx.no_block(line);
    }
    let (most, filter) = match kind.text.as_str() {
        "cookie" => (
            0,
            LogFilter::Cookie {
                actions: actions(line, cx),
            },
        ),
        "delete" => (0, LogFilter::Delete {}),
        "hash" => (0, LogFilter::Hash {}),
        "ip_mask" => (2, LogFilter::IpMask(ip_mask(line, rest, cx))),
        "multi_regexp" => (
            0,
            LogFilter::MultiRegexp {
                operations: operations(line, cx),
            },
        ),
        "query" => (
            0,
            LogFilter::Query {
                actions: actions(line, cx),
            },
        ),
        "regexp" => (2, LogFilter::Regexp(regexp(kind, rest, cx))),
        "rename" => (
            1,
            LogFilter::Rename {
                name: needed(kind, rest, "a key", cx),
            },
        ),
        "replace" => (
            1,
            LogFilter::Replace {
                value: needed(kind, rest, "a text", cx),
            },
        ),
        "set_cookie" => (
            0,
            LogFilter::SetCookie {
                actions: actions(line, cx),
            },
        ),
        _ => {
            cx.unknown(kind, "filter", &FILTERS);
            return None;
        }
    };
    cx.surplus(rest.get(most..).unwrap_or_default());
    Some(filter)
}

fn needed(kind: &Token, args: &[Token], what: &str, cx: &mut Cx<'_>) -> String {
    match args.first() {
        Some(arg) => arg.text.clone(),
        None => {
            let name = cx.quote(kind);
            cx.error(kind.span, format!("`{name}` needs {what}"), None);
            String::new()
        }
    }
}

/// `PATTERN TEXT`.
fn regexp(kind: &Token, args: &[Token], cx: &mut Cx<'_>) -> RegexpFilter {
    let Some((pattern, rest)) = args.split_first() else {
        let name = cx.quote(kind);
        cx.error(kind.span, format!("`{name}` needs a regular expression"), None);
        return RegexpFilter::default();
    };
    cx.check_regex(pattern, &pattern.text);
    RegexpFilter {
        regexp: pattern.text.clone(),
        value: rest.first().map(|value| value.text.clone()).unwrap_or_default(),
    }
}

fn operations(line: &Line, cx: &mut Cx<'_>) -> Vec<RegexpFilter> {
    let mut operations = Vec::new();
    for line in block(line) {
        if line.name.text == "regexp" {
            operations.push(regexp(&line.name, &line.args, cx));
            cx.surplus(line.args.get(2..).unwrap_or_default());
        } else {
            cx.unknown(&line.name, "option", &["regexp"]);
        }
    }
    operations
}

/// `ip_mask [IPV4 [IPV6]]`, or a block of `ipv4 BITS` and `ipv6 BITS`.
fn ip_mask(line: &Line, args: &[Token], cx: &mut Cx<'_>) -> IpMask {
    let mut mask = IpMask {
        ipv4_cidr: args.first().and_then(|arg| bits(arg, 32, cx)),
        ipv6_cidr: args.get(1).and_then(|arg| bits(arg, 128, cx)),
    };
    for line in block(line) {
        match line.name.text.as_str() {
            "ipv4" => mask.ipv4_cidr = cx.one(line, "a number").and_then(|arg| bits(arg, 32, cx)),
            "ipv6" => mask.ipv6_cidr = cx.one(line, "a number").and_then(|arg| bits(arg, 128, cx)),
            _ => cx.unknown(&line.name, "option", &["ipv4", "ipv6"]),
        }
    }
    mask
}

fn bits(arg: &Token, most: u8, cx: &mut Cx<'_>) -> Option<u8> {
    let bits = arg.text.parse::<u8>().ok().filter(|bits| *bits <= most);
    let message = format!("expected the number of bits that are kept, from 0 to {most}");
    cx.check(arg, bits.ok_or(message)).filter(|bits| *bits != 0)
}

/// `replace NAME TEXT`, `delete NAME`, `hash NAME`.
fn actions(line: &Line, cx: &mut Cx<'_>) -> Vec<FilterAction> {
    let mut actions = Vec::new();
    for line in block(line) {
        let most = match line.name.text.as_str() {
            "delete" | "hash" => 1,
            "replace" => 2,
            _ => {
                cx.unknown(&line.name, "action", &["delete", "hash", "replace"]);
                continue;
            }
        };
        let args = cx.some(line, "a name").unwrap_or_default();
        cx.surplus(args.get(most..).unwrap_or_default());
        let Some((name, rest)) = args.split_first() else {
            continue;
        };
        let name = name.text.clone();
        actions.push(match line.name.text.as_str() {
            "delete" => FilterAction::Delete { name },
            "hash" => FilterAction::Hash { name },
            _ => FilterAction::Replace {
                name,
                value: needed(&line.name, rest, "a name and a text", cx),
            },
        });
    }
    actions
}
