//! When an upstream that fails is left alone for a while.

use super::{
    super::{
        decode::Cx,
        reader::Node,
        scalar::{count, duration},
    },
    one_named,
};
use crate::{
    check,
    model::{BreakerRule, CircuitBreaker},
};

pub(super) fn circuit_breaker<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<CircuitBreaker> {
    one_named(node, "type", &BreakerRule::NAMES, cx, |name, object, cx| {
        let failures = object.require("failures", cx, at_least_one);
        let rule = if name == "rate" {
            let window = object.require("window", cx, |node, cx| {
                let window = at_least_one(node, cx)?;
                cx.check(node, check::breaker_window(failures.unwrap_or(1), window))
            });
            failures
                .zip(window)
                .map(|(failures, window)| BreakerRule::Rate { failures, window })
        } else {
            failures.map(|failures| BreakerRule::Consecutive { failures })
        };
        let timeout = object.get("timeout", cx, duration);
        let half_open_requests = object.get("half_open_requests", cx, count);
        Some(CircuitBreaker {
            rule: rule?,
            timeout,
            half_open_requests,
        })
    })?
}

fn at_least_one<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<u32> {
    let number = cx.number(node, u64::from(u32::MAX))?;
    cx.check(node, check::at_least_one(number))
}
