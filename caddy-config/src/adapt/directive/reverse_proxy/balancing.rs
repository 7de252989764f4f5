//! `lb_...`: which of several upstreams is taken, and how often another one is tried.

use super::super::super::{
    cx::Cx,
    matcher,
    values::{Once, block, count, duration, parse_duration},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{CookiePolicy, FieldPolicy, KeyPolicy, LoadBalancing, QueryPolicy, RetryBudget, SelectionPolicy},
};

pub(super) fn read(line: &Line, balancing: &mut LoadBalancing, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "lb_panic_threshold" => {
            let percent = cx.one(line, "a percentage, such as 50");
            balancing.panic_threshold = percent.and_then(|arg| {
                let percent = arg.text.trim_end_matches('%').parse();
                let percent = percent.map_err(|_| "expected a percentage from 0 to 100");
                cx.check(arg, percent.and_then(check::percent))
            });
        }
        "lb_policy" => balancing.selection_policy = policy(line, cx),
        "lb_retries" => balancing.retries = count(line, cx),
        "lb_retry_budget" => balancing.retry_budget = budget(line, cx),
        "lb_retry_match" => balancing.retry_match.push(matcher::conditions(line, cx)),
        "lb_slow_start" => balancing.slow_start = duration(line, cx),
        "lb_try_duration" => balancing.try_duration = duration(line, cx),
        "lb_try_interval" => balancing.try_interval = duration(line, cx),
        _ => {}
    }
}

/// `lb_policy NAME ...` or `fallback NAME ...`.
fn policy(line: &Line, cx: &mut Cx<'_>) -> Option<SelectionPolicy> {
    let Some((name, args)) = line.args.split_first() else {
        let text = cx.quote(&line.name);
        cx.error(line.name.span, format!("`{text}` needs a policy"), None);
        return None;
    };
    let has_block = matches!(
        name.text.as_str(),
        "consistent_hash" | "cookie" | "header" | "query"
    );
    if !has_block && !block(line).is_empty() {
        cx.no_block(line);
    }
    if let Some(plain) = SelectionPolicy::plain(&name.text) {
        cx.surplus(args);
        return Some(plain);
    }
    match name.text.as_str() {
        "consistent_hash" => {
            let key = needed(name, args, "a key, such as {client_ip}", cx)?;
            cx.check_value(key, check::template(&key.text));
            Some(SelectionPolicy::ConsistentHash(by_key(line, key, cx)))
        }
        "cookie" => Some(SelectionPolicy::Cookie(cookie(line, args, cx))),
        "header" => {
            let field = needed(name, args, "a field", cx)?;
            cx.check(field, check::field_name(&field.text));
            Some(SelectionPolicy::Header(FieldPolicy {
                field: field.text.clone(),
                fallback: fallback(line, cx),
            }))
        }
        "query" => {
            let key = needed(name, args, "the name of a parameter", cx)?;
            Some(SelectionPolicy::Query(QueryPolicy {
                key: key.text.clone(),
                fallback: fallback(line, cx),
            }))
        }
        "random_choose" => {
            let number = needed(name, args, "a number", cx)?;
            let choose = number.text.parse().map_err(|_| "expected a whole number");
            let choose = cx.check(number, choose.and_then(check::choose))?;
            Some(SelectionPolicy::RandomChoose { choose: Some(choose) })
        }
        "weighted_round_robin" => Some(weighted(name, args, cx)),
        _ => {
            cx.unknown(name, "policy", &SelectionPolicy::NAMES);
            None
        }
    }
}

/// The only argument of a policy.
fn needed<'l>(name: &Token, args: &'l [Token], what: &str, cx: &mut Cx<'_>) -> Option<&'l Token> {
    cx.surplus(args.get(1..).unwrap_or_default());
    if args.is_empty() {
        let text = cx.quote(name);
        cx.error(name.span, format!("`{text}` needs {what}"), None);
    }
    args.first()
}

