//! `apps.http` and its servers.

use super::{
    decode::{Cx, Object},
    listener_wrapper::listener_wrappers,
    reader::{Node, Value},
    route::{error_routes, route},
    route_sources::route_sources,
    scalar::{count, default_port, duration, ip_range, listen},
    tls::connection_policy,
};
use crate::{
    check,
    model::{AutomaticHttps, HttpApp, HttpMetrics, IpSource, Protocol, Server, ServerLogs},
};

pub(super) fn app<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<HttpApp> {
    let mut object = Object::open(node, cx)?;
    let app = HttpApp {
        http_port: object.get("http_port", cx, default_port),
        https_port: object.get("https_port", cx, default_port),
        grace_period: object.get("grace_period", cx, duration),
        shutdown_delay: object.get("shutdown_delay", cx, duration),
        servers: object
            .get("servers", cx, |node, cx| cx.map(node, server))
            .unwrap_or_default(),
        metrics: object.get("metrics", cx, metrics),
        route_sources: object.get("route_sources", cx, route_sources),
    };
    cx.close_route_sources(object.node("route_sources"), &app);
    object.finish(cx);
    Some(app)
}

fn server<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Server> {
    let mut object = Object::open(node, cx)?;
    let server = Server {
        listen: object.list("listen", cx, listen),
        listener_wrappers: object
            .get("listener_wrappers", cx, listener_wrappers)
            .unwrap_or_default(),
        read_timeout: object.get("read_timeout", cx, duration),
        read_header_timeout: object.get("read_header_timeout", cx, duration),
        read_idle_timeout: object.get("read_idle_timeout", cx, duration),
        read_min_rate: object.get("read_min_rate", cx, count),
        write_timeout: object.get("write_timeout", cx, duration),
        write_idle_timeout: object.get("write_idle_timeout", cx, duration),
        write_min_rate: object.get("write_min_rate", cx, count),
        max_write_chunk: object.get("max_write_chunk", cx, count).map(u64::from),
        idle_timeout: object.get("idle_timeout", cx, duration),
        keepalive_interval: object.get("keepalive_interval", cx, duration),
        keepalive_idle: object.get("keepalive_idle", cx, duration),
        keepalive_count: object.get("keepalive_count", cx, count),
        max_connections_per_client: object.get("max_connections_per_client", cx, count),
        max_streams: object.get("max_streams", cx, count),
        max_control_frames: object.get("max_control_frames", cx, count),
        max_control_frames_burst: object.get("max_control_frames_burst", cx, count),
        max_stream_errors: object.get("max_stream_errors", cx, count),
        max_header_bytes: object.get("max_header_bytes", cx, count).map(u64::from),
        enable_full_duplex: object.flag("enable_full_duplex", cx),
        expected_underscore_headers: object.strings("expected_underscore_headers", cx),
        expected_dot_headers: object.strings("expected_dot_headers", cx),
        routes: object.list("routes", cx, route),
        errors: object.get("errors", cx, error_routes),
        named_routes: object
            .get("named_routes", cx, |node, cx| cx.map(node, route))
            .unwrap_or_default(),
        tls_connection_policies: object.get("tls_connection_policies", cx, |node, cx| {
            cx.list(node, connection_policy)
        }),
        automatic_https: object.get("automatic_https", cx, automatic_https),
        strict_sni_host: object.get("strict_sni_host", cx, |node, cx| cx.boolean(node)),
        trusted_proxies: object.get("trusted_proxies", cx, ip_source),
        client_ip_headers: object.list("client_ip_headers", cx, field_name),
        trusted_proxies_strict: object
            .get("trusted_proxies_strict", cx, zero_or_one)
            .unwrap_or_default(),
        trusted_proxies_unix: object.flag("trusted_proxies_unix", cx),
        logs: object.get("logs", cx, server_logs),
        protocols: object.list("protocols", cx, protocol),
        listen_protocols: object.list("listen_protocols", cx, listener_protocols),
        allow_0rtt: object.get("allow_0rtt", cx, early_data),
        route_sources: object
            .get("route_sources", cx, serves_sources)
            .unwrap_or_default(),
    };
    if server.listen_protocols.len() > server.listen.len()
        && let Some(node) = object.node("listen_protocols")
    {
        cx.error(node.span, "more entries than `listen` has addresses", None);
    }
    cx.close_doors();
    cx.close_invocations(&server.named_routes);
    object.finish(cx);
    Some(server)
}

