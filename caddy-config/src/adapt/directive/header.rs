//! `header [matcher] [+|-|?|>]FIELD [VALUE|PATTERN [REPLACEMENT]]`, or a block of such lines with `defer` and
//! `match`: changes to response fields.

use std::collections::BTreeMap;

use super::super::{args::Args, cx::Cx};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{Handler, HeaderOps, Headers, Replacement, ResponseMatcher, ResponseOps},
};

/// The two handlers that one directive can give: `?FIELD` needs a condition of its own.
#[derive(Debug, Default)]
struct Both {
    plain: ResponseOps,
    defaults: ResponseOps,
}

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Vec<Handler> {
    let mut both = Both::default();
    if let Some((field, values)) = args.rest().split_first() {
        both.apply(field, values, cx);
        if both.plain == ResponseOps::default() {
            both.plain = std::mem::take(&mut both.defaults);
        }
    } else if args.block().is_empty() {
        let name = cx.quote(args.name());
        cx.error(
            args.name().span,
            format!("`{name}` needs a field or a block of fields"),
            None,
        );
    }
    for line in args.block() {
        match line.name.text.as_str() {
            "defer" if line.args.is_empty() => {
                cx.nothing(line);
                both.plain.deferred = true;
            }
            "match" => both.plain.require = Some(response_matcher(line, cx)),
            _ if !args.rest().is_empty() => {
                let help = "move the field of the first line into the block".to_owned();
                cx.error(line.name.span, "fields both before and in the block", help);
            }
            _ => {
                cx.no_block(line);
                both.apply(&line.name, &line.args, cx);
            }
        }
    }
    warn_of_cancelled(&both.plain.ops, args.name(), cx);
    let used = [both.plain, both.defaults]
        .into_iter()
        .filter(|ops| *ops != ResponseOps::default());
    used.map(|ops| {
        Handler::Headers(Headers {
            request: None,
            response: Some(ops),
        })
    })
    .collect()
}

// === impl Both ===

impl Both {
    fn apply(&mut self, field: &Token, values: &[Token], cx: &mut Cx<'_>) {
        let (sign, name) = split_sign(&field.text);
        if sign != Some('?') {
            let ops = &mut self.plain;
            ops.deferred |= matches!(sign, Some('-' | '>'));
            return operation(&mut ops.ops, field, values, cx);
        }
        let Some(name) = field_name(field, name, cx) else {
            return;
        };
        let value = value_of(values, 1, cx);
        let ops = &mut self.defaults;
        ops.require
            .get_or_insert_default()
            .headers
            .insert(name.to_owned(), None);
        ops.ops.set.insert(check::canonical_field(name), vec![value]);
    }
}

/// Applies one operation, of a request or a response, to `ops`. `?` is not one for requests.
pub(super) fn operation(ops: &mut HeaderOps, field: &Token, values: &[Token], cx: &mut Cx<'_>) {
    let (sign, name) = split_sign(&field.text);
    let Some(name) = field_name(field, name, cx) else {
        return;
    };
    match (sign, values) {
        (Some('-'), _) => {
            cx.surplus(values);
            ops.delete.push(name.to_owned());
        }
        (Some('+'), _) => {
            let value = value_of(values, 1, cx);
            ops.add
                .entry(check::canonical_field(name))
                .or_default()
                .push(value);
        }
        (_, [pattern, replacement, ..]) => {
            cx.surplus(values.get(2..).unwrap_or_default());
            cx.check_regex(pattern, &pattern.text);
            cx.check_value(replacement, check::field_value(&replacement.text));
            ops.replace.entry(name.to_owned()).or_default().push(Replacement {
                search: String::new(),
                search_regexp: pattern.text.clone(),
                replace: replacement.text.clone(),
            });
        }
        _ => {
            let value = value_of(values, 1, cx);
            ops.set.insert(check::canonical_field(name), vec![value]);
        }
    }
}

/// A deletion runs after what is added and set in the same directive, whatever the order they are written in.
pub(super) fn warn_of_cancelled(ops: &HeaderOps, name: &Token, cx: &mut Cx<'_>) {
    let lower: Vec<String> = ops.delete.iter().map(|name| name.to_ascii_lowercase()).collect();
    let deleted = |field: &str| lower.iter().any(|pattern| matches(pattern, field));
    let mut fields: Vec<&String> = ops.add.keys().chain(ops.set.keys()).collect();
    fields.dedup();
    for field in fields
        .into_iter()
        .filter(|field| deleted(&field.to_ascii_lowercase()))
    {
        let help =
            "the order is fixed: add, set, delete; to set a field anew, leave the deletion out".to_owned();
        cx.warn(
            name.span,
            format!("`{field}` is set here, and deleted again"),
            help,
        );
    }
}

