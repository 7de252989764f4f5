//! `&(name) { ... }`: routes that any site may `invoke`. Each server gets those that its sites invoke, and those that
//! these invoke in turn.

use std::collections::{BTreeMap, BTreeSet};

use super::{block, cx::Cx, matcher::Scope, routes, server::Served, shorthand};
use crate::{
    caddyfile::{parser::Block, token::Token},
    model::{Handler, Route, Subroute},
    named_routes::{circles, invoked, reachable, size},
    source::Span,
};

/// More handlers than this are not copied to servers.
const MAX_COPIED: usize = 200_000;

/// A name behind `invoke`.
#[derive(Debug)]
pub(super) struct Invocation {
    pub(super) name: Token,
    /// The named route that it stands in.
    pub(super) inside: Option<String>,
}

/// Reads the named routes among the blocks of a file.
pub(super) fn read(blocks: Vec<Block>, cx: &mut Cx<'_>) -> BTreeMap<String, Route> {
    let mut named = BTreeMap::new();
    let mut places: BTreeMap<String, Span> = BTreeMap::new();
    for mut block in blocks {
        block.lines.iter_mut().for_each(shorthand::write_out);
        let key = block.keys.first().map_or("", |key| key.text.as_str());
        let name = key.strip_prefix("&(").and_then(|key| key.strip_suffix(')'));
        let name = name.unwrap_or_default().to_owned();
        if let Some(first) = places.insert(name.clone(), block.span) {
            let line = cx.line_of(first);
            let message = format!("the named route `{name}` has a definition already, on line {line}");
            cx.error(block.span, message, "give one of them another name".to_owned());
        }
        cx.begin_named_route(&name);
        let inner = block::routes(&block.lines, &Scope::default(), cx);
        let routes = routes::sorted(inner, cx);
        cx.end_named_route();
        named.insert(name, route(routes));
    }
    named
}

/// One route without a condition is that route; others stand in a subroute.
fn route(mut routes: Vec<Route>) -> Route {
    let handlers = match routes.as_mut_slice() {
        [only] if only.matchers.is_empty() => std::mem::take(&mut only.handlers),
        _ => vec![Handler::Subroute(Subroute { routes, errors: None })],
    };
    Route {
        handlers,
        ..Route::default()
    }
}

/// The named routes as servers get them.
#[derive(Debug)]
pub(super) struct Copies<'r> {
    named: &'r BTreeMap<String, Route>,
    /// How many more handlers the copies may have together.
    left: usize,
}

// === impl Copies ===

impl<'r> Copies<'r> {
    pub(super) const fn new(named: &'r BTreeMap<String, Route>) -> Self {
        Self {
            named,
            left: MAX_COPIED,
        }
    }

    /// The named routes of a server: those that its sites invoke, and those that these invoke.
    pub(super) fn of_server(&mut self, sites: &[Served<'_>], cx: &mut Cx<'_>) -> BTreeMap<String, Route> {
        let mut copies = BTreeMap::new();
        if self.named.is_empty() {
            return copies;
        }
        let mut names = BTreeSet::new();
        for served in sites {
            served
                .site
                .all_routes(|route| invoked(std::slice::from_ref(route), &mut names));
        }
        for name in reachable(names, self.named) {
            let Some(route) = self.named.get(name) else {
                continue;
            };
            let before = self.left;
            self.left = before.saturating_sub(size(std::slice::from_ref(route)));
            if self.left > 0 {
                copies.insert(name.to_owned(), route.clone());
            } else if before > 0 {
                let span = sites.first().and_then(|served| served.keys.first());
                let span = span.map_or_else(Span::default, |key| key.token.span);
                let message = format!(
                    "named routes, which each server gets for itself, have more than {MAX_COPIED} handlers here"
                );
                cx.error(span, message, "let fewer servers invoke them".to_owned());
            }
        }
        copies
    }
}

/// Reports invocations of what is not there, and those that lead back to themselves.
pub(super) fn check(invocations: &[Invocation], named: &BTreeMap<String, Route>, cx: &mut Cx<'_>) {
    let used = invocations
        .iter()
        .filter(|invocation| invocation.inside.is_none());
    let used = reachable(
        used.map(|invocation| invocation.name.text.as_str()).collect(),
        named,
    );
    let circles = circles(named);
    for Invocation { name, inside } in invocations {
        let text = cx.quote(name);
        let inside = inside.as_deref();
        if inside.is_some_and(|inside| circles.contains(&(inside, &name.text))) {
            let help = "a request might never leave this circle; remove one of its `invoke` lines".to_owned();
            cx.error(
                name.span,
                format!("the named route `{text}` leads back to itself"),
                help,
            );
        } else if !named.contains_key(&name.text) {
            let help = format!("define it at the top of the file: `&({text}) {{ ... }}`");
            let message = format!("there is no named route `{text}`");
            if inside.is_none_or(|inside| used.contains(inside)) {
                cx.error(name.span, message, help);
            } else {
                cx.warn(name.span, message, help);
            }
        }
    }
}
