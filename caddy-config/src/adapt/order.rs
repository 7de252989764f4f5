//! The order in which the directives of a block run, whatever order they are written in.

use super::{cx::Cx, directive};
use crate::caddyfile::{parser::Line, token::Token};

/// First runs first. `doors_geo` and `doors_handler` stand where doors-caddy puts them, and `eskip` before the other
/// directive that forwards, so that a `reverse_proxy` may be for what its matcher leaves over. Directives that are not
/// supported yet keep their places, so that adding one is no change of order.
const DEFAULT: [&str; 42] = [
    "tracing",
    "map",
    "vars",
    "fs",
    "root",
    "log_append",
    "skip_log",
    "log_skip",
    "log_name",
    "header",
    "copy_response_headers",
    "request_body",
    "timeouts",
    "redir",
    "method",
    "rewrite",
    "uri",
    "try_files",
    "basicauth",
    "basic_auth",
    "forward_auth",
    "request_header",
    "encode",
    "push",
    "intercept",
    "templates",
    "invoke",
    "handle",
    "handle_path",
    "route",
    "abort",
    "error",
    "copy_response",
    "respond",
    "metrics",
    "doors_geo",
    "doors_handler",
    "eskip",
    "reverse_proxy",
    "php_fastcgi",
    "file_server",
    "acme_server",
];

/// The directives that handle requests, the first to run first.
#[derive(Clone, Debug)]
pub(super) struct Order(Vec<String>);

// === impl Order ===

impl Default for Order {
    fn default() -> Self {
        Self(DEFAULT.into_iter().map(str::to_owned).collect())
    }
}

impl Order {
    /// The place of a directive; smaller runs earlier.
    pub(super) fn position(&self, directive: &str) -> usize {
        let place = self.0.iter().position(|name| name == directive);
        place.unwrap_or(self.0.len())
    }

    /// Carries out the global option `order DIRECTIVE first|last` or `order DIRECTIVE before|after OTHER`.
    pub(super) fn change(&mut self, line: &Line, cx: &mut Cx<'_>) {
        cx.no_block(line);
        let mut args = line.args.iter();
        let (Some(name), Some(place)) = (args.next(), args.next()) else {
            let help = "write `order NAME first`, `last`, `before OTHER` or `after OTHER`".to_owned();
            return cx.error(line.name.span, "`order` needs a directive and a place", help);
        };
        if !directive::is_directive(&name.text) {
            if cx.count_only(name.span) {
                return;
            }
            let text = cx.quote(name);
            cx.error(
                name.span,
                format!("`{text}` is no directive"),
                directive::similar(&name.text),
            );
            return;
        }
        let mut order: Vec<String> = self
            .0
            .iter()
            .filter(|other| **other != name.text)
            .cloned()
            .collect();
        let at = match place.text.as_str() {
            "first" => Some(0),
            "last" => Some(order.len()),
            "before" => beside(&order, place, args.next(), cx),
            "after" => beside(&order, place, args.next(), cx).map(|at| at.saturating_add(1)),
            _ => {
                cx.unknown(place, "place", &["first", "last", "before", "after"]);
                None
            }
        };
        cx.surplus(args.as_slice());
        if let Some(at) = at {
            order.insert(at, name.text.clone());
            self.0 = order;
        }
    }
}

/// The place of the directive that another is to stand beside.
fn beside(order: &[String], word: &Token, other: Option<&Token>, cx: &mut Cx<'_>) -> Option<usize> {
    let Some(other) = other else {
        let text = cx.quote(word);
        cx.error(word.span, format!("`{text}` needs another directive"), None);
        return None;
    };
    let at = order.iter().position(|name| *name == other.text);
    if at.is_none() && !cx.count_only(other.span) {
        let text = cx.quote(other);
        let message = format!("`{text}` is no other directive that has a place in the order");
        cx.error(other.span, message, directive::similar(&other.text));
    }
    at
}
