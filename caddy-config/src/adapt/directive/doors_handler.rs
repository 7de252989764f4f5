//! `doors_handler [matcher] { ... }`: routes the requests of a Doors app to the pod or server that has its session.
//!
//! `secret KEY` (again for a second key), `cookie_name NAME`, `dead_pod_status STATUS`, and for each server
//! `upstream { pod_cidr CIDR; host NAME; upstream_port PORT }`.

use super::{
    super::{args::Args, cx::Cx},
    respond::fixed_status,
};
use crate::{
    caddyfile::parser::Line,
    check,
    model::{DoorsHandler, DoorsUpstream, Handler, Secret},
};

const SUBDIRECTIVES: [&str; 4] = ["cookie_name", "dead_pod_status", "secret", "upstream"];

const UPSTREAM: [&str; 3] = ["host", "pod_cidr", "upstream_port"];

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    args.finish(cx);
    cx.note_doors_handler();
    let name = args.name();
    let mut handler = DoorsHandler::default();
    for line in args.block() {
        subdirective(line, &mut handler, cx);
    }
    let has = |subdirective: &str| args.block().iter().any(|line| line.name.text == subdirective);
    if !has("secret") {
        let help = "add a line `secret KEY`; make a key with `openssl rand -base64 32`".to_owned();
        cx.error(name.span, "`doors_handler` needs a `secret`", help);
    }
    if !has("upstream") {
        let help = "add `upstream { ... }` with pod_cidr, host and upstream_port".to_owned();
        cx.error(name.span, "`doors_handler` needs an `upstream`", help);
    }
    let upstreams = args
        .block()
        .iter()
        .filter(|line| line.name.text == "upstream")
        .count();
    if upstreams > 1 && !has("cookie_name") {
        let help =
            "add a line `cookie_name NAME`, with the name that the Doors app gives its id cookie".to_owned();
        cx.error(
            name.span,
            "several upstreams need `cookie_name` to keep a session on its server",
            help,
        );
    }
    Some(Handler::DoorsHandler(handler))
}

fn subdirective(line: &Line, handler: &mut DoorsHandler, cx: &mut Cx<'_>) {
    match line.name.text.as_str() {
        "secret" => handler.secrets.extend(secret(line, cx)),
        "cookie_name" => {
            if handler.cookie_name.is_some() {
                cx.error(line.name.span, "`cookie_name` is given twice", None);
            }
            let Some(arg) = cx.one(line, "the name of a cookie") else {
                return;
            };
            cx.check(
                arg,
                check::field_name(&arg.text).map_err(|_| "this is not the name of a cookie"),
            );
            handler.cookie_name = Some(arg.text.clone());
        }
        "dead_pod_status" => {
            if handler.dead_pod_status.is_some() {
                cx.error(line.name.span, "`dead_pod_status` is given twice", None);
            }
            let arg = cx.one(line, "a status, such as 502");
            handler.dead_pod_status = arg.and_then(|arg| fixed_status(arg, cx));
        }
        "upstream" => handler.upstreams.extend(upstream(line, cx)),
        _ => {
            // It may be a misspelt `secret`.
            line.args.iter().for_each(|arg| cx.mask(arg));
            cx.unknown(&line.name, "subdirective", &SUBDIRECTIVES);
        }
    }
}

/// One key. Nothing that is written here may be shown.
fn secret(line: &Line, cx: &mut Cx<'_>) -> Option<Secret> {
    cx.no_block(line);
    let help = check::SECRET_HELP.to_owned();
    match line.args.as_slice() {
        [key] if !key.text.trim().is_empty() => {
            if let Err(error) = check::secret(&key.text) {
                cx.error(key.span, error, check::SECRET_HELP.to_owned());
                return None;
            }
            return Some(key.text.clone().into());
        }
        // Where a variable stands that is not set, what was said about that comes first.
        [] => {
            let span = cx.variable_behind(line.name.span).unwrap_or(line.name.span);
            cx.error(span, "`secret` needs a key", help);
        }
        [key] => {
            let span = cx.variable_behind(line.name.span).unwrap_or(key.span);
            cx.error(span, "`secret` needs a key", help);
        }
        [_, surplus, ..] => {
            let help = "for a second key, write a second line `secret KEY`".to_owned();
            cx.error(surplus.span, "`secret` takes one key", help);
        }
    }
    None
}

fn upstream(line: &Line, cx: &mut Cx<'_>) -> Option<DoorsUpstream> {
    cx.surplus(&line.args);
    let (mut cidr, mut host, mut port) = (None, None, None);
    let mut seen = Vec::new();
    for line in line.block.as_deref().unwrap_or_default() {
        let name = line.name.text.as_str();
        if seen.contains(&name) {
            cx.error(line.name.span, format!("`{name}` is given twice"), None);
        }
        match name {
            "pod_cidr" => {
                cidr = cx.one(line, "a network, such as 10.0.0.0/24").and_then(|arg| {
                    cx.check(
                        arg,
                        arg.text
                            .parse()
                            .map_err(|_| "this is not a network such as 10.0.0.0/24"),
                    )
                });
            }
            "host" => {
                host = cx
                    .one(line, "a name or an address")
                    .and_then(|arg| cx.check(arg, check::host(&arg.text).map(|()| arg.text.clone())));
            }
            "upstream_port" => {
                port = cx.one(line, "a port").and_then(|arg| {
                    let port = arg.text.parse().ok().filter(|port: &u16| *port != 0);
                    cx.check(arg, port.ok_or("expected a port from 1 to 65535"))
                });
            }
            _ => {
                cx.unknown(&line.name, "subdirective", &UPSTREAM);
                continue;
            }
        }
        seen.push(name);
    }
    for missing in UPSTREAM.iter().filter(|name| !seen.contains(*name)) {
        cx.error(line.name.span, format!("`upstream` needs `{missing}`"), None);
    }
    Some(DoorsUpstream {
        cidr: cidr?,
        host: host?,
        port: port?,
    })
}
