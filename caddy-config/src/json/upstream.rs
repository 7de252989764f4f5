//! The reverse proxy.

use super::{
    decode::{Cx, Object},
    handler::{rewrite, status_or_placeholder},
    headers::{headers, response_matcher},
    reader::{Node, Value},
    route::route,
    scalar::{count, dial, duration, ip_range, resolver},
};
use crate::{
    model::{
        DynamicUpstreams, FlushInterval, HttpTransport, HttpVersion, KeepAlive, LoadBalancing, Resolver,
        ResponseHandler, ReverseProxy, SelectionPolicy, Transport, Upstream,
    },
    suggest::did_you_mean,
};

pub(super) fn reverse_proxy<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> ReverseProxy {
    let mut proxy = ReverseProxy {
        transport: object.get("transport", cx, transport),
        load_balancing: object.get("load_balancing", cx, load_balancing),
        flush_interval: object.get("flush_interval", cx, flush_interval),
        dynamic_upstreams: object.get("dynamic_upstreams", cx, dynamic_upstreams),
        trusted_proxies: object.list("trusted_proxies", cx, ip_range),
        headers: object.get("headers", cx, |node, cx| whole(node, cx, headers)),
        rewrite: object.get("rewrite", cx, |node, cx| whole(node, cx, rewrite)),
        handle_response: object.list("handle_response", cx, |node, cx| {
            whole(node, cx, response_handler)
        }),
        ..ReverseProxy::default()
    };
    // The documents of Doors name the source here, where Caddy has the fixed list.
    let source = object
        .node("upstreams")
        .filter(|node| matches!(node.value, Value::Object(_)));
    if let Some(node) = source {
        if proxy.dynamic_upstreams.is_some() {
            cx.error(
                node.span,
                "the source of upstreams is given twice",
                "remove `upstreams`".to_owned(),
            );
        }
        proxy.dynamic_upstreams = object.get("upstreams", cx, dynamic_upstreams);
    } else {
        proxy.upstreams = object.list("upstreams", cx, upstream);
    }
    proxy
}

/// An object of its own, all of whose fields `decode` asks for.
fn whole<'n, T>(
    node: &'n Node,
    cx: &mut Cx<'n, '_>,
    decode: impl FnOnce(&mut Object<'n>, &mut Cx<'n, '_>) -> T,
) -> Option<T> {
    let mut object = Object::open(node, cx)?;
    let value = decode(&mut object, cx);
    object.finish(cx);
    Some(value)
}

fn response_handler<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> ResponseHandler {
    ResponseHandler {
        matcher: object.get("match", cx, response_matcher),
        status_code: object.get("status_code", cx, status_or_placeholder),
        routes: object.list("routes", cx, route),
    }
}

fn upstream<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Upstream> {
    let mut object = Object::open(node, cx)?;
    let dial = object.require("dial", cx, dial);
    object.finish(cx);
    Some(Upstream { dial: dial? })
}

fn dynamic_upstreams<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<DynamicUpstreams> {
    let source = named(node, "source", &["doors_upstreams"], cx, |_, _| {
        DynamicUpstreams::Doors {}
    });
    if source.is_some() {
        cx.note_doors_source(node.span);
    }
    source
}

fn load_balancing<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<LoadBalancing> {
    let mut object = Object::open(node, cx)?;
    let selection_policy = object.get("selection_policy", cx, |node, cx| {
        named(node, "policy", &["random"], cx, |_, _| SelectionPolicy::Random {})
    });
    object.finish(cx);
    Some(LoadBalancing { selection_policy })
}

fn flush_interval<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<FlushInterval> {
    match &node.value {
        Value::Number(text) if text == "-1" => Some(FlushInterval::Immediate),
        _ => duration(node, cx).map(FlushInterval::Every),
    }
}

fn transport<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Transport> {
    named(node, "protocol", &["http"], cx, |object, cx| {
        Transport::Http(http_transport(object, cx))
    })
}

fn http_transport<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> HttpTransport {
    HttpTransport {
        resolver: object.get("resolver", cx, |node, cx| {
            let mut object = Object::open(node, cx)?;
            let addresses = object.list("addresses", cx, resolver);
            object.finish(cx);
            Some(Resolver { addresses })
        }),
        keep_alive: object.get("keep_alive", cx, keep_alive),
        dial_timeout: object.get("dial_timeout", cx, duration),
        response_header_timeout: object.get("response_header_timeout", cx, duration),
        versions: object.list("versions", cx, |node, cx| {
            let name = cx.string(node)?;
            cx.check(
                node,
                HttpVersion::named(&name).ok_or("expected \"1.1\", \"2\" or \"h2c\""),
            )
        }),
    }
}

fn keep_alive<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<KeepAlive> {
    let mut object = Object::open(node, cx)?;
    let keep_alive = KeepAlive {
        enabled: object.get("enabled", cx, |node, cx| cx.boolean(node)),
        max_idle_conns: object.get("max_idle_conns", cx, count),
        max_idle_conns_per_host: object.get("max_idle_conns_per_host", cx, count),
        idle_timeout: object.get("idle_timeout", cx, duration),
    };
    object.finish(cx);
    Some(keep_alive)
}

/// [`one_named`] where `build` does not ask which one it is.
pub(super) fn named<'n, T>(
    node: &'n Node,
    tag: &'static str,
    known: &[&'static str],
    cx: &mut Cx<'n, '_>,
    build: impl FnOnce(&mut Object<'n>, &mut Cx<'n, '_>) -> T,
) -> Option<T> {
    one_named(node, tag, known, cx, |_, object, cx| build(object, cx))
}

/// An object whose field `tag` must be one of `known`, decoded by `build`.
pub(super) fn one_named<'n, T>(
    node: &'n Node,
    tag: &'static str,
    known: &[&'static str],
    cx: &mut Cx<'n, '_>,
    build: impl FnOnce(&'static str, &mut Object<'n>, &mut Cx<'n, '_>) -> T,
) -> Option<T> {
    let mut object = Object::open(node, cx)?;
    let name = object.require(tag, cx, |node, cx| {
        let name = cx.string(node)?;
        if let Some(known) = known.iter().copied().find(|known| *known == name) {
            return Some(known);
        }
        let help = did_you_mean(&name, known.iter().copied())
            .unwrap_or_else(|| format!("supported here: {}", known.join(", ")));
        cx.error(node.span, format!("unknown or unsupported {tag}"), help);
        None
    });
    let value = build(name?, &mut object, cx);
    object.finish(cx);
    Some(value)
}
