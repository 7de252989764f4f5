//! How to talk to upstreams.

use super::{
    super::{
        decode::{Cx, Object},
        reader::{Node, Value},
        scalar::{self, count, duration},
    },
    named, one_named, text,
    tls::upstream_tls,
};
use crate::{
    check,
    model::{
        FallbackDelay, HttpTransport, HttpVersion, KeepAlive, NetworkProxy, ProxyProtocolVersion, Resolver,
        Transport,
    },
    units,
};

pub(super) fn transport<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Transport> {
    named(node, "protocol", &["http"], cx, |object, cx| {
        Transport::Http(Box::new(http(object, cx)))
    })
}

fn http<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> HttpTransport {
    HttpTransport {
        resolver: object.get("resolver", cx, resolver),
        tls: object.get("tls", cx, upstream_tls),
        keep_alive: object.get("keep_alive", cx, keep_alive),
        compression: object.get("compression", cx, |node, cx| cx.boolean(node)),
        max_conns_per_host: object.get("max_conns_per_host", cx, count),
        proxy_protocol: object.get("proxy_protocol", cx, |node, cx| {
            let name = cx.string(node).filter(|name| !name.is_empty())?;
            let version = ProxyProtocolVersion::named(&name);
            cx.check(node, version.ok_or("expected \"v1\" or \"v2\""))
        }),
        network_proxy: object.get("network_proxy", cx, network_proxy),
        dial_timeout: object.get("dial_timeout", cx, duration),
        dial_fallback_delay: object.get("dial_fallback_delay", cx, fallback_delay),
        response_header_timeout: object.get("response_header_timeout", cx, duration),
        expect_continue_timeout: object.get("expect_continue_timeout", cx, duration),
        max_response_header_size: object.get("max_response_header_size", cx, count),
        write_buffer_size: object.get("write_buffer_size", cx, count),
        read_buffer_size: object.get("read_buffer_size", cx, count),
        read_timeout: object.get("read_timeout", cx, duration),
        write_timeout: object.get("write_timeout", cx, duration),
        versions: object.list("versions", cx, |node, cx| {
            let name = cx.string(node)?;
            cx.check(
                node,
                HttpVersion::named(&name).ok_or("expected \"1.1\", \"2\", \"3\" or \"h2c\""),
            )
        }),
        local_address: text(object, "local_address", cx),
    }
}

pub(super) fn resolver<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Resolver> {
    let mut object = Object::open(node, cx)?;
    let addresses = object.list("addresses", cx, scalar::resolver);
    object.finish(cx);
    Some(Resolver { addresses })
}

/// A duration that may be negative; zero is as good as not said.
pub(super) fn fallback_delay<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<FallbackDelay> {
    let nanos = match &node.value {
        Value::Number(text) => text.parse().ok(),
        Value::String(text) => units::signed_duration(text),
        _ => return cx.wrong_type(node, "a duration"),
    };
    cx.check(node, nanos.ok_or("this is not a duration"))
        .and_then(FallbackDelay::new)
}

fn network_proxy<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<NetworkProxy> {
    one_named(
        node,
        "from",
        &["none", "url"],
        cx,
        |name, object, cx| match name {
            "none" => NetworkProxy::None {},
            _ => NetworkProxy::Url {
                url: object
                    .require("url", cx, |node, cx| {
                        let url = cx.string(node)?;
                        cx.check(node, check::proxy_url(&url))?;
                        Some(url)
                    })
                    .unwrap_or_default(),
            },
        },
    )
}

fn keep_alive<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<KeepAlive> {
    let mut object = Object::open(node, cx)?;
    let keep_alive = KeepAlive {
        enabled: object.get("enabled", cx, |node, cx| cx.boolean(node)),
        probe_interval: object.get("probe_interval", cx, duration),
        max_idle_conns: object.get("max_idle_conns", cx, count),
        max_idle_conns_per_host: object.get("max_idle_conns_per_host", cx, count),
        idle_timeout: object.get("idle_timeout", cx, duration),
    };
    object.finish(cx);
    Some(keep_alive)
}
