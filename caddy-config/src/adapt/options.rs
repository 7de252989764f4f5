//! Global options: the block without an address at the top of a file.

use std::{collections::BTreeMap, time::Duration};

use super::{
    address::Ports,
    cx::Cx,
    directive::{self, Binding, global_log},
    server_options::{self, ServerOptions},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    model::{Admin, AutomaticHttps, Log},
    source::Span,
    suggest::did_you_mean,
    units,
};

const SUPPORTED: [&str; 10] = [
    "admin",
    "auto_https",
    "debug",
    "default_bind",
    "grace_period",
    "http_port",
    "https_port",
    "log",
    "order",
    "servers",
];

/// Options of Caddy that Doorway does not know yet.
const LATER: [&str; 30] = [
    "acme_ca",
    "acme_ca_root",
    "acme_dns",
    "acme_eab",
    "cert_issuer",
    "cert_lifetime",
    "default_sni",
    "dns",
    "ech",
    "email",
    "events",
    "fallback_sni",
    "filesystem",
    "key_type",
    "local_certs",
    "metrics",
    "ocsp_interval",
    "ocsp_stapling",
    "on_demand_tls",
    "persist_config",
    "pki",
    "preferred_chains",
    "renew_interval",
    "renewal_window_ratio",
    "shutdown_delay",
    "skip_install_trust",
    "storage",
    "storage_check",
    "storage_clean_interval",
    "tls_resolvers",
];

/// What Caddy uses without an argument.
const DEFAULT_ADMIN: &str = "localhost:2019";

/// What the global options say.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) admin: Option<Admin>,
    pub(super) auto_https: Option<AutomaticHttps>,
    pub(super) debug: bool,
    /// Where sites without `bind` listen; empty for every interface.
    pub(super) default_bind: Vec<Binding>,
    pub(super) grace_period: Option<Duration>,
    pub(super) http_port: Option<u16>,
    pub(super) https_port: Option<u16>,
    /// By name; `None` for a logger about which nothing is said.
    pub(super) logs: Vec<(String, Option<Log>)>,
    /// Those with longer addresses first.
    pub(super) servers: Vec<ServerOptions>,
}

// === impl Options ===

impl Options {
    pub(super) fn ports(&self) -> Ports {
        Ports {
            http: self.http_port.unwrap_or(80),
            https: self.https_port.unwrap_or(443),
        }
    }
}

/// Reads the lines of the block.
pub(super) fn read(lines: &[Line], cx: &mut Cx<'_>) -> Options {
    let mut options = Options::default();
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for line in lines {
        let name = line.name.text.as_str();
        let again = matches!(name, "default_bind" | "log" | "order" | "servers");
        let first = *seen.entry(name).or_insert(line.name.span);
        if first != line.name.span && !again {
            cx.twice(&line.name, first);
        }
        option(line, &mut options, cx);
    }
    options
        .servers
        .sort_by_key(|server| std::cmp::Reverse(server.address.len()));
    options
}

fn option(line: &Line, options: &mut Options, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "admin" => options.admin = Some(admin(line, cx)),
        "auto_https" => options.auto_https = Some(auto_https(line, cx)),
        "debug" => {
            cx.nothing(line);
            options.debug = true;
        }
        "default_bind" => options.default_bind.push(directive::bind::read(line, cx)),
        "grace_period" => {
            let duration = cx.one(line, "a duration, such as 10s").and_then(|arg| {
                cx.check(
                    arg,
                    units::duration(&arg.text).ok_or("expected a duration, such as 10s"),
                )
            });
            options.grace_period = duration.filter(|duration| !duration.is_zero());
        }
        "http_port" => options.http_port = port(line, cx),
        "https_port" => options.https_port = port(line, cx),
        "log" => log(line, options, cx),
        "order" => {
            let mut order = std::mem::take(&mut cx.order);
            order.change(line, cx);
            cx.order = order;
        }
        "servers" => server_options::read(line, &mut options.servers, cx),
        _ => unknown(&line.name, cx),
    }
}

/// `admin off`, or `admin [ADDRESS] { origins ...; enforce_origin }`.
fn admin(line: &Line, cx: &mut Cx<'_>) -> Admin {
    let Some((address, surplus)) = line.args.split_first() else {
        return admin_block(line, DEFAULT_ADMIN, cx);
    };
    cx.surplus(surplus);
    if address.text == "off" {
        cx.no_block(line);
        return Admin {
            disabled: true,
            ..Admin::default()
        };
    }
    admin_block(line, &address.text, cx)
}

fn admin_block(line: &Line, address: &str, cx: &mut Cx<'_>) -> Admin {
    let mut admin = Admin {
        listen: Some(address.to_owned()).filter(|address| !address.is_empty()),
        ..Admin::default()
    };
    for line in line.block.as_deref().unwrap_or_default() {
        match line.name.text.as_str() {
            "enforce_origin" => {
                cx.nothing(line);
                admin.enforce_origin = true;
            }
            "origins" => {
                let origins = cx.some(line, "an origin").unwrap_or_default();
                admin.origins = origins.iter().map(|origin| origin.text.clone()).collect();
            }
            _ => cx.unknown(&line.name, "option", &["enforce_origin", "origins"]),
        }
    }
    admin
}

fn auto_https(line: &Line, cx: &mut Cx<'_>) -> AutomaticHttps {
    let mut automatic = AutomaticHttps::default();
    for arg in cx
        .some(line, "off, disable_redirects or disable_certs")
        .unwrap_or_default()
    {
        match arg.text.as_str() {
            "off" => automatic.disable = true,
            "disable_redirects" => automatic.disable_redirects = true,
            "disable_certs" => automatic.disable_certificates = true,
            _ => cx.unknown(arg, "mode", &["off", "disable_redirects", "disable_certs"]),
        }
    }
    automatic
}

fn port(line: &Line, cx: &mut Cx<'_>) -> Option<u16> {
    let arg = cx.one(line, "a port")?;
    let port = arg.text.parse().ok().filter(|port: &u16| *port != 0);
    cx.check(arg, port.ok_or("expected a port from 1 to 65535"))
}

/// `log [NAME] { ... }`: a logger for all that happens, not only requests.
fn log(line: &Line, options: &mut Options, cx: &mut Cx<'_>) {
    let (first, surplus) = line.args.split_at_checked(1).unwrap_or_default();
    cx.surplus(surplus);
    let name = first.first().map_or("default", |name| name.text.as_str());
    let log = global_log(line.block.as_deref().unwrap_or_default(), cx);
    if options.logs.iter().any(|(seen, _)| seen == name) {
        cx.error(line.name.span, format!("the log `{name}` is defined twice"), None);
    }
    options
        .logs
        .push((name.to_owned(), Some(log).filter(|log| *log != Log::default())));
}

fn unknown(name: &Token, cx: &mut Cx<'_>) {
    let text = cx.quote(name);
    if LATER.contains(&name.text.as_str()) {
        let help = format!("supported so far: {}", SUPPORTED.join(", "));
        cx.error(
            name.span,
            format!("the global option `{text}` is not supported yet"),
            help,
        );
    } else {
        let help = did_you_mean(&name.text, SUPPORTED).unwrap_or_else(|| {
            format!(
                "supported: {}; if this is meant as a site, put its address before the `{{`",
                SUPPORTED.join(", ")
            )
        });
        cx.error(name.span, format!("unknown global option `{text}`"), help);
    }
}
