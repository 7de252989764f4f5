//! The directives of a site, one file each.

mod abort;
pub(super) mod bind;
mod doors_handler;
mod handle;
mod header;
mod invoke;
mod log;
mod redir;
mod request_header;
mod respond;
mod reverse_proxy;
mod tls;
mod transport;

pub(super) use self::{
    bind::{Binding, Interface},
    log::{SiteLog, global as global_log},
    tls::SiteTls,
};
use super::{args::Args, cx::Cx, matcher::Scope, routes::DirectiveRoute};
use crate::{
    caddyfile::parser::Line,
    model::{Handler, MatcherSet, Route},
    suggest::did_you_mean,
};

/// What a directive gives.
#[derive(Debug)]
pub(super) enum Item {
    /// Where to listen.
    Bind(Binding),
    /// What to do with requests that ended with an error.
    Errors(Route),
    /// An access log.
    Log(Box<SiteLog>),
    /// Something to do with requests.
    Route(DirectiveRoute),
    /// Certificates.
    Tls(SiteTls),
}

/// Supported directives, in the order of the manual.
pub(super) const DIRECTIVES: [&str; 15] = [
    "abort",
    "bind",
    "doors_handler",
    "handle",
    "handle_errors",
    "handle_path",
    "header",
    "invoke",
    "log",
    "redir",
    "request_header",
    "respond",
    "reverse_proxy",
    "route",
    "tls",
];

/// Directives of Caddy and of its Doors plugin that Doorway is going to support.
const LATER: [&str; 23] = [
    "basic_auth",
    "basicauth",
    "copy_response",
    "copy_response_headers",
    "doors_geo",
    "encode",
    "error",
    "forward_auth",
    "intercept",
    "log_append",
    "log_name",
    "log_skip",
    "map",
    "method",
    "metrics",
    "request_body",
    "rewrite",
    "skip_log",
    "timeouts",
    "tracing",
    "uri",
    "vars",
    "fs",
];

/// Directives of Caddy for what Doorway does not do, and what does it.
const NEVER: [(&str, &str); 7] = [
    (
        "acme_server",
        "Doorway issues no certificates to others; run an ACME server and `reverse_proxy` to it",
    ),
    (
        "file_server",
        "Doorway serves no files; run a file server and `reverse_proxy` to it",
    ),
    (
        "php_fastcgi",
        "Doorway does not speak FastCGI; run a web server beside PHP and `reverse_proxy` to it",
    ),
    ("push", "browsers no longer take pushed responses; remove it"),
    (
        "root",
        "Doorway serves no files; run a file server and `reverse_proxy` to it",
    ),
    (
        "templates",
        "Doorway renders no templates; let the upstream do it",
    ),
    (
        "try_files",
        "Doorway serves no files; run a file server and `reverse_proxy` to it",
    ),
];

/// Reads one directive.
pub(super) fn read(line: &Line, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Vec<Item> {
    let mut args = Args::new(line);
    match line.name.text.as_str() {
        "bind" => vec![Item::Bind(bind::read(line, cx))],
        "log" => vec![Item::Log(Box::new(log::read(args, cx)))],
        "tls" => tls::read(args, cx).map(Item::Tls).into_iter().collect(),
        "abort" => routes("abort", &args.matcher(scope, cx), abort::read(args, cx)),
        "doors_handler" => routes(
            "doors_handler",
            &args.matcher(scope, cx),
            doors_handler::read(args, cx),
        ),
        "handle" => routes(
            "handle",
            &args.matcher(scope, cx),
            [handle::sorted(args, scope, cx)],
        ),
        "handle_errors" => vec![Item::Errors(handle::errors(args, scope, cx))],
        "handle_path" => match handle::path(args, scope, cx) {
            // They share their place in the order, and only one of them all runs.
            Some((matchers, handler)) => routes("handle", &matchers, [handler]),
            None => Vec::new(),
        },
        "invoke" => routes("invoke", &args.matcher(scope, cx), invoke::read(args, cx)),
        "header" => routes("header", &args.matcher(scope, cx), header::read(args, cx)),
        "redir" => {
            redir::warn_of_path(args, cx);
            routes("redir", &args.matcher(scope, cx), redir::read(args, cx))
        }
        "request_header" => routes(
            "request_header",
            &args.matcher(scope, cx),
            request_header::read(args, cx),
        ),
        "respond" => routes("respond", &args.matcher(scope, cx), respond::read(args, cx)),
        "reverse_proxy" => routes(
            "reverse_proxy",
            &args.matcher(scope, cx),
            reverse_proxy::read(args, cx),
        ),
        "route" => routes(
            "route",
            &args.matcher(scope, cx),
            [handle::as_written(args, scope, cx)],
        ),
        _ => {
            unknown(line, cx);
            Vec::new()
        }
    }
}

/// Whether a word is the name of a directive.
pub(super) fn is_directive(name: &str) -> bool {
    DIRECTIVES.contains(&name) || LATER.contains(&name) || NEVER.iter().any(|(never, _)| *never == name)
}

/// One route for each handler of a directive.
fn routes(
    directive: &'static str,
    matchers: &[MatcherSet],
    handlers: impl IntoIterator<Item = Handler>,
) -> Vec<Item> {
    let route = |handler| Route {
        matchers: matchers.to_vec(),
        handlers: vec![handler],
        ..Route::default()
    };
    handlers
        .into_iter()
        .map(|handler| {
            Item::Route(DirectiveRoute {
                directive,
                route: route(handler),
            })
        })
        .collect()
}

fn unknown(line: &Line, cx: &mut Cx<'_>) {
    if cx.count_only(line.name.span) {
        return;
    }
    let (name, text) = (line.name.text.as_str(), cx.quote(&line.name));
    if let Some((_, help)) = NEVER.iter().find(|(never, _)| *never == name) {
        cx.error(
            line.name.span,
            format!("`{text}` is not supported"),
            (*help).to_owned(),
        );
    } else if LATER.contains(&name) {
        let help = format!("supported so far: {}", supported());
        cx.error(line.name.span, format!("`{text}` is not supported yet"), help);
    } else {
        let help = match did_you_mean(name, DIRECTIVES) {
            None if !cx.in_braces() => {
                "if this is a second site, put braces around the directives of each".to_owned()
            }
            _ => similar(name),
        };
        cx.error(line.name.span, format!("unknown directive `{text}`"), help);
    }
}

/// What may have been meant by a word that is no directive.
pub(super) fn similar(name: &str) -> String {
    did_you_mean(name, DIRECTIVES).unwrap_or_else(|| format!("supported: {}", supported()))
}

fn supported() -> String {
    DIRECTIVES.join(", ")
}
