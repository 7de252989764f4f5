//! `servers [ADDRESS] { ... }`: settings of servers as a whole.

mod listeners;
mod timeouts;

use super::{
    cx::Cx,
    directive::bind,
    values::{Once, block, count, duration, size, texts},
};
use crate::{
    caddyfile::parser::Line,
    check,
    model::{HttpMetrics, IpRange, IpSource, Server},
    support::Area,
};

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
    /// What requests are counted by, for all servers: Caddy has moved it to the global options.
    pub(super) metrics: Option<HttpMetrics>,
    /// Everything that is set in the server itself.
    settings: Server,
    log_credentials: bool,
    trace: bool,
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
        let built = std::mem::take(server);
        *server = Server {
            listen: built.listen,
            routes: built.routes,
            errors: built.errors,
            named_routes: built.named_routes,
            tls_connection_policies: built.tls_connection_policies,
            automatic_https: built.automatic_https,
            logs: built.logs,
            listen_protocols: built.listen_protocols,
            route_sources: built.route_sources,
            ..self.settings.clone()
        };
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
    let mut once = Once::default();
    for line in block(line) {
        if !cx.is_supported(Area::ServerOption, &line.name) {
            continue;
        }
        if line.name.text != "client_ip_headers" {
            once.note(&line.name, cx);
        }
        option(line, &mut options, servers, cx);
    }
    servers.push(options);
}

fn option(line: &Line, options: &mut ServerOptions, others: &[ServerOptions], cx: &mut Cx<'_>) {
    let settings = &mut options.settings;
    match line.name.text.as_str() {
        "0rtt" => {
            let off = cx.one(line, "`off`");
            if let Some(arg) = off
                && cx.check(arg, is_word(&arg.text, "off")).is_some()
            {
                settings.allow_0rtt = Some(false);
            }
        }
        "client_ip_headers" => client_ip_headers(line, &mut settings.client_ip_headers, cx),
        "enable_full_duplex" => switch(line, &mut settings.enable_full_duplex, cx),
        "expected_dot_headers" => {
            settings.expected_dot_headers = texts(line, "the name of a header field", cx);
        }
        "expected_underscore_headers" => {
            settings.expected_underscore_headers = texts(line, "the name of a header field", cx);
        }
        "keepalive_count" => settings.keepalive_count = count(line, cx),
        "keepalive_idle" => settings.keepalive_idle = duration(line, cx),
        "keepalive_interval" => settings.keepalive_interval = duration(line, cx),
        "listener_wrappers" => settings.listener_wrappers = listeners::wrappers(line, cx),
        "log_credentials" => switch(line, &mut options.log_credentials, cx),
        "max_connections_per_client" => settings.max_connections_per_client = count(line, cx),
        "max_control_frames" => control_frames(line, settings, cx),
        "max_header_size" => settings.max_header_bytes = size(line, cx),
        "max_stream_errors" => settings.max_stream_errors = count(line, cx),
        "max_streams" => settings.max_streams = count(line, cx),
        "metrics" => options.metrics = Some(old_metrics(line, cx)),
        "name" => name(line, options, others, cx),
        "protocols" => bind::protocols(line, &mut settings.protocols, cx),
        "strict_sni_host" => settings.strict_sni_host = strict_sni_host(line, cx),
        "timeouts" => timeouts::read(line, settings, cx),
        "trace" => switch(line, &mut options.trace, cx),
        "trusted_proxies" => {
            settings.trusted_proxies = trusted_proxies(line, cx).map(|ranges| IpSource::Static { ranges });
        }
        "trusted_proxies_strict" => switch(line, &mut settings.trusted_proxies_strict, cx),
        "trusted_proxies_unix" => switch(line, &mut settings.trusted_proxies_unix, cx),
        _ => {}
    }
}

/// An option that is only a name.
fn switch(line: &Line, value: &mut bool, cx: &mut Cx<'_>) {
    cx.nothing(line);
    *value = true;
}

/// `max_control_frames PER_SECOND [AT_ONCE]`.
fn control_frames(line: &Line, settings: &mut Server, cx: &mut Cx<'_>) {
    let args = cx.some(line, "a number of frames per second").unwrap_or_default();
    let (wanted, surplus) = args.split_at_checked(2).unwrap_or((args, &[]));
    cx.surplus(surplus);
    let mut numbers = wanted.iter().map(|arg| {
        let number = arg.text.parse::<u32>().map_err(|_| "expected a whole number");
        cx.check(arg, number).filter(|number| *number != 0)
    });
    settings.max_control_frames = numbers.next().flatten();
    settings.max_control_frames_burst = numbers.next().flatten();
}

fn is_word(text: &str, word: &str) -> Result<(), String> {
    if text == word {
        Ok(())
    } else {
        Err(format!("expected `{word}`"))
    }
}

fn client_ip_headers(line: &Line, fields: &mut Vec<String>, cx: &mut Cx<'_>) {
    for arg in cx.some(line, "the name of a header field").unwrap_or_default() {
        cx.check(arg, check::field_name(&arg.text));
        if fields.contains(&arg.text) {
            cx.error(arg.span, "this field is repeated", None);
        }
        fields.push(arg.text.clone());
    }
}

/// `strict_sni_host [on|insecure_off]`.
fn strict_sni_host(line: &Line, cx: &mut Cx<'_>) -> Option<bool> {
    if line.args.is_empty() {
        cx.nothing(line);
        return Some(true);
    }
    let arg = cx.one(line, "`on` or `insecure_off`")?;
    let strict = match arg.text.as_str() {
        "on" => Ok(true),
        "insecure_off" => Ok(false),
        _ => Err("expected `on` or `insecure_off`"),
    };
    cx.check(arg, strict)
}

/// `metrics [{ per_host }]`, which has moved.
fn old_metrics(line: &Line, cx: &mut Cx<'_>) -> HttpMetrics {
    let help = "write it as a global option".to_owned();
    cx.warn(
        line.name.span,
        "`metrics` in `servers` is old, and counts for all servers",
        help,
    );
    super::options::metrics(line, cx)
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

/// `trusted_proxies static RANGE...`, where `private_ranges` stands for the private networks.
fn trusted_proxies(line: &Line, cx: &mut Cx<'_>) -> Option<Vec<IpRange>> {
    let (source, args) = cx.some(line, "a source: `static RANGE...`")?.split_first()?;
    if source.text != "static" {
        cx.unknown(source, "source of addresses", &["static"]);
        return None;
    }
    Some(ranges(args, cx))
}

/// Addresses and networks, where `private_ranges` stands for the private ones.
pub(super) fn ranges(args: &[crate::caddyfile::token::Token], cx: &mut Cx<'_>) -> Vec<IpRange> {
    let mut ranges = Vec::new();
    for arg in args {
        if arg.text == "private_ranges" {
            ranges.extend(PRIVATE.iter().filter_map(|range| range.parse::<IpRange>().ok()));
        } else {
            let message = "expected an IP address, a network such as 10.0.0.0/8, or private_ranges";
            ranges.extend(cx.check(arg, arg.text.parse::<IpRange>().map_err(|_| message)));
        }
    }
    ranges
}
