//! `doors_geo [matcher] { DOMAIN { COUNTRY... } }`: sends visitors to the site of their country.
//!
//! Beside domains there are `tarball_url URL`, `update_interval DURATION`, `download_timeout DURATION`,
//! `redirect_scheme http|https|request` and `status 302|307|308`.

use std::collections::BTreeMap;

use super::super::{
    args::Args,
    cx::Cx,
    values::{self, Once},
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{DoorsGeo, Handler, RedirectScheme},
    source::Span,
};

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    args.finish(cx);
    let mut geo = DoorsGeo::default();
    let mut once = Once::default();
    let mut countries = BTreeMap::new();
    for line in args.block() {
        once.note(&line.name, cx);
        match line.name.text.as_str() {
            "tarball_url" => {
                geo.tarball_url = cx
                    .one(line, "a URL")
                    .and_then(|arg| cx.check(arg, check::download_url(&arg.text).map(|()| arg.text.clone())));
            }
            "update_interval" => geo.update_interval = values::duration(line, cx),
            "download_timeout" => geo.download_timeout = values::duration(line, cx),
            "redirect_scheme" => geo.redirect_scheme = scheme(line, cx),
            "status" => geo.status = status(line, cx),
            _ => {
                let codes = domain(line, &mut countries, cx);
                geo.redirects.insert(line.name.text.clone(), codes);
            }
        }
    }
    if geo.redirects.is_empty() {
        let help =
            "add a block of countries for each domain: `eu.example.com { DE FR }`, on three lines".to_owned();
        cx.error(args.name().span, "`doors_geo` needs a domain", help);
    }
    Some(Handler::DoorsGeo(geo))
}

fn scheme(line: &Line, cx: &mut Cx<'_>) -> Option<RedirectScheme> {
    let arg = cx.one(line, "a scheme: `http`, `https` or `request`")?;
    let scheme = RedirectScheme::named(&arg.text);
    if scheme.is_none() {
        cx.unknown(arg, "scheme", &["http", "https", "request"]);
    }
    scheme
}

fn status(line: &Line, cx: &mut Cx<'_>) -> Option<u16> {
    let arg = cx.one(line, "a status: 302, 307 or 308")?;
    let status = arg
        .text
        .parse()
        .ok()
        .and_then(|status| check::redirect_status(status).ok());
    if status.is_none() {
        cx.unknown(arg, "status", &check::REDIRECT_STATUSES);
    }
    status
}

/// The countries of a domain, on any number of lines. `seen` holds those of all domains, with their places.
fn domain(line: &Line, seen: &mut BTreeMap<String, Span>, cx: &mut Cx<'_>) -> Vec<String> {
    if line.block.is_none() {
        cx.unknown(
            &line.name,
            "subdirective",
            &[
                "download_timeout",
                "redirect_scheme",
                "status",
                "tarball_url",
                "update_interval",
            ],
        );
        return Vec::new();
    }
    cx.surplus(&line.args);
    cx.check(&line.name, check::redirect_domain(&line.name.text));
    let mut codes = Vec::new();
    for line in values::block(line) {
        cx.no_block(line);
        for arg in std::iter::once(&line.name).chain(&line.args) {
            codes.extend(country(arg, seen, cx));
        }
    }
    if codes.is_empty() {
        cx.error(line.name.span, "a domain without countries", None);
    }
    codes
}

fn country(arg: &Token, seen: &mut BTreeMap<String, Span>, cx: &mut Cx<'_>) -> Option<String> {
    let code = cx.check(arg, check::country(&arg.text))?;
    if let Some(first) = seen.insert(code.clone(), arg.span) {
        cx.twice(arg, first);
    }
    if !check::is_assigned(&code) {
        let help = "no address lies in it unless the archive has it too".to_owned();
        cx.warn(arg.span, format!("`{code}` is not the code of a country"), help);
    }
    Some(code)
}
