//! Global options: the block without an address at the top of a file.

mod admin;
mod pki;
mod route_sources;
mod tls;

use std::{path::PathBuf, time::Duration};

use self::{route_sources::Sources, tls::TlsOptions};
use super::{
    address::Ports,
    cx::Cx,
    directive::{self, Binding, global_log},
    server_options::{self, ServerOptions},
    values::{Once, block, duration, path},
};
use crate::{
    caddyfile::parser::Line,
    model::{Admin, AutomaticHttps, HttpMetrics, Log, PkiApp, Storage},
    support::Area,
};

/// Options that may be given more than once.
const REPEATED: [&str; 5] = ["cert_issuer", "default_bind", "log", "order", "servers"];

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
    pub(super) metrics: Option<HttpMetrics>,
    pub(super) pki: Option<PkiApp>,
    pub(super) route_sources: Option<Sources>,
    /// Those with longer addresses first.
    pub(super) servers: Vec<ServerOptions>,
    pub(super) shutdown_delay: Option<Duration>,
    pub(super) storage: Option<Storage>,
    pub(super) tls: TlsOptions,
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
    let mut once = Once::default();
    for line in lines {
        if !cx.is_supported(Area::GlobalOption, &line.name) {
            cx.mask_provider(line);
            continue;
        }
        if !REPEATED.contains(&line.name.text.as_str()) {
            once.note(&line.name, cx);
        }
        option(line, &mut options, cx);
    }
    options.tls.finish(cx);
    options
        .servers
        .sort_by_key(|server| std::cmp::Reverse(server.address.len()));
    options
}

fn option(line: &Line, options: &mut Options, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "admin" => admin::read(line, options.admin.get_or_insert_default(), cx),
        "auto_https" => options.auto_https = Some(auto_https(line, cx)),
        "debug" => {
            cx.nothing(line);
            options.debug = true;
        }
        "default_bind" => options.default_bind.push(directive::bind::read(line, cx)),
        "grace_period" => options.grace_period = duration(line, cx),
        "http_port" => options.http_port = port(line, cx),
        "https_port" => options.https_port = port(line, cx),
        "log" => log(line, options, cx),
        "metrics" => options.metrics = Some(metrics(line, cx)),
        "order" => {
            let mut order = std::mem::take(&mut cx.order);
            order.change(line, cx);
            cx.order = order;
        }
        "persist_config" => admin::persist_config(line, options.admin.get_or_insert_default(), cx),
        "pki" => pki::read(line, options.pki.get_or_insert_default(), cx),
        "route_sources" => options.route_sources = Some(route_sources::read(line, cx)),
        "servers" => server_options::read(line, &mut options.servers, cx),
        "shutdown_delay" => options.shutdown_delay = duration(line, cx),
        "skip_install_trust" => {
            cx.nothing(line);
            pki::skip_install_trust(options.pki.get_or_insert_default());
        }
        "storage" => options.storage = storage(line, cx),
        _ => tls::read(line, &mut options.tls, cx),
    }
}

fn auto_https(line: &Line, cx: &mut Cx<'_>) -> AutomaticHttps {
    const MODES: [&str; 4] = ["off", "disable_redirects", "disable_certs", "ignore_loaded_certs"];
    let mut automatic = AutomaticHttps::default();
    for arg in cx.some(line, "a mode, such as off").unwrap_or_default() {
        match arg.text.as_str() {
            "off" => automatic.disable = true,
            "disable_redirects" => automatic.disable_redirects = true,
            "disable_certs" => automatic.disable_certificates = true,
            "ignore_loaded_certs" => automatic.ignore_loaded_certificates = true,
            _ => cx.unknown(arg, "mode", &MODES),
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
    let log = global_log(block(line), cx);
    if options.logs.iter().any(|(seen, _)| seen == name) {
        cx.error(line.name.span, format!("the log `{name}` is defined twice"), None);
    }
    options
        .logs
        .push((name.to_owned(), Some(log).filter(|log| *log != Log::default())));
}

/// `metrics [{ per_host; observe_catchall_hosts }]`.
pub(super) fn metrics(line: &Line, cx: &mut Cx<'_>) -> HttpMetrics {
    let mut metrics = HttpMetrics::default();
    cx.surplus(&line.args);
    for inner in block(line) {
        if cx.is_refused(Area::GlobalOption, &line.name, &inner.name) {
            continue;
        }
        match inner.name.text.as_str() {
            "per_host" => metrics.per_host = true,
            "observe_catchall_hosts" => metrics.observe_catchall_hosts = true,
            _ => {
                cx.unknown(&inner.name, "option", &["per_host", "observe_catchall_hosts"]);
                continue;
            }
        }
        cx.nothing(inner);
    }
    metrics
}

/// `storage file_system { root PATH }`.
fn storage(line: &Line, cx: &mut Cx<'_>) -> Option<Storage> {
    let (module, rest) = line.args.split_first().or_else(|| {
        cx.error(line.name.span, "`storage` needs a module: `file_system`", None);
        None
    })?;
    if module.text != "file_system" {
        cx.unknown(module, "storage", &["file_system"]);
        return None;
    }
    let mut root = rest.first().and_then(|arg| path(arg, cx));
    cx.surplus(rest.get(1..).unwrap_or_default());
    for inner in block(line) {
        match inner.name.text.as_str() {
            "root" => root = cx.one(inner, "a path").and_then(|arg| path(arg, cx)),
            _ => cx.unknown(&inner.name, "option", &["root"]),
        }
    }
    if root.is_none() && block(line).is_empty() && rest.is_empty() {
        let help = "to keep certificates in the data directory, remove the option".to_owned();
        cx.error(module.span, "`file_system` needs a root", help);
    }
    Some(Storage::FileSystem {
        root: root.map(PathBuf::from),
    })
}
