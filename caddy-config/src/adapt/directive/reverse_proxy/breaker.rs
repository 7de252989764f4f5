//! `breaker consecutive N { ... }` and `breaker rate N of M { ... }`: when an upstream that fails is left alone.

use super::super::super::{
    cx::Cx,
    values::{Once, block, count, duration},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{BreakerRule, CircuitBreaker},
};

/// How a rule is written.
const FORMS: &str = "write `breaker consecutive 5`, or `breaker rate 30 of 300`";

pub(super) fn read(line: &Line, cx: &mut Cx<'_>) -> Option<CircuitBreaker> {
    let rule = rule(line, cx);
    let (mut timeout, mut half_open_requests) = (None, None);
    let mut once = Once::default();
    for inner in block(line) {
        match inner.name.text.as_str() {
            "half_open" => half_open_requests = count(inner, cx),
            "timeout" => timeout = duration(inner, cx),
            _ => cx.unknown(&inner.name, "option", &["half_open", "timeout"]),
        }
        once.note(&inner.name, cx);
    }
    Some(CircuitBreaker {
        rule: rule?,
        timeout,
        half_open_requests,
    })
}

fn rule(line: &Line, cx: &mut Cx<'_>) -> Option<BreakerRule> {
    let number = |arg: &Token, cx: &mut Cx<'_>| {
        let number = arg.text.parse::<u64>().map_err(|_| "expected a whole number");
        cx.check(arg, number.and_then(check::at_least_one))
    };
    match line.args.as_slice() {
        [kind, failures] if kind.text == "consecutive" => {
            let failures = number(failures, cx)?;
            Some(BreakerRule::Consecutive { failures })
        }
        [kind, failures, of, window] if kind.text == "rate" && of.text == "of" => {
            let (failures, last) = (number(failures, cx), number(window, cx));
            let (failures, last) = (failures?, last?);
            let window = cx.check(window, check::breaker_window(failures, last))?;
            Some(BreakerRule::Rate { failures, window })
        }
        [kind, ..] if !BreakerRule::NAMES.contains(&kind.text.as_str()) => {
            cx.unknown(kind, "circuit breaker", &BreakerRule::NAMES);
            None
        }
        _ => {
            cx.error(line.name.span, "this is no circuit breaker", FORMS.to_owned());
            None
        }
    }
}
