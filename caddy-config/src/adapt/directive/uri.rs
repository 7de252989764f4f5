//! `uri [matcher] strip_prefix|strip_suffix|replace|path_regexp|query ...`: changes parts of path and query.

use super::super::{args::Args, cx::Cx};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{
        Handler, KeyAndValue, QueryOps, QueryReplacement, RegexpReplacement, Rewrite, SubstringReplacement,
    },
};

const OPERATIONS: [&str; 5] = ["path_regexp", "query", "replace", "strip_prefix", "strip_suffix"];

pub(super) fn read(mut args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let operation = args.required("an operation, such as `strip_prefix`", cx)?;
    if operation.text != "query" {
        cx.no_block(args.line());
    }
    let mut rewrite = Rewrite::default();
    match operation.text.as_str() {
        "strip_prefix" => rewrite.strip_path_prefix = Some(one(operation, args.rest(), cx)?),
        "strip_suffix" => rewrite.strip_path_suffix = Some(one(operation, args.rest(), cx)?),
        "replace" => rewrite.uri_substring.push(substring(operation, args.rest(), cx)?),
        "path_regexp" => {
            let [find, replace] = args.rest() else {
                cx.error(
                    operation.span,
                    "`path_regexp` needs an expression and a replacement",
                    None,
                );
                return None;
            };
            cx.check_regex(find, &find.text);
            rewrite.path_regexp.push(RegexpReplacement {
                find: find.text.clone(),
                replace: text(replace, cx),
            });
        }
        "query" => rewrite.query = Some(query(args, cx)),
        _ => cx.unknown(operation, "operation", &OPERATIONS),
    }
    Some(Handler::Rewrite(rewrite))
}

fn text(arg: &Token, cx: &mut Cx<'_>) -> String {
    cx.check_value(arg, check::template(&arg.text));
    arg.text.clone()
}

fn one(operation: &Token, args: &[Token], cx: &mut Cx<'_>) -> Option<String> {
    match args {
        [arg] if !arg.text.is_empty() => Some(text(arg, cx)),
        _ => {
            let name = cx.quote(operation);
            cx.error(operation.span, format!("`{name}` needs one part of a path"), None);
            None
        }
    }
}

/// `FIND REPLACE [LIMIT]`.
fn substring(operation: &Token, args: &[Token], cx: &mut Cx<'_>) -> Option<SubstringReplacement> {
    let [find, replace, limit @ ..] = args else {
        cx.error(
            operation.span,
            "`replace` needs a text to find and a text to put there",
            None,
        );
        return None;
    };
    cx.surplus(limit.get(1..).unwrap_or_default());
    let limit = limit.first().and_then(|limit| {
        let count = limit
            .text
            .parse::<u32>()
            .map_err(|_| "expected how many times at most, 0 being every time");
        cx.check(limit, count)
    });
    Some(SubstringReplacement {
        find: text(find, cx),
        replace: text(replace, cx),
        limit: limit.filter(|limit| *limit != 0),
    })
}

/// One change behind `query`, or a block of them.
fn query(args: Args<'_>, cx: &mut Cx<'_>) -> QueryOps {
    let mut ops = QueryOps::default();
    if let Some((key, values)) = args.rest().split_first() {
        change(key, values, &mut ops, cx);
        if args.line().block.is_some() {
            let help = "move the one behind `query` into the block".to_owned();
            cx.error(args.name().span, "changes both before and in the block", help);
        }
        return ops;
    }
    if args.block().is_empty() {
        let help = "such as `query -utm_source`, or a block of such lines".to_owned();
        cx.warn(args.name().span, "no change to the query", help);
    }
    for Line { name, args, block } in args.block() {
        if block.is_some() {
            cx.error(name.span, "a change to a parameter takes no block", None);
        }
        change(name, args, &mut ops, cx);
    }
    ops
}

/// `-KEY`, `+KEY VALUE`, `KEY>NEW`, `KEY VALUE`, or `KEY EXPRESSION REPLACEMENT`.
fn change(key: &Token, values: &[Token], ops: &mut QueryOps, cx: &mut Cx<'_>) {
    cx.check_value(key, check::template(&key.text));
    let pair = |key: &str, value: &str| KeyAndValue {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let name = key.text.as_str();
    if name.starts_with('-') {
        cx.surplus(values);
        ops.delete.push(name.trim_start_matches('-').to_owned());
    } else if name.starts_with('+') {
        match values {
            [value] => ops.add.push(pair(name.trim_start_matches('+'), &text(value, cx))),
            _ => cx.error(key.span, "`+` before a parameter needs one value", None),
        }
    } else if let Some((old, new)) = name.split_once('>') {
        cx.surplus(values);
        if new.contains('>') {
            cx.error(key.span, "two `>` in one name", None);
        }
        ops.rename.push(pair(old, new));
    } else {
        match values {
            [value] => ops.set.push(pair(name, &text(value, cx))),
            [pattern, replace] => {
                cx.check_regex(pattern, &pattern.text);
                ops.replace.push(QueryReplacement {
                    key: name.to_owned(),
                    search: String::new(),
                    search_regexp: pattern.text.clone(),
                    replace: text(replace, cx),
                });
            }
            _ => {
                let help =
                    "write `-KEY`, `+KEY VALUE`, `KEY>NEW`, `KEY VALUE` or `KEY EXPRESSION REPLACEMENT`";
                cx.error(key.span, "this is no change to a parameter", help.to_owned());
            }
        }
    }
}
