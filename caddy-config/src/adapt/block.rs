//! Blocks of directives: those of sites and those inside other directives.

use super::{
    cx::Cx,
    directive::{self, Item},
    matcher::{self, Scope},
    routes::DirectiveRoute,
};
use crate::{caddyfile::parser::Line, source::Span};

/// What the directives of a site give, each with the place of its name.
pub(super) fn items(lines: &[Line], cx: &mut Cx<'_>) -> Vec<(Span, Item)> {
    let scope = Scope::new(None, lines, cx);
    let mut out = Vec::new();
    for line in lines.iter().filter(|line| !matcher::is_definition(line)) {
        let items = directive::read(line, &scope, cx);
        out.extend(items.into_iter().map(|item| (line.name.span, item)));
    }
    out
}

/// What the directives inside another one give: they handle requests, or are reported.
pub(super) fn routes(lines: &[Line], parent: &Scope<'_>, cx: &mut Cx<'_>) -> Vec<DirectiveRoute> {
    let scope = Scope::new(Some(parent), lines, cx);
    let mut out = Vec::new();
    for line in lines.iter().filter(|line| !matcher::is_definition(line)) {
        for item in directive::read(line, &scope, cx) {
            match item {
                Item::Route(route) => out.push(route),
                Item::Bind(_) | Item::Errors(_) | Item::Log(_) | Item::Tls(_) => {
                    let name = cx.quote(&line.name);
                    let help = "move it out of the inner block".to_owned();
                    cx.error(
                        line.name.span,
                        format!("`{name}` stands only directly in a site"),
                        help,
                    );
                }
            }
        }
    }
    out
}
