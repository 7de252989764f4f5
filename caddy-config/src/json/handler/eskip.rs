//! Routes in Skipper's language, and what stands beside them.

use std::time::Duration;

use serde_json::Number;

use crate::{
    check,
    json::{
        decode::{Cx, Object},
        reader::{Node, Value},
        scalar::{count, duration, exact_duration},
        upstream::one_named,
    },
    model::{Eskip, EskipBreaker, EskipBreakerKind, EskipPassiveHealth},
    source::Span,
};

/// The fields that routes come from.
const SOURCES: [&str; 4] = ["inline_routes", "routes_files", "routes_sources", "routes_urls"];

pub(super) fn eskip<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> Eskip {
    some_source(object, cx);
    Eskip {
        files: object.list("routes_files", cx, |node, cx| {
            let path = cx.string(node)?;
            cx.check(node, check::file(&path).map(|()| path.clone()))
        }),
        inline: object.strings("inline_routes", cx),
        urls: object.list("routes_urls", cx, |node, cx| {
            let url = cx.string(node)?;
            cx.check(node, check::download_url(&url).map(|()| url.clone()))
        }),
        sources: object.list("routes_sources", cx, |node, cx| {
            let name = cx.string(node)?;
            cx.check(node, check::routes_source(&name).map(|()| name.clone()))
        }),
        poll: object.get("source_poll_timeout", cx, long),
        default_filters_prepend: object.strings("default_filters_prepend", cx),
        default_filters_append: object.strings("default_filters_append", cx),
        edit_routes: object.list("edit_routes", cx, edit),
        clone_routes: object.list("clone_routes", cx, edit),
        preserve_host: object.flag("preserve_host", cx),
        ignore_trailing_slash: object.flag("ignore_trailing_slash", cx),
        normalize_host: object.flag("normalize_host", cx),
        insecure: object.flag("insecure", cx),
        max_loopbacks: object
            .get("max_loopbacks", cx, |node, cx| {
                let text = plain(node, cx)?;
                cx.check(node, check::max_loopbacks(text))
            })
            .flatten(),
        default_status: object.get("default_status", cx, |node, cx| {
            let text = plain(node, cx)?;
            cx.check(node, check::default_status(text))
        }),
        forward_backend: object.get("forward_backend", cx, |node, cx| {
            let backend = cx.string(node)?;
            cx.check(node, check::forward_backend(&backend).map(|()| backend.clone()))
        }),
        tokeninfo_url: object.get("oauth_tokeninfo_url", cx, |node, cx| {
            let url = cx.string(node)?;
            cx.check(node, check::download_url(&url).map(|()| url.clone()))
        }),
        disabled_filters: object.list("disabled_filters", cx, |node, cx| {
            let name = cx.string(node)?;
            cx.check(node, check::filter_name(&name).map(|()| name.clone()))
        }),
        breakers: object.list("breakers", cx, breaker),
        passive_health: object.get("passive_health_check", cx, passive_health),
    }
}

/// Reports a handler without routes, unless something is wrong with where they come from.
fn some_source<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) {
    let is_empty = |node: &Node| matches!(&node.value, Value::Array(items) if items.is_empty());
    if SOURCES
        .into_iter()
        .all(|name| object.node(name).is_none_or(is_empty))
    {
        let start = object.span().start;
        let help = "add \"routes_files\", \"inline_routes\" or \"routes_urls\", each a list".to_owned();
        let span = Span::new(start, start.saturating_add(1));
        cx.error(span, "`eskip` needs routes", help);
    }
}

fn edit<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let text = cx.string(node)?;
    let pattern = cx.check(node, check::edit(&text))?;
    cx.check_regex(node, pattern)?;
    Some(text)
}

fn breaker<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<EskipBreaker> {
    one_named(node, "type", &EskipBreakerKind::NAMES, cx, |name, object, cx| {
        let kind = match name {
            "disabled" => Some(EskipBreakerKind::Disabled),
            "rate" => {
                let failures = object.require("failures", cx, at_least_one);
                let window = object.require("window", cx, |node, cx| {
                    let window = at_least_one(node, cx)?;
                    cx.check(node, check::breaker_window(failures.unwrap_or(1), window))
                });
                let both = failures.zip(window);
                both.map(|(failures, window)| EskipBreakerKind::Rate { failures, window })
            }
            _ => {
                let failures = object.require("failures", cx, at_least_one);
                failures.map(|failures| EskipBreakerKind::Consecutive { failures })
            }
        };
        let host = object.get("host", cx, |node, cx| {
            let host = cx.string(node)?;
            cx.check(node, check::eskip_host(&host).map(|()| host.clone()))
        });
        let timeout = object.get("timeout", cx, duration);
        let half_open_requests = object.get("half_open_requests", cx, count);
        let idle_ttl = object.get("idle_ttl", cx, duration);
        Some(EskipBreaker {
            kind: kind?,
            host,
            timeout,
            half_open_requests,
            idle_ttl,
        })
    })?
}

fn passive_health<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<EskipPassiveHealth> {
    let mut object = Object::open(node, cx)?;
    let period = object.require("period", cx, long);
    let min_requests = object.require("min_requests", cx, at_least_one);
    let max_drop_probability = object.require("max_drop_probability", cx, probability);
    let min_drop_probability = object.get("min_drop_probability", cx, |node, cx| {
        let least = probability(node, cx)?;
        let most = max_drop_probability.as_ref().unwrap_or(&least);
        cx.check(node, check::drop_probabilities(&least, most))?;
        Some(least)
    });
    let max_unhealthy_endpoints_ratio = object.get("max_unhealthy_endpoints_ratio", cx, probability);
    object.finish(cx);
    Some(EskipPassiveHealth {
        period: period?,
        min_requests: min_requests?,
        max_drop_probability: max_drop_probability?,
        min_drop_probability,
        max_unhealthy_endpoints_ratio,
    })
}

/// A duration that is not zero.
fn long<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Duration> {
    let duration = exact_duration(node, cx)?;
    cx.check(node, check::not_zero(duration))
}

fn at_least_one<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<u32> {
    let number = cx.number(node, u64::from(u32::MAX))?;
    cx.check(node, check::at_least_one(number))
}

fn probability<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Number> {
    let text = plain(node, cx)?;
    let number = cx.check(node, check::plain_number(text))?;
    cx.check(node, check::probability(&number))?;
    Some(number)
}

/// A number as it is written.
fn plain<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<&'n str> {
    match &node.value {
        Value::Number(text) => Some(text),
        _ => cx.wrong_type(node, "a number"),
    }
}
