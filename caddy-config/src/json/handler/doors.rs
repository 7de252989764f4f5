//! What Doors apps need.

use std::collections::BTreeMap;

use super::status;
use crate::{
    check,
    json::{
        decode::{Cx, Object},
        reader::{Node, Value},
        scalar::{duration, port, word},
    },
    model::{DoorsGeo, DoorsHandler, DoorsUpstream, RedirectScheme, Secret},
    source::Span,
};

pub(super) fn geo<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> DoorsGeo {
    let redirects = object.require("redirects", cx, redirects).unwrap_or_default();
    DoorsGeo {
        tarball_url: object.get("tarball_url", cx, |node, cx| {
            let url = word(node, cx)?;
            cx.check(node, check::download_url(&url))?;
            Some(url)
        }),
        update_interval: object.get("update_interval", cx, duration),
        download_timeout: object.get("download_timeout", cx, duration),
        redirects,
        redirect_scheme: object.get("redirect_scheme", cx, |node, cx| {
            let name = cx.string(node)?;
            let scheme = RedirectScheme::named(&name);
            cx.check(node, scheme.ok_or("expected `http`, `https` or `request`"))
        }),
        status: object.get("status", cx, |node, cx| {
            let status = status(node, cx)?;
            cx.check(node, check::redirect_status(status))
        }),
    }
}

/// Domains, each with its countries. No country belongs to two.
fn redirects<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<BTreeMap<String, Vec<String>>> {
    let mut seen: BTreeMap<String, ()> = BTreeMap::new();
    let redirects = cx.map(node, |node, cx| {
        let countries = cx.list(node, |node, cx| {
            let code = cx.string(node)?;
            let code = cx.check(node, check::country(&code))?;
            let new = seen.insert(code.clone(), ()).is_none();
            cx.check(node, new.then_some(()).ok_or("this country is listed twice"))?;
            Some(code)
        })?;
        if countries.is_empty() {
            cx.error(node.span, "a domain without countries", None);
        }
        Some(countries)
    })?;
    for domain in redirects.keys() {
        cx.check(node, check::redirect_domain(domain));
    }
    if redirects.is_empty() {
        cx.error(node.span, "at least one domain is needed", None);
    }
    Some(redirects)
}

pub(super) fn handler<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> DoorsHandler {
    cx.note_doors_handler();
    let handler = DoorsHandler {
        secrets: object.require("secret", cx, secrets).unwrap_or_default(),
        cookie_name: object.get("cookie_name", cx, cookie_name),
        upstreams: object.require("upstreams", cx, upstreams).unwrap_or_default(),
        dead_pod_status: object.get("dead_pod_status", cx, status),
    };
    if handler.upstreams.len() > 1 && handler.cookie_name.is_none() && object.node("cookie_name").is_none() {
        let start = object.span().start;
        let help = "add \"cookie_name\", the name that the Doors app gives its id cookie".to_owned();
        let span = Span::new(start, start.saturating_add(1));
        cx.error(
            span,
            "several upstreams need `cookie_name` to keep a session on its server",
            help,
        );
    }
    handler
}

/// One string, or a list of them.
fn secrets<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Vec<Secret>> {
    let secrets = match node.value {
        Value::Array(_) => cx.list(node, secret)?,
        _ => vec![secret(node, cx)?],
    };
    if secrets.is_empty() {
        cx.error(node.span, "the list of secrets is empty", None);
    }
    Some(secrets)
}

fn secret<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Secret> {
    let text = cx.string(node)?;
    if text.trim().is_empty() {
        cx.error(node.span, "the secret is empty", check::SECRET_HELP.to_owned());
        return None;
    }
    if let Err(error) = check::secret(&text) {
        cx.error(node.span, error, check::SECRET_HELP.to_owned());
        return None;
    }
    Some(text.into())
}

fn cookie_name<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let name = cx.string(node)?;
    cx.check(
        node,
        check::field_name(&name).map_err(|_| "this is not the name of a cookie"),
    )?;
    Some(name)
}

fn upstreams<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Vec<DoorsUpstream>> {
    let upstreams = cx.list(node, upstream)?;
    if matches!(&node.value, Value::Array(items) if items.is_empty()) {
        cx.error(node.span, "at least one upstream is needed", None);
    }
    Some(upstreams)
}

fn upstream<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<DoorsUpstream> {
    let mut object = Object::open(node, cx)?;
    let cidr = object.require("cidr", cx, |node, cx| {
        let text = cx.string(node)?;
        cx.check(
            node,
            text.parse()
                .map_err(|_| "this is not a network such as 10.0.0.0/24"),
        )
    });
    let host = object.require("host", cx, |node, cx| {
        let text = cx.string(node)?;
        cx.check(node, check::host(&text))?;
        Some(text)
    });
    let port = object.require("port", cx, port);
    object.finish(cx);
    Some(DoorsUpstream {
        cidr: cidr?,
        host: host?,
        port: port?,
    })
}