fn weighted(name: &Token, args: &[Token], cx: &mut Cx<'_>) -> SelectionPolicy {
    let message = "expected a weight from 0 to 65535";
    let weights: Vec<u32> = args
        .iter()
        .filter_map(|arg| cx.check(arg, arg.text.parse::<u16>().map(u32::from).map_err(|_| message)))
        .collect();
    if args.is_empty() {
        cx.error(
            name.span,
            "`weighted_round_robin` needs a weight for each upstream",
            None,
        );
    } else if weights.len() == args.len() {
        cx.check(name, check::weights(&weights));
    }
    SelectionPolicy::WeightedRoundRobin { weights }
}

/// `cookie [NAME [SECRET]] { fallback ...; max_age ... }`.
fn cookie(line: &Line, args: &[Token], cx: &mut Cx<'_>) -> CookiePolicy {
    let mut cookie = CookiePolicy::default();
    if let Some(name) = args.first() {
        cx.check(name, check::cookie_name(&name.text));
        cookie.name = Some(name.text.clone()).filter(|name| !name.is_empty());
    }
    if let Some(secret) = args.get(1) {
        cx.mask(secret);
        cookie.secret = Some(secret.text.clone().into());
    }
    cx.surplus(args.get(2..).unwrap_or_default());
    let mut once = Once::default();
    for inner in block(line) {
        match inner.name.text.as_str() {
            "fallback" => cookie.fallback = policy(inner, cx).map(Box::new),
            "max_age" => {
                let age = cx.one(inner, "a duration, such as 1h");
                cookie.max_age = age.and_then(|arg| {
                    let age = parse_duration(arg, cx)?;
                    cx.check(
                        arg,
                        Some(age)
                            .filter(|age| !age.is_zero())
                            .ok_or("expected more than zero"),
                    )
                });
            }
            _ => cx.unknown(&inner.name, "option", &["fallback", "max_age"]),
        }
        once.note(&inner.name, cx);
    }
    cookie
}

/// `lb_retry_budget PERCENT [PER_SECOND]`.
fn budget(line: &Line, cx: &mut Cx<'_>) -> Option<RetryBudget> {
    let args = cx.some(line, "a percentage, and how many a second there may be anyway")?;
    cx.surplus(args.get(2..).unwrap_or_default());
    let number = |arg: Option<&Token>, cx: &mut Cx<'_>| {
        let arg = arg?;
        let number = arg.text.trim_end_matches('%').parse();
        cx.check(arg, number.map_err(|_| "expected a whole number"))
    };
    Some(RetryBudget {
        percent: number(args.first(), cx),
        min_per_second: number(args.get(1), cx),
    })
}

/// `consistent_hash KEY { bound ...; fallback ... }`.
fn by_key(line: &Line, key: &Token, cx: &mut Cx<'_>) -> KeyPolicy {
    let mut by_key = KeyPolicy {
        key: key.text.clone(),
        ..KeyPolicy::default()
    };
    let mut once = Once::default();
    for inner in block(line) {
        match inner.name.text.as_str() {
            "bound" => {
                let bound = cx.one(inner, "a percentage of the average, such as 125");
                by_key.bound = bound.and_then(|arg| {
                    let bound = arg.text.trim_end_matches('%').parse();
                    let bound = bound.map_err(|_| "expected a percentage of at least 100");
                    cx.check(arg, bound.and_then(check::bound))
                });
            }
            "fallback" => by_key.fallback = policy(inner, cx).map(Box::new),
            _ => cx.unknown(&inner.name, "option", &["bound", "fallback"]),
        }
        once.note(&inner.name, cx);
    }
    by_key
}

fn fallback(line: &Line, cx: &mut Cx<'_>) -> Option<Box<SelectionPolicy>> {
    let mut fallback = None;
    let mut once = Once::default();
    for inner in block(line) {
        if inner.name.text == "fallback" {
            fallback = policy(inner, cx).map(Box::new);
        } else {
            cx.unknown(&inner.name, "option", &["fallback"]);
        }
        once.note(&inner.name, cx);
    }
    fallback
}
