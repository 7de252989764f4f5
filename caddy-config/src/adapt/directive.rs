//! The directives of a site, one file each.

mod abort;
mod basic_auth;
pub(super) mod bind;
mod copy_response;
mod doors_geo;
mod doors_handler;
mod encode;
mod error;
mod eskip;
mod forward_auth;
mod handle;
mod header;
mod invoke;
mod log;
mod map;
mod metrics;
mod redir;
mod request_body;
mod request_header;
mod respond;
mod reverse_proxy;
mod rewrite;
mod tls;
mod uri;
mod vars;

pub(super) use self::{
    bind::{Binding, Interface},
    log::{SiteLog, global as global_log},
    tls::{SiteIssuers, SiteTls, http_url, issuer, key_type, preferred_chains, renewal_window_ratio},
};
use super::{args::Args, cx::Cx, matcher::Scope, routes::DirectiveRoute};
use crate::{
    caddyfile::parser::Line,
    model::{Handler, MatcherSet, Route},
    suggest::did_you_mean,
    support::{Area, LATER, refused},
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
    Tls(Box<SiteTls>),
}

/// Supported directives, in the order of the manual.
pub(super) const DIRECTIVES: [&str; 34] = [
    "abort",
    "basic_auth",
    "basicauth",
    "bind",
    "copy_response",
    "copy_response_headers",
    "doors_geo",
    "doors_handler",
    "encode",
    "error",
    "eskip",
    "forward_auth",
    "handle",
    "handle_errors",
    "handle_path",
    "header",
    "invoke",
    "log",
    "log_name",
    "log_skip",
    "map",
    "method",
    "metrics",
    "redir",
    "request_body",
    "request_header",
    "respond",
    "reverse_proxy",
    "rewrite",
    "route",
    "skip_log",
    "tls",
    "uri",
    "vars",
];

/// A directive whose arguments, behind those of its matcher, say all about one handler.
type Reader = fn(Args<'_>, &mut Cx<'_>) -> Option<Handler>;

const READERS: [(&str, Reader); 22] = [
    ("abort", abort::read),
    ("basic_auth", basic_auth::read),
    ("basicauth", basic_auth::read),
    ("copy_response", copy_response::response),
    ("copy_response_headers", copy_response::headers),
    ("doors_geo", doors_geo::read),
    ("doors_handler", doors_handler::read),
    ("encode", encode::read),
    ("error", error::read),
    ("eskip", eskip::read),
    ("invoke", invoke::read),
    ("log_name", vars::log_name),
    ("log_skip", vars::log_skip),
    ("map", map::read),
    ("method", rewrite::method),
    ("metrics", metrics::read),
    ("request_body", request_body::read),
    ("request_header", request_header::read),
    ("respond", respond::read),
    ("skip_log", vars::log_skip),
    ("uri", uri::read),
    ("vars", vars::read),
];

/// Reads one directive.
pub(super) fn read(line: &Line, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Vec<Item> {
    let mut args = Args::new(line);
    match line.name.text.as_str() {
        "bind" => vec![Item::Bind(bind::read(line, cx))],
        "log" => vec![Item::Log(Box::new(log::read(args, cx)))],
        "tls" => tls::read(args, cx)
            .map(Box::new)
            .map(Item::Tls)
            .into_iter()
            .collect(),
        "forward_auth" => {
            let matchers = args.matcher(scope, cx);
            routes("forward_auth", &matchers, forward_auth::read(args, scope, cx))
        }
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
        "header" => routes("header", &args.matcher(scope, cx), header::read(args, cx)),
        "redir" => {
            redir::warn_of_path(args, cx);
            routes("redir", &args.matcher(scope, cx), redir::read(args, cx))
        }
        "reverse_proxy" => {
            let matchers = args.matcher(scope, cx);
            routes("reverse_proxy", &matchers, reverse_proxy::read(args, scope, cx))
        }
        "rewrite" => {
            let matchers = rewrite::matcher(&mut args, scope, cx);
            routes("rewrite", &matchers, rewrite::uri(args, cx))
        }
        "route" => routes(
            "route",
            &args.matcher(scope, cx),
            [handle::as_written(args, scope, cx)],
        ),
        name => match READERS.iter().find(|(reader, _)| *reader == name) {
            Some((directive, read)) => routes(directive, &args.matcher(scope, cx), read(args, cx)),
            None => {
                unknown(line, cx);
                Vec::new()
            }
        },
    }
}

/// Whether a word is the name of a directive.
pub(super) fn is_directive(name: &str) -> bool {
    DIRECTIVES.contains(&name) || LATER.contains(&name) || refused(Area::Directive, name).is_some()
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
    if let Some(help) = refused(Area::Directive, name) {
        cx.error(
            line.name.span,
            format!("`{text}` is not supported"),
            help.to_owned(),
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
