//! The reverse proxy.

mod balancing;
mod breaker;
mod consul;
mod dynamic;
mod health;
mod tls;
mod transport;

pub(super) use self::tls::{ca_pool, certificate};
use self::{
    balancing::load_balancing, breaker::circuit_breaker, dynamic::dynamic_upstreams, health::health_checks,
    transport::transport,
};
use super::{
    decode::{Cx, Object},
    handler::{rewrite, status_or_placeholder},
    headers::{headers, response_matcher},
    reader::{Node, Value},
    route::route,
    scalar::{count, duration, ip_range},
};
use crate::{
    model::{
        BufferSize, FlushInterval, ResponseHandler, ReverseProxy, Upstream, UpstreamAddress,
        UpstreamAddressError,
    },
    suggest::did_you_mean,
};

pub(super) fn reverse_proxy<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> ReverseProxy {
    let mut proxy = ReverseProxy {
        transport: object.get("transport", cx, transport),
        circuit_breaker: object.get("circuit_breaker", cx, circuit_breaker),
        load_balancing: object.get("load_balancing", cx, load_balancing),
        health_checks: object.get("health_checks", cx, health_checks),
        upstreams: Vec::new(),
        dynamic_upstreams: object.get("dynamic_upstreams", cx, dynamic_upstreams),
        flush_interval: object.get("flush_interval", cx, flush_interval),
        trusted_proxies: object.list("trusted_proxies", cx, ip_range),
        headers: object.get("headers", cx, |node, cx| {
            let mut object = Object::open(node, cx)?;
            let headers = headers(&mut object, cx);
            object.finish(cx);
            Some(headers)
        }),
        request_buffers: object.get("request_buffers", cx, buffer_size),
        response_buffers: object.get("response_buffers", cx, buffer_size),
        stream_timeout: object.get("stream_timeout", cx, duration),
        stream_close_delay: object.get("stream_close_delay", cx, duration),
        stream_buffer_size: object.get("stream_buffer_size", cx, count),
        rewrite: object.get("rewrite", cx, |node, cx| {
            let mut object = Object::open(node, cx)?;
            let rewrite = rewrite(&mut object, cx);
            object.finish(cx);
            Some(rewrite)
        }),
        handle_response: object.list("handle_response", cx, response_handler),
        verbose_logs: object.flag("verbose_logs", cx),
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

fn upstream<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Upstream> {
    let mut object = Object::open(node, cx)?;
    let dial = object.require("dial", cx, address);
    let max_requests = object.get("max_requests", cx, count);
    object.finish(cx);
    Some(Upstream {
        dial: dial?,
        max_requests,
    })
}

/// Where an upstream is reached.
fn address<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<UpstreamAddress> {
    let text = cx.string(node)?;
    text.parse()
        .map_err(|error: UpstreamAddressError| {
            let help = if text.contains("://") {
                "write host:port, without a scheme"
            } else {
                "write host:port, such as 127.0.0.1:8080 or [::1]:8080, or unix//path/of/the.sock"
            };
            cx.error(node.span, error.to_string(), help.to_owned());
        })
        .ok()
}

fn flush_interval<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<FlushInterval> {
    match &node.value {
        Value::Number(text) if text == "-1" => Some(FlushInterval::Immediate),
        _ => duration(node, cx).map(FlushInterval::Every),
    }
}

fn buffer_size<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<BufferSize> {
    match &node.value {
        Value::Number(text) if text == "-1" => Some(BufferSize::Unlimited),
        _ => count(node, cx).map(BufferSize::Bytes),
    }
}

fn response_handler<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<ResponseHandler> {
    let mut object = Object::open(node, cx)?;
    let handler = ResponseHandler {
        matcher: object.get("match", cx, response_matcher),
        status_code: object.get("status_code", cx, status_or_placeholder),
        routes: object.list("routes", cx, route),
    };
    object.finish(cx);
    Some(handler)
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

/// A text that may be absent; an empty one is.
fn text<'n>(object: &mut Object<'n>, name: &'static str, cx: &mut Cx<'n, '_>) -> Option<String> {
    object
        .get(name, cx, |node, cx| cx.string(node))
        .filter(|text| !text.is_empty())
}
