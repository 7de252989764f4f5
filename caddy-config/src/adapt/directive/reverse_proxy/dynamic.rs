//! `dynamic SOURCE ...`: upstreams that are found out for each request.

use super::{
    super::super::{
        cx::Cx,
        values::{Once, block, duration},
    },
    consul,
    transport::{fallback_delay, resolvers},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{AUpstreams, DynamicUpstreams, IpVersions, SrvUpstreams},
};

/// `dynamic SOURCE ...` or `dynamic_upstreams SOURCE ...`.
pub(super) fn read(line: &Line, into: &mut Option<DynamicUpstreams>, cx: &mut Cx<'_>) {
    let Some((kind, args)) = line.args.split_first() else {
        let name = cx.quote(&line.name);
        let message = format!("`{name}` needs a source of upstreams, such as doors_upstreams");
        return cx.error(line.name.span, message, None);
    };
    let Some(source) = source(kind, args, line, cx) else {
        return;
    };
    *into = Some(match into.take() {
        None => source,
        Some(first) => both(first, source),
    });
}

/// Two lines are what `multi` with both would be. In Caddy the first one is lost, which nobody means.
fn both(first: DynamicUpstreams, second: DynamicUpstreams) -> DynamicUpstreams {
    let mut sources = match first {
        DynamicUpstreams::Multi { sources } => sources,
        first => vec![first],
    };
    match second {
        DynamicUpstreams::Multi { sources: more } => sources.extend(more),
        second => sources.push(second),
    }
    DynamicUpstreams::Multi { sources }
}

fn source(kind: &Token, args: &[Token], line: &Line, cx: &mut Cx<'_>) -> Option<DynamicUpstreams> {
    match kind.text.as_str() {
        "a" => Some(DynamicUpstreams::A(a(args, line, cx))),
        "consul" => Some(DynamicUpstreams::Consul(Box::new(consul::read(
            kind, args, line, cx,
        )))),
        "doors_upstreams" => {
            cx.surplus(args);
            cx.no_block(line);
            cx.note_doors_source(kind.span);
            Some(DynamicUpstreams::Doors {})
        }
        "multi" => {
            cx.surplus(args);
            let sources = block(line)
                .iter()
                .filter_map(|inner| source(&inner.name, &inner.args, inner, cx));
            Some(DynamicUpstreams::Multi {
                sources: sources.collect(),
            })
        }
        "srv" => Some(DynamicUpstreams::Srv(srv(args, line, cx))),
        _ => {
            cx.unknown(kind, "source of upstreams", &DynamicUpstreams::NAMES);
            None
        }
    }
}

/// `a [NAME [PORT]] { ... }`.
fn a(args: &[Token], line: &Line, cx: &mut Cx<'_>) -> AUpstreams {
    const OPTIONS: [&str; 7] = [
        "dial_fallback_delay",
        "dial_timeout",
        "name",
        "port",
        "refresh",
        "resolvers",
        "versions",
    ];
    let mut source = AUpstreams {
        name: args.first().and_then(|arg| filled_in(arg, cx)),
        port: args.get(1).and_then(|arg| filled_in(arg, cx)),
        ..AUpstreams::default()
    };
    cx.surplus(args.get(2..).unwrap_or_default());
    let mut once = Once::default();
    for inner in block(line) {
        match inner.name.text.as_str() {
            "name" => only_once(inner, &mut source.name, cx),
            "port" => only_once(inner, &mut source.port, cx),
            "refresh" => source.refresh = duration(inner, cx),
            "resolvers" => source.resolver = Some(resolvers(inner, cx)),
            "dial_timeout" => source.dial_timeout = duration(inner, cx),
            "dial_fallback_delay" => source.dial_fallback_delay = fallback_delay(inner, cx),
            "versions" => source.versions = Some(versions(inner, cx)),
            _ => cx.unknown(&inner.name, "option", &OPTIONS),
        }
        once.note(&inner.name, cx);
    }
    source
}

fn versions(line: &Line, cx: &mut Cx<'_>) -> IpVersions {
    let mut versions = IpVersions::default();
    for arg in cx.some(line, "ipv4 or ipv6").unwrap_or_default() {
        match arg.text.as_str() {
            "ipv4" => versions.ipv4 = true,
            "ipv6" => versions.ipv6 = true,
            _ => cx.unknown(arg, "version", &["ipv4", "ipv6"]),
        }
    }
    versions
}

/// `srv [NAME] { ... }`.
fn srv(args: &[Token], line: &Line, cx: &mut Cx<'_>) -> SrvUpstreams {
    const OPTIONS: [&str; 8] = [
        "dial_fallback_delay",
        "dial_timeout",
        "grace_period",
        "name",
        "proto",
        "refresh",
        "resolvers",
        "service",
    ];
    let mut source = SrvUpstreams {
        name: args.first().and_then(|arg| filled_in(arg, cx)),
        ..SrvUpstreams::default()
    };
    cx.surplus(args.get(1..).unwrap_or_default());
    let mut once = Once::default();
    for inner in block(line) {
        match inner.name.text.as_str() {
            "service" => only_once(inner, &mut source.service, cx),
            "proto" => only_once(inner, &mut source.proto, cx),
            "name" => only_once(inner, &mut source.name, cx),
            "refresh" => source.refresh = duration(inner, cx),
            "grace_period" => source.grace_period = duration(inner, cx),
            "resolvers" => source.resolver = Some(resolvers(inner, cx)),
            "dial_timeout" => source.dial_timeout = duration(inner, cx),
            "dial_fallback_delay" => source.dial_fallback_delay = fallback_delay(inner, cx),
            _ => cx.unknown(&inner.name, "option", &OPTIONS),
        }
        once.note(&inner.name, cx);
    }
    source
}

/// An option that may stand on the first line too, but not in both places.
fn only_once(line: &Line, value: &mut Option<String>, cx: &mut Cx<'_>) {
    let Some(arg) = cx.one(line, "a value") else {
        return;
    };
    if value.is_some() {
        let name = cx.quote(&line.name);
        cx.error(line.name.span, format!("`{name}` is given already"), None);
    }
    *value = filled_in(arg, cx);
}

/// A value whose placeholders each request fills in.
fn filled_in(arg: &Token, cx: &mut Cx<'_>) -> Option<String> {
    cx.check_value(arg, check::template(&arg.text));
    Some(arg.text.clone()).filter(|text| !text.is_empty())
}
