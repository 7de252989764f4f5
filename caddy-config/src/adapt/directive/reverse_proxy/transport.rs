//! `transport http { ... }`: how a reverse proxy talks to its upstreams.

use std::path::PathBuf;

use super::{
    super::super::{
        cx::Cx,
        values::{Once, block, count, duration, path, text, texts},
    },
    bytes, trust_pool,
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{
        FallbackDelay, HttpTransport, HttpVersion, KeepAlive, NetworkProxy, ProxyProtocolVersion,
        Renegotiation, Resolver, ResolverAddress, UpstreamTls,
    },
    support::Area,
    units,
};

pub(super) fn read(line: &Line, cx: &mut Cx<'_>) -> Option<HttpTransport> {
    let Some((kind, surplus)) = line.args.split_first() else {
        cx.error(line.name.span, "`transport` needs a kind: `transport http`", None);
        return None;
    };
    if cx.is_refused(Area::ReverseProxy, &line.name, kind) {
        return None;
    }
    cx.surplus(surplus);
    if kind.text != "http" {
        cx.unknown(kind, "transport", &["http"]);
        return None;
    }
    let mut transport = HttpTransport::default();
    let mut once = Once::default();
    for line in block(line) {
        if cx.is_supported(Area::Transport, &line.name) {
            once.note(&line.name, cx);
            option(line, &mut transport, cx);
        }
    }
    Some(transport)
}

fn option(line: &Line, http: &mut HttpTransport, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "compression" => http.compression = compression(line, cx),
        "dial_fallback_delay" => http.dial_fallback_delay = fallback_delay(line, cx),
        "dial_timeout" => http.dial_timeout = duration(line, cx),
        "expect_continue_timeout" => http.expect_continue_timeout = duration(line, cx),
        "forward_proxy_url" => {
            let help = "write `network_proxy url URL`".to_owned();
            cx.warn(line.name.span, "`forward_proxy_url` is old", help);
            http.network_proxy = cx.one(line, "a URL").and_then(|arg| proxy_url(arg, cx));
        }
        "local_address" => http.local_address = text(line, "an address", cx),
        "max_conns_per_host" => http.max_conns_per_host = count(line, cx),
        "max_response_header" => http.max_response_header_size = bytes(line, cx),
        "network_proxy" => http.network_proxy = network_proxy(line, cx),
        "proxy_protocol" => {
            http.proxy_protocol = cx.one(line, "v1 or v2").and_then(|arg| {
                let version = ProxyProtocolVersion::named(&arg.text);
                cx.check(arg, version.ok_or("expected v1 or v2"))
            });
        }
        "read_buffer" => http.read_buffer_size = bytes(line, cx),
        "read_timeout" => http.read_timeout = duration(line, cx),
        "resolvers" => http.resolver = Some(resolvers(line, cx)),
        "response_header_timeout" => http.response_header_timeout = duration(line, cx),
        "versions" => {
            for arg in cx.some(line, "1.1, 2 or h2c").unwrap_or_default() {
                let version = HttpVersion::named(&arg.text).ok_or("expected 1.1, 2, 3 or h2c");
                http.versions.extend(cx.check(arg, version));
            }
        }
        "write_buffer" => http.write_buffer_size = bytes(line, cx),
        "write_timeout" => http.write_timeout = duration(line, cx),
        name if name.starts_with("keepalive") => {
            keep_alive(line, http.keep_alive.get_or_insert_default(), cx);
        }
        _ => tls(line, http.tls.get_or_insert_default(), cx),
    }
}

fn keep_alive(line: &Line, keep_alive: &mut KeepAlive, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "keepalive" => {
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
        "keepalive_interval" => keep_alive.probe_interval = duration(line, cx),
        "keepalive_idle_conns" => keep_alive.max_idle_conns = count(line, cx),
        "keepalive_idle_conns_per_host" => keep_alive.max_idle_conns_per_host = count(line, cx),
        _ => {}
    }
}

