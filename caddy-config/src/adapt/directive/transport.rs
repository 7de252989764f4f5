//! `transport http { ... }`: how a reverse proxy talks to its upstreams.

use std::time::Duration;

use super::super::cx::Cx;
use crate::{
    caddyfile::{parser::Line, token::Token},
    model::{HttpTransport, HttpVersion, KeepAlive, ResolverAddress},
    source::Span,
    units,
};

const SUPPORTED: [&str; 7] = [
    "dial_timeout",
    "keepalive",
    "keepalive_idle_conns",
    "keepalive_idle_conns_per_host",
    "resolvers",
    "response_header_timeout",
    "versions",
];

/// Options of Caddy that Doorway is going to support.
const LATER: [&str; 22] = [
    "compression",
    "dial_fallback_delay",
    "expect_continue_timeout",
    "keepalive_interval",
    "local_address",
    "max_conns_per_host",
    "max_response_header",
    "network_proxy",
    "proxy_protocol",
    "read_buffer",
    "read_timeout",
    "tls",
    "tls_client_auth",
    "tls_curves",
    "tls_except_ports",
    "tls_insecure_skip_verify",
    "tls_renegotiation",
    "tls_server_name",
    "tls_timeout",
    "tls_trust_pool",
    "write_buffer",
    "write_timeout",
];

pub(super) fn read(line: &Line, cx: &mut Cx<'_>) -> Option<HttpTransport> {
    let Some((kind, surplus)) = line.args.split_first() else {
        cx.error(line.name.span, "`transport` needs a kind: `transport http`", None);
        return None;
    };
    cx.surplus(surplus);
    if kind.text != "http" {
        cx.unknown(kind, "transport", &["http"]);
        return None;
    }
    let mut transport = HttpTransport::default();
    let mut seen: Vec<(&str, Span)> = Vec::new();
    for line in line.block.as_deref().unwrap_or_default() {
        if let Some((_, first)) = seen.iter().find(|(name, _)| *name == line.name.text) {
            cx.twice(&line.name, *first);
        }
        seen.push((&line.name.text, line.name.span));
        option(line, &mut transport, cx);
    }
    Some(transport)
}

fn option(line: &Line, transport: &mut HttpTransport, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "dial_timeout" => transport.dial_timeout = duration(line, cx),
        "response_header_timeout" => transport.response_header_timeout = duration(line, cx),
        "keepalive" => keepalive(line, transport.keep_alive.get_or_insert_default(), cx),
        "keepalive_idle_conns" => {
            transport.keep_alive.get_or_insert_default().max_idle_conns = count(line, cx)
        }
        "keepalive_idle_conns_per_host" => {
            transport
                .keep_alive
                .get_or_insert_default()
                .max_idle_conns_per_host = count(line, cx);
        }
        "resolvers" => {
            let message = "expected the IP address of a DNS server, such as 10.0.0.53 or 10.0.0.53:5353";
            let resolver = transport.resolver.get_or_insert_default();
            for arg in cx
                .some(line, "the IP address of a DNS server")
                .unwrap_or_default()
            {
                let plain = arg.text.strip_prefix("udp/").unwrap_or(&arg.text);
                resolver
                    .addresses
                    .extend(cx.check(arg, plain.parse::<ResolverAddress>().map_err(|_| message)));
            }
        }
        "versions" => {
            for arg in cx.some(line, "1.1, 2 or h2c").unwrap_or_default() {
                let version = HttpVersion::named(&arg.text).ok_or("expected 1.1, 2 or h2c");
                transport.versions.extend(cx.check(arg, version));
            }
        }
        _ => unsupported(&line.name, cx),
    }
}

/// `keepalive off` or `keepalive DURATION`.
fn keepalive(line: &Line, keep_alive: &mut KeepAlive, cx: &mut Cx<'_>) {
    let Some(arg) = cx.one(line, "a duration, or `off`") else {
        return;
    };
    if arg.text == "off" {
        keep_alive.enabled = Some(false);
    } else {
        let duration = units::duration(&arg.text).ok_or("expected a duration, such as 2m, or `off`");
        keep_alive.idle_timeout = cx.check(arg, duration).filter(|duration| !duration.is_zero());
    }
}

fn duration(line: &Line, cx: &mut Cx<'_>) -> Option<Duration> {
    let arg = cx.one(line, "a duration, such as 3s")?;
    let duration = cx.check(
        arg,
        units::duration(&arg.text).ok_or("expected a duration, such as 3s"),
    );
    duration.filter(|duration| !duration.is_zero())
}

fn count(line: &Line, cx: &mut Cx<'_>) -> Option<u32> {
    let arg = cx.one(line, "a number")?;
    let count = cx.check(
        arg,
        arg.text.parse::<u32>().map_err(|_| "expected a whole number"),
    );
    count.filter(|count| *count != 0)
}

fn unsupported(name: &Token, cx: &mut Cx<'_>) {
    if LATER.contains(&name.text.as_str()) {
        let text = cx.quote(name);
        let help = format!("supported so far: {}", SUPPORTED.join(", "));
        cx.error(
            name.span,
            format!("`{text}` is not supported yet in `transport http`"),
            help,
        );
    } else {
        cx.unknown(name, "option", &SUPPORTED);
    }
}
