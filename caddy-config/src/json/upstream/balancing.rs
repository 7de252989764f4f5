//! Which of several upstreams is taken.

use super::{
    super::{
        decode::{Cx, Object},
        matcher::matcher_set,
        reader::Node,
        scalar::{count, duration, template},
    },
    one_named, text,
};
use crate::{
    check,
    model::{CookiePolicy, FieldPolicy, KeyPolicy, LoadBalancing, QueryPolicy, RetryBudget, SelectionPolicy},
};

pub(super) fn load_balancing<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<LoadBalancing> {
    let mut object = Object::open(node, cx)?;
    let balancing = LoadBalancing {
        selection_policy: object.get("selection_policy", cx, policy),
        retries: object.get("retries", cx, count),
        try_duration: object.get("try_duration", cx, duration),
        try_interval: object.get("try_interval", cx, duration),
        retry_match: object.list("retry_match", cx, matcher_set),
        retry_budget: object.get("retry_budget", cx, |node, cx| {
            let mut object = Object::open(node, cx)?;
            let budget = RetryBudget {
                percent: object.get("percent", cx, whole),
                min_per_second: object.get("min_per_second", cx, whole),
            };
            object.finish(cx);
            Some(budget)
        }),
        slow_start: object.get("slow_start", cx, duration),
        panic_threshold: object.get("panic_threshold", cx, |node, cx| {
            let percent = whole(node, cx)?;
            cx.check(node, check::percent(percent))
        }),
    };
    object.finish(cx);
    Some(balancing)
}

fn policy<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<SelectionPolicy> {
    one_named(
        node,
        "policy",
        &SelectionPolicy::NAMES,
        cx,
        |name, object, cx| match name {
            "consistent_hash" => SelectionPolicy::ConsistentHash(KeyPolicy {
                key: object.require("key", cx, template).unwrap_or_default(),
                bound: object.get("bound", cx, |node, cx| {
                    let bound = count(node, cx)?;
                    cx.check(node, check::bound(bound))
                }),
                fallback: object.get("fallback", cx, policy).map(Box::new),
            }),
            "cookie" => SelectionPolicy::Cookie(cookie(object, cx)),
            "header" => SelectionPolicy::Header(FieldPolicy {
                field: object.require("field", cx, field_name).unwrap_or_default(),
                fallback: object.get("fallback", cx, policy).map(Box::new),
            }),
            "query" => SelectionPolicy::Query(QueryPolicy {
                key: object
                    .require("key", cx, |node, cx| cx.string(node))
                    .unwrap_or_default(),
                fallback: object.get("fallback", cx, policy).map(Box::new),
            }),
            "random_choose" => SelectionPolicy::RandomChoose {
                choose: object.get("choose", cx, |node, cx| {
                    let choose = count(node, cx)?;
                    cx.check(node, check::choose(choose))
                }),
            },
            "weighted_round_robin" => SelectionPolicy::WeightedRoundRobin {
                weights: object
                    .require("weights", cx, |node, cx| {
                        let weights = cx.list(node, |node, cx| {
                            let weight = cx.number(node, u64::from(u16::MAX))?;
                            u32::try_from(weight).ok()
                        })?;
                        cx.check(node, check::weights(&weights))?;
                        Some(weights)
                    })
                    .unwrap_or_default(),
            },
            name => SelectionPolicy::plain(name).unwrap_or(SelectionPolicy::Random {}),
        },
    )
}

fn cookie<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> CookiePolicy {
    CookiePolicy {
        name: object.get("name", cx, |node, cx| {
            let name = cx.string(node).filter(|name| !name.is_empty())?;
            cx.check(node, check::cookie_name(&name))?;
            Some(name)
        }),
        secret: text(object, "secret", cx).map(Into::into),
        max_age: object.get("max_age", cx, duration),
        fallback: object.get("fallback", cx, policy).map(Box::new),
    }
}

/// A whole number, where 0 is a value like others.
fn whole<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<u32> {
    u32::try_from(cx.number(node, u64::from(u32::MAX))?).ok()
}

fn field_name<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let name = cx.string(node)?;
    cx.check(node, check::field_name(&name))?;
    Some(name)
}
