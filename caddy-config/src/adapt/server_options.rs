//! `servers [ADDRESS] { ... }`: settings of servers as a whole.

use std::time::Duration;

use super::{cx::Cx, directive::bind};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{IpRange, IpSource, Protocol, Server},
    source::Span,
    suggest::did_you_mean,
    units,
};

const SUPPORTED: [&str; 9] = [
    "client_ip_headers",
    "log_credentials",
    "max_header_size",
    "name",
    "protocols",
    "timeouts",
    "trace",
    "trusted_proxies",
    "trusted_proxies_strict",
];

/// Options of Caddy that Doorway does not know yet.
const LATER: [&str; 14] = [
    "0rtt",
    "enable_full_duplex",
    "expected_dot_headers",
    "expected_underscore_headers",
    "keepalive_count",
    "keepalive_idle",
    "keepalive_interval",
    "listener_wrappers",
    "metrics",
    "packet_conn_wrappers",
    "read_body_idle",
    "strict_sni_host",
    "trusted_proxies_unix",
    "write_idle",
];

const TIMEOUTS: [&str; 4] = ["idle", "read_body", "read_header", "write"];

/// Caddy's `private_ranges`, in its order.
pub(super) const PRIVATE: [&str; 6] = [
    "192.168.0.0/16",
    "172.16.0.0/12",
    "10.0.0.0/8",
    "127.0.0.1/8",
    "fd00::/8",
    "::1",
];

/// What one `servers` option says.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerOptions {
    /// The listener that it is for; empty for every server.
    pub(super) address: String,
    /// The name that the server gets.
    pub(super) name: Option<String>,
    client_ip_headers: Vec<String>,
    idle: Option<Duration>,
    log_credentials: bool,
    max_header_bytes: Option<u64>,
    protocols: Vec<Protocol>,
    read_body: Option<Duration>,
    read_header: Option<Duration>,
    trace: bool,
    trusted_proxies: Option<Vec<IpRange>>,
    trusted_proxies_strict: bool,
    write: Option<Duration>,
}

// === impl ServerOptions ===

impl ServerOptions {
    pub(super) fn applies_to(&self, server: &Server) -> bool {
        self.address.is_empty()
            || server
                .listen
                .iter()
                .any(|listen| listen.to_string() == self.address)
    }

    pub(super) fn apply(&self, server: &mut Server) {
        server.client_ip_headers.clone_from(&self.client_ip_headers);
        server.idle_timeout = self.idle;
        server.max_header_bytes = self.max_header_bytes;
        server.protocols.clone_from(&self.protocols);
        server.read_timeout = self.read_body;
        server.read_header_timeout = self.read_header;
        server.trusted_proxies = self
            .trusted_proxies
            .clone()
            .map(|ranges| IpSource::Static { ranges });
        server.trusted_proxies_strict = self.trusted_proxies_strict;
        server.write_timeout = self.write;
        // As in Caddy, what is said about access logs turns them on.
        if self.log_credentials || self.trace {
            let logs = server.logs.get_or_insert_default();
            logs.should_log_credentials = self.log_credentials;
            logs.trace = self.trace;
        }
    }
}

/// Reads one `servers` option and adds it to those before.
pub(super) fn read(line: &Line, servers: &mut Vec<ServerOptions>, cx: &mut Cx<'_>) {
    let (address, surplus) = line.args.split_at_checked(1).unwrap_or_default();
    cx.surplus(surplus);
    let mut options = ServerOptions::default();
    if let Some(address) = address.first() {
        options.address.clone_from(&address.text);
    }
    if servers.iter().any(|server| server.address == options.address) {
        let message = "`servers` is given twice for the same address";
        cx.error(
            line.name.span,
            message,
            "write the settings in one block".to_owned(),
        );
    }
    let mut seen: Vec<(&str, Span)> = Vec::new();
    for line in line.block.as_deref().unwrap_or_default() {
        if let Some((_, first)) = seen.iter().find(|(name, _)| *name == line.name.text) {
            cx.twice(&line.name, *first);
        }
        seen.push((&line.name.text, line.name.span));
        option(line, &mut options, servers, cx);
    }
    servers.push(options);
}

