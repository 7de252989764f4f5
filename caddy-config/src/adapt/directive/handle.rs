//! `handle [matcher] { ... }` and `route [matcher] { ... }`: directives in a block, sorted or as they stand.

use super::super::{args::Args, block, cx::Cx, matcher::Scope, routes};
use crate::model::{Handler, Subroute};

pub(super) fn sorted(args: Args<'_>, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Handler {
    args.finish(cx);
    let inner = block::routes(args.block(), scope, cx);
    Handler::Subroute(Subroute {
        routes: routes::sorted(inner, cx),
        errors: None,
    })
}

pub(super) fn as_written(args: Args<'_>, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Handler {
    args.finish(cx);
    let inner = block::routes(args.block(), scope, cx);
    Handler::Subroute(Subroute {
        routes: routes::as_written(inner, cx),
        errors: None,
    })
}