fn automatic_https<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<AutomaticHttps> {
    let mut object = Object::open(node, cx)?;
    let automatic = AutomaticHttps {
        disable: object.flag("disable", cx),
        disable_redirects: object.flag("disable_redirects", cx),
        disable_certificates: object.flag("disable_certificates", cx),
        skip: object.strings("skip", cx),
        skip_certificates: object.strings("skip_certificates", cx),
        ignore_loaded_certificates: object.flag("ignore_loaded_certificates", cx),
    };
    object.finish(cx);
    Some(automatic)
}

fn metrics<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<HttpMetrics> {
    let mut object = Object::open(node, cx)?;
    let metrics = HttpMetrics {
        per_host: object.flag("per_host", cx),
        observe_catchall_hosts: object.flag("observe_catchall_hosts", cx),
    };
    object.finish(cx);
    Some(metrics)
}

/// Whether the hosts of route sources are served; who says so needs sources.
fn serves_sources<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<bool> {
    let serves = cx.boolean(node)?;
    if serves {
        cx.note_sources_server(node.span);
    }
    Some(serves)
}

/// Early data is never taken, and so cannot be turned on.
fn early_data<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<bool> {
    let allowed = cx.boolean(node)?;
    cx.check(
        node,
        if allowed {
            Err("early data is never taken")
        } else {
            Ok(allowed)
        },
    )
}

fn ip_source<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<IpSource> {
    let mut object = Object::open(node, cx)?;
    let kind = object.node("source");
    let source = object.require("source", cx, |node, cx| cx.string(node))?;
    if source != "static" {
        let span = kind.map_or_else(|| object.span(), |node| node.span);
        cx.error(
            span,
            "unknown or unsupported source of addresses",
            "supported here: static".to_owned(),
        );
        return None;
    }
    let ranges = object.list("ranges", cx, ip_range);
    object.finish(cx);
    Some(IpSource::Static { ranges })
}

fn server_logs<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<ServerLogs> {
    let mut object = Object::open(node, cx)?;
    let logs = ServerLogs {
        default_logger_name: object
            .get("default_logger_name", cx, |node, cx| cx.string(node))
            .filter(|name| !name.is_empty()),
        logger_names: object
            .get("logger_names", cx, |node, cx| cx.map(node, one_or_more_strings))
            .unwrap_or_default(),
        skip_hosts: object.strings("skip_hosts", cx),
        skip_unmapped_hosts: object.flag("skip_unmapped_hosts", cx),
        should_log_credentials: object.flag("should_log_credentials", cx),
        trace: object.flag("trace", cx),
    };
    object.finish(cx);
    Some(logs)
}

fn one_or_more_strings<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Vec<String>> {
    match &node.value {
        Value::String(text) => Some(vec![text.clone()]),
        _ => cx.list(node, |node, cx| cx.string(node)),
    }
}

fn protocol<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Protocol> {
    let name = cx.string(node)?;
    cx.check(
        node,
        Protocol::named(&name).ok_or("expected \"h1\", \"h2\", \"h2c\" or \"h3\""),
    )
}

/// `null` and an empty list leave the server's own protocols.
fn listener_protocols<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Option<Vec<Protocol>>> {
    match node.value {
        Value::Null => Some(None),
        _ => cx
            .list(node, protocol)
            .map(|list| Some(list).filter(|list| !list.is_empty())),
    }
}

fn field_name<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let name = cx.string(node)?;
    cx.check(node, check::field_name(&name))?;
    Some(name)
}

fn zero_or_one<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<bool> {
    cx.number(node, 1).map(|number| number == 1)
}
