//! `@name ...`, `handle_response` and `replace_status`: what is done with certain responses.

use std::collections::BTreeMap;

use super::{
    super::{
        super::{block, cx::Cx, matcher::Scope, routes},
        header::response_matcher,
        respond,
    },
    block as lines_of,
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    model::{ResponseHandler, ResponseMatcher, Status},
};

/// What the lines about responses say. Routes are read last, as Caddy does, since groups are numbered as they come.
#[derive(Debug, Default)]
pub(super) struct Responses<'l> {
    matchers: BTreeMap<&'l str, ResponseMatcher>,
    statuses: Vec<(Option<&'l Token>, Status)>,
    handlers: Vec<&'l Line>,
}

// === impl Responses ===

impl<'l> Responses<'l> {
    /// `@NAME status ...`, `@NAME header ...`, or a block of such lines.
    pub(super) fn define(&mut self, line: &'l Line, cx: &mut Cx<'_>) {
        let matcher = response_matcher(line, cx);
        if self.matchers.insert(&line.name.text, matcher).is_some() {
            let name = cx.quote(&line.name);
            cx.error(line.name.span, format!("`{name}` is defined twice"), None);
        }
    }

    /// `replace_status [@NAME] STATUS`.
    pub(super) fn replace_status(&mut self, line: &'l Line, cx: &mut Cx<'_>) {
        let args = cx.some(line, "a status").unwrap_or_default();
        let (name, rest) = match args.split_first() {
            Some((name, rest)) if name.text.starts_with('@') => (Some(name), rest),
            _ => (None, args),
        };
        cx.surplus(rest.get(1..).unwrap_or_default());
        let Some(status) = rest.first() else {
            if let Some(name) = name {
                cx.error(name.span, "`replace_status` needs a status", None);
            }
            return;
        };
        self.statuses
            .extend(respond::status(status, cx).map(|status| (name, status)));
    }

    /// `handle_response [@NAME] { ... }`.
    pub(super) fn handle(&mut self, line: &'l Line) {
        self.handlers.push(line);
    }

    /// Those without a condition go last, since nothing behind them could be reached.
    pub(super) fn finish(self, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Vec<ResponseHandler> {
        let mut handlers = Vec::new();
        for (name, status) in &self.statuses {
            handlers.push(ResponseHandler {
                matcher: name.and_then(|name| self.find(name, cx)),
                status_code: Some(status.clone()),
                routes: Vec::new(),
            });
        }
        for line in &self.handlers {
            handlers.push(self.handler(line, scope, cx));
        }
        handlers.sort_by_key(|handler| handler.matcher.is_none());
        handlers
    }

    fn handler(&self, line: &Line, scope: &Scope<'_>, cx: &mut Cx<'_>) -> ResponseHandler {
        let name = line.args.first();
        cx.surplus(line.args.get(1..).unwrap_or_default());
        let matcher = name.and_then(|name| {
            if name.text.starts_with('@') {
                return self.find(name, cx);
            }
            let help = "define one in the `reverse_proxy`, such as `@error status 5xx`".to_owned();
            cx.error(name.span, "expected the name of a response matcher", help);
            None
        });
        let inner = block::routes(lines_of(line), scope, cx);
        ResponseHandler {
            matcher,
            status_code: None,
            routes: routes::sorted(inner, cx),
        }
    }

    fn find(&self, name: &Token, cx: &mut Cx<'_>) -> Option<ResponseMatcher> {
        let found = self.matchers.get(name.text.as_str()).cloned();
        if found.is_none() {
            let text = cx.quote(name);
            let help = format!("define it in the `reverse_proxy`: `{text} status 5xx`");
            cx.error(
                name.span,
                format!("the response matcher `{text}` is not defined"),
                help,
            );
        }
        found
    }
}