/// Whether a deletion is for a field; both in lower case. `*` alone comes first of all, so it cancels nothing.
fn matches(pattern: &str, field: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(""), _) => false,
        (Some(inside), Some(_)) => field.contains(inside.trim_end_matches('*')),
        (Some(end), None) => field.ends_with(end),
        (None, Some(start)) => field.starts_with(start),
        (None, None) => field == pattern,
    }
}

/// The sign before a field, and the field without the colon that habit puts behind it.
pub(super) fn split_sign(text: &str) -> (Option<char>, &str) {
    let sign = text.chars().next().filter(|c| "+-?>".contains(*c));
    let name = if sign.is_some() {
        text.get(1..).unwrap_or_default()
    } else {
        text
    };
    (sign, name.strip_suffix(':').unwrap_or(name))
}

fn field_name<'n>(field: &Token, name: &'n str, cx: &mut Cx<'_>) -> Option<&'n str> {
    if name.starts_with(['+', '-', '?', '>']) {
        let help = "write the field in two lines, one for each sign".to_owned();
        cx.error(field.span, "two signs before a field", help);
        return None;
    }
    cx.check(field, check::field_name(name))?;
    Some(name)
}

/// The value, empty if there is none; more than `max` are reported.
fn value_of(values: &[Token], max: usize, cx: &mut Cx<'_>) -> String {
    cx.surplus(values.get(max..).unwrap_or_default());
    let Some(value) = values.first() else {
        return String::new();
    };
    cx.check_value(value, check::field_value(&value.text));
    value.text.clone()
}

/// `match status CODE...`, `match header FIELD [VALUE]`, or a block of such lines.
pub(super) fn response_matcher(line: &Line, cx: &mut Cx<'_>) -> ResponseMatcher {
    let mut matcher = ResponseMatcher::default();
    if let Some((kind, args)) = line.args.split_first() {
        cx.no_block(line);
        condition(kind, args, &mut matcher, cx);
    } else if line.block.as_ref().is_none_or(Vec::is_empty) {
        cx.error(line.name.span, "`match` needs `status` or `header`", None);
    }
    for line in line
        .block
        .as_deref()
        .filter(|_| line.args.is_empty())
        .unwrap_or_default()
    {
        cx.no_block(line);
        condition(&line.name, &line.args, &mut matcher, cx);
    }
    matcher
}

fn condition(kind: &Token, args: &[Token], matcher: &mut ResponseMatcher, cx: &mut Cx<'_>) {
    match kind.text.as_str() {
        "status" => {
            if args.is_empty() {
                cx.error(
                    kind.span,
                    "`status` needs a number, such as 404, or a class, such as 5xx",
                    None,
                );
            }
            matcher
                .status_code
                .extend(args.iter().filter_map(|arg| status_or_class(arg, cx)));
        }
        "header" => match args {
            [field, value] => wanted_field(field, value, &mut matcher.headers, cx),
            [field] if field.text.starts_with('!') => {
                let name = field.text.strip_prefix('!').unwrap_or_default();
                cx.check(field, check::field_name(name));
                matcher.headers.insert(name.to_owned(), None);
            }
            _ => cx.error(
                kind.span,
                "`header` needs a field and a value, or `!` and a field",
                None,
            ),
        },
        _ => cx.unknown(kind, "response matcher", &["header", "status"]),
    }
}

fn wanted_field(
    field: &Token,
    value: &Token,
    headers: &mut BTreeMap<String, Option<Vec<String>>>,
    cx: &mut Cx<'_>,
) {
    cx.check(field, check::field_name(&field.text));
    cx.check(value, check::no_placeholder(&value.text));
    let values = headers.entry(check::canonical_field(&field.text)).or_default();
    values.get_or_insert_default().push(value.text.clone());
}

/// A status, or for `Nxx` the digit of its class.
fn status_or_class(arg: &Token, cx: &mut Cx<'_>) -> Option<u16> {
    let class = arg.text.strip_suffix("xx").filter(|class| class.len() == 1);
    let number = class.unwrap_or(&arg.text).parse::<u16>().ok();
    let number = number.filter(|number| (1..=5).contains(number) || (100..=999).contains(number));
    if number.is_none() {
        let text = cx.quote(arg);
        cx.error(
            arg.span,
            format!("`{text}` is neither a status nor a class such as 4xx"),
            None,
        );
    }
    number
}