fn option(line: &Line, options: &mut ServerOptions, others: &[ServerOptions], cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "client_ip_headers" => {
            for arg in cx.some(line, "the name of a header field").unwrap_or_default() {
                cx.check(arg, check::field_name(&arg.text));
                if options.client_ip_headers.contains(&arg.text) {
                    cx.error(arg.span, "this field is repeated", None);
                }
                options.client_ip_headers.push(arg.text.clone());
            }
        }
        "log_credentials" => {
            cx.nothing(line);
            options.log_credentials = true;
        }
        "trace" => {
            cx.nothing(line);
            options.trace = true;
        }
        "max_header_size" => {
            let size = cx.one(line, "a size, such as 32KiB").and_then(|arg| {
                let size = units::size(&arg.text).filter(|size| u32::try_from(*size).is_ok());
                cx.check(arg, size.ok_or("expected a size, such as 32KiB"))
            });
            options.max_header_bytes = size.filter(|size| *size != 0);
        }
        "name" => name(line, options, others, cx),
        "protocols" => bind::protocols(line, &mut options.protocols, cx),
        "timeouts" => timeouts(line, options, cx),
        "trusted_proxies" => options.trusted_proxies = trusted_proxies(line, cx),
        "trusted_proxies_strict" => {
            cx.nothing(line);
            options.trusted_proxies_strict = true;
        }
        _ => unsupported(&line.name, &SUPPORTED, cx),
    }
}

fn name(line: &Line, options: &mut ServerOptions, others: &[ServerOptions], cx: &mut Cx<'_>) {
    let Some(arg) = cx.one(line, "a name") else { return };
    if options.address.is_empty() {
        let help =
            "write the address of its listener behind `servers`, such as `servers :443 { ... }`".to_owned();
        cx.error(line.name.span, "only one server can have a name", help);
    }
    if others.iter().any(|other| other.name.as_ref() == Some(&arg.text)) {
        cx.error(arg.span, "another server has this name", None);
    }
    options.name = Some(arg.text.clone());
}

fn timeouts(line: &Line, options: &mut ServerOptions, cx: &mut Cx<'_>) {
    cx.surplus(&line.args);
    for line in line.block.as_deref().unwrap_or_default() {
        let timeout = match line.name.text.as_str() {
            "idle" => &mut options.idle,
            "read_body" => &mut options.read_body,
            "read_header" => &mut options.read_header,
            "write" => &mut options.write,
            _ => {
                unsupported(&line.name, &TIMEOUTS, cx);
                continue;
            }
        };
        let duration = cx.one(line, "a duration, such as 30s").and_then(|arg| {
            cx.check(
                arg,
                units::duration(&arg.text).ok_or("expected a duration, such as 30s"),
            )
        });
        *timeout = duration.filter(|duration| !duration.is_zero());
    }
}

/// `trusted_proxies static RANGE...`, where `private_ranges` stands for the private networks.
fn trusted_proxies(line: &Line, cx: &mut Cx<'_>) -> Option<Vec<IpRange>> {
    let (source, args) = cx.some(line, "a source: `static RANGE...`")?.split_first()?;
    if source.text != "static" {
        cx.unknown(source, "source of addresses", &["static"]);
        return None;
    }
    let mut ranges = Vec::new();
    for arg in args {
        if arg.text == "private_ranges" {
            ranges.extend(PRIVATE.iter().filter_map(|range| range.parse::<IpRange>().ok()));
        } else {
            let message = "expected an IP address, a network such as 10.0.0.0/8, or private_ranges";
            ranges.extend(cx.check(arg, arg.text.parse::<IpRange>().map_err(|_| message)));
        }
    }
    Some(ranges)
}

fn unsupported(name: &Token, known: &[&'static str], cx: &mut Cx<'_>) {
    let text = cx.quote(name);
    if LATER.contains(&name.text.as_str()) {
        let help = format!("supported so far: {}", known.join(", "));
        cx.error(
            name.span,
            format!("`{text}` is not supported yet in `servers`"),
            help,
        );
    } else {
        let help = did_you_mean(&name.text, known.iter().copied())
            .unwrap_or_else(|| format!("supported here: {}", known.join(", ")));
        cx.error(name.span, format!("unknown option `{text}` of `servers`"), help);
    }
}