fn tls(line: &Line, tls: &mut UpstreamTls, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "tls" => cx.nothing(line),
        "tls_client_auth" => client_auth(line, tls, cx),
        "tls_curves" => {
            for arg in cx.some(line, "a curve, such as x25519").unwrap_or_default() {
                cx.check(arg, check::curve(&arg.text));
                tls.curves.push(arg.text.clone());
            }
        }
        "tls_except_ports" => {
            for arg in cx.some(line, "a port").unwrap_or_default() {
                cx.check(arg, check::port_text(&arg.text));
                tls.except_ports.push(arg.text.clone());
            }
        }
        "tls_insecure_skip_verify" => {
            cx.nothing(line);
            tls.insecure_skip_verify = true;
        }
        "tls_renegotiation" => {
            tls.renegotiation = cx.one(line, "never, once or freely").and_then(|arg| {
                let known = Renegotiation::named(&arg.text);
                cx.check(arg, known.ok_or("expected never, once or freely"))
            });
        }
        "tls_server_name" => {
            tls.server_name = cx.one(line, "a name").and_then(|arg| {
                cx.check_value(arg, check::template(&arg.text));
                Some(arg.text.clone()).filter(|name| !name.is_empty())
            });
        }
        "tls_timeout" => tls.handshake_timeout = duration(line, cx),
        "tls_trust_pool" => tls.ca = trust_pool(line, cx),
        "tls_trusted_ca_certs" => {
            let help = "write `tls_trust_pool file PATH...`".to_owned();
            cx.warn(line.name.span, "`tls_trusted_ca_certs` is old", help);
            tls.root_ca_pem_files = texts(line, "a path", cx).into_iter().map(PathBuf::from).collect();
        }
        _ => {}
    }
}

/// `tls_client_auth CERTIFICATE KEY`, or the name of a certificate that the proxy has.
fn client_auth(line: &Line, tls: &mut UpstreamTls, cx: &mut Cx<'_>) {
    let args = cx.some(line, "a certificate and its key").unwrap_or_default();
    cx.surplus(args.get(2..).unwrap_or_default());
    match args {
        [] => {}
        [name] => tls.client_certificate_automate = Some(name.text.clone()),
        [certificate, key, ..] => {
            tls.client_certificate_file = path(certificate, cx).map(PathBuf::from);
            tls.client_certificate_key_file = path(key, cx).map(PathBuf::from);
        }
    }
}

/// `compression off`.
fn compression(line: &Line, cx: &mut Cx<'_>) -> Option<bool> {
    let arg = cx.one(line, "`off`")?;
    cx.check(arg, (arg.text == "off").then_some(false).ok_or("expected `off`"))
}

/// `network_proxy none`, or `network_proxy url URL`.
fn network_proxy(line: &Line, cx: &mut Cx<'_>) -> Option<NetworkProxy> {
    let (kind, rest) = cx.some(line, "`none`, or `url` and a URL")?.split_first()?;
    match kind.text.as_str() {
        "none" => {
            cx.surplus(rest);
            Some(NetworkProxy::None {})
        }
        "url" => {
            cx.surplus(rest.get(1..).unwrap_or_default());
            let Some(url) = rest.first() else {
                cx.error(kind.span, "`url` needs a URL, such as http://proxy:3128", None);
                return None;
            };
            proxy_url(url, cx)
        }
        _ => {
            cx.unknown(kind, "network proxy", &["none", "url"]);
            None
        }
    }
}

fn proxy_url(arg: &Token, cx: &mut Cx<'_>) -> Option<NetworkProxy> {
    cx.check(arg, check::proxy_url(&arg.text))?;
    Some(NetworkProxy::Url {
        url: arg.text.clone(),
    })
}

/// `resolvers ADDRESS...`.
pub(super) fn resolvers(line: &Line, cx: &mut Cx<'_>) -> Resolver {
    let message = "expected the IP address of a DNS server, such as 10.0.0.53 or 10.0.0.53:5353";
    let args = cx
        .some(line, "the IP address of a DNS server")
        .unwrap_or_default();
    let address = |arg: &Token| {
        let plain = arg.text.strip_prefix("udp/").unwrap_or(&arg.text);
        plain.parse::<ResolverAddress>().map_err(|_| message)
    };
    Resolver {
        addresses: args
            .iter()
            .filter_map(|arg| cx.check(arg, address(arg)))
            .collect(),
    }
}

/// A duration that may be negative; zero is as good as not said.
pub(super) fn fallback_delay(line: &Line, cx: &mut Cx<'_>) -> Option<FallbackDelay> {
    let arg = cx.one(line, "a duration, such as 300ms")?;
    let delay = units::signed_duration(&arg.text);
    cx.check(arg, delay.ok_or("expected a duration, such as 300ms, or -1s"))
        .and_then(FallbackDelay::new)
}
