//! One site: its addresses, and what its directives say.

use std::collections::BTreeSet;

use super::{
    address::Address,
    block,
    cx::Cx,
    directive::{self, Binding, Item, SiteLog, SiteTls},
    routes::DirectiveRoute,
    shorthand,
};
use crate::{
    caddyfile::{parser::Block, token::Token},
    check,
    model::Route,
    source::Span,
};

/// A site.
#[derive(Debug, Default)]
pub(super) struct Site {
    pub(super) keys: Vec<Key>,
    /// One route for each `handle_errors`.
    pub(super) errors: Vec<Route>,
    /// Empty for the global option, or every interface.
    pub(super) bindings: Vec<Binding>,
    pub(super) logs: Vec<(SiteLog, Span)>,
    pub(super) routes: Vec<DirectiveRoute>,
    /// With the places of the directives.
    pub(super) tls: Vec<(SiteTls, Span)>,
}

/// One address of a site, and where it is written.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) address: Address,
    pub(super) token: Token,
}

// === impl Site ===

impl Site {
    /// Calls `each` with every route, also those for errors.
    pub(super) fn all_routes<'s>(&'s self, each: impl FnMut(&'s Route)) {
        let routes = self.routes.iter().map(|route| &route.route);
        routes.chain(&self.errors).for_each(each);
    }
}

/// Reads a site.
pub(super) fn read(mut block: Block, cx: &mut Cx<'_>) -> Site {
    block.lines.iter_mut().for_each(shorthand::write_out);
    let mut site = Site::default();
    for token in std::mem::take(&mut block.keys) {
        site.keys.extend(key(token, cx));
    }
    cx.begin_site(block.braced);
    for (span, item) in block::items(&block.lines, cx) {
        match item {
            Item::Bind(binding) => site.bindings.push(binding),
            Item::Errors(route) => site.errors.push(route),
            Item::Log(log) => site.logs.push((*log, span)),
            Item::Route(route) => site.routes.push(route),
            Item::Tls(tls) => site.tls.push((*tls, span)),
        }
    }
    cx.end_site();
    site
}

fn key(token: Token, cx: &mut Cx<'_>) -> Option<Key> {
    if token.text.starts_with('@') {
        let help = "move it into a site; matchers belong to one site each".to_owned();
        cx.error(token.span, "a matcher outside of a site", help);
        return None;
    }
    if directive::is_directive(&token.text) {
        let text = cx.quote(&token);
        let help = "put an address before it, such as `:8080 {`, and a `}` behind its lines".to_owned();
        cx.error(
            token.span,
            format!("the directive `{text}` stands outside of a site"),
            help,
        );
        return None;
    }
    let address = Address::parse(&token.text)
        .map_err(|(message, help)| cx.error(token.span, message, help))
        .ok()?;
    cx.check_value(&token, check::template(&address.host));
    if matches!(address.host.as_str(), "0.0.0.0" | "::") {
        let message = format!("only requests whose Host is {} reach this site", address.host);
        cx.warn(
            token.span,
            message,
            "to choose an interface, write `:PORT` here and `bind` in the site".to_owned(),
        );
    }
    if !address.path.is_empty() {
        cx.check(&token, check::no_placeholder(&address.path));
        let help = "write the address without its path, and `handle PATH { ... }` in the site".to_owned();
        cx.warn(
            token.span,
            "a path in an address will not work in later versions",
            help,
        );
    }
    Some(Key { address, token })
}

/// The hosts of some of a site's addresses; empty if one of them is for every host.
pub(super) fn hosts<'k>(keys: &[&'k Key]) -> BTreeSet<&'k str> {
    if has_every_host(keys) {
        BTreeSet::new()
    } else {
        keys.iter().map(|key| key.address.host.as_str()).collect()
    }
}

/// Whether one of the addresses is for every host.
pub(super) fn has_every_host(keys: &[&Key]) -> bool {
    keys.iter().any(|key| key.address.host.is_empty())
}
