//! Directives with directives in a block: `handle`, `handle_path`, `route` and `handle_errors`.

use super::super::{args::Args, block, cx::Cx, matcher::Scope, routes};
use crate::{
    caddyfile::token::Token,
    model::{Expression, Handler, MatcherSet, Rewrite, Route, Subroute},
};

/// `handle [MATCHER] { ... }`: sorted.
pub(super) fn sorted(args: Args<'_>, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Handler {
    args.finish(cx);
    subroute(sorted_routes(args, scope, cx))
}

/// `route [MATCHER] { ... }`: as they stand.
pub(super) fn as_written(args: Args<'_>, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Handler {
    args.finish(cx);
    let inner = block::routes(args.block(), scope, cx);
    subroute(routes::as_written(inner, cx))
}

/// `handle_path /PREFIX* { ... }`: `handle` for a path, of which its beginning is taken off inside.
pub(super) fn path(
    mut args: Args<'_>,
    scope: &Scope<'_>,
    cx: &mut Cx<'_>,
) -> Option<(Vec<MatcherSet>, Handler)> {
    let pattern = args.required("a path, such as /api/*", cx)?;
    args.finish(cx);
    if !pattern.text.starts_with('/') {
        let help = "for another matcher, write `handle` and in its block `uri strip_prefix`".to_owned();
        cx.error(pattern.span, "a path begins with `/`", help);
        return None;
    }
    let text = pattern.text.as_str();
    let prefix = text
        .strip_suffix("/*")
        .or_else(|| text.strip_suffix('*'))
        .unwrap_or(text);
    let strip = Handler::Rewrite(Rewrite {
        strip_path_prefix: Some(prefix.to_owned()).filter(|prefix| !prefix.is_empty()),
        ..Rewrite::default()
    });
    let mut inner = vec![Route {
        handlers: vec![strip],
        ..Route::default()
    }];
    inner.extend(sorted_routes(args, scope, cx));
    let set = MatcherSet {
        path: Some(vec![text.to_owned()]),
        ..MatcherSet::default()
    };
    Some((vec![set], subroute(inner)))
}

/// `handle_errors [CODE...] { ... }`: a route for requests that ended with an error.
pub(super) fn errors(args: Args<'_>, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Route {
    let handler = subroute(sorted_routes(args, scope, cx));
    let set = codes(args.rest(), cx).map(|expr| MatcherSet {
        expression: Some(Expression { expr, name: None }),
        ..MatcherSet::default()
    });
    Route {
        matchers: Vec::from_iter(set),
        handlers: vec![handler],
        ..Route::default()
    }
}

/// The expression for status codes such as `404` and `5xx`, as Caddy writes it.
fn codes(args: &[Token], cx: &mut Cx<'_>) -> Option<String> {
    const STATUS: &str = "{http.error.status_code}";
    let mut terms = Vec::new();
    let mut single = Vec::new();
    for arg in args {
        match arg.text.strip_suffix("xx") {
            Some(class) if class.len() == 1 && class.bytes().all(|byte| byte.is_ascii_digit()) => {
                terms.push(format!("{STATUS} >= {class}00 && {STATUS} <= {class}99"));
            }
            _ if arg.text.len() == 3 && arg.text.bytes().all(|byte| byte.is_ascii_digit()) => {
                single.push(arg.text.as_str())
            }
            _ => {
                let text = cx.quote(arg);
                let help =
                    "write codes such as 404, or classes such as 5xx; other matchers go into the block"
                        .to_owned();
                cx.error(arg.span, format!("`{text}` is not a status code"), help);
            }
        }
    }
    if !single.is_empty() {
        terms.push(format!("{STATUS} in [{}]", single.join(", ")));
    }
    Some(terms.join(" || ")).filter(|expr| !expr.is_empty())
}

fn sorted_routes(args: Args<'_>, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Vec<Route> {
    let inner = block::routes(args.block(), scope, cx);
    routes::sorted(inner, cx)
}

const fn subroute(routes: Vec<Route>) -> Handler {
    Handler::Subroute(Subroute { routes, errors: None })
}
