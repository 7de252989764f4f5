//! `rewrite [matcher] TO`, where a single argument is the target, and `method [matcher] METHOD`.

use super::super::{args::Args, cx::Cx, matcher::Scope};
use crate::{
    check,
    model::{Handler, MatcherSet, Rewrite},
};

/// The matcher, if there is an argument behind it.
pub(super) fn matcher(args: &mut Args<'_>, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Vec<MatcherSet> {
    match args.rest() {
        [_] => Vec::new(),
        _ => args.matcher(scope, cx),
    }
}

pub(super) fn uri(mut args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let to = args.required("a target, such as /new{uri}", cx)?;
    args.finish(cx);
    cx.no_block(args.line());
    cx.check_value(to, check::template(&to.text));
    Some(Handler::Rewrite(Rewrite {
        uri: Some(to.text.clone()).filter(|to| !to.is_empty()),
        ..Rewrite::default()
    }))
}

pub(super) fn method(mut args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let method = args.required("a method", cx)?;
    args.finish(cx);
    cx.no_block(args.line());
    cx.check(method, check::method_template(&method.text));
    cx.check_value(method, check::template(&method.text));
    Some(Handler::Rewrite(Rewrite {
        method: Some(method.text.clone()),
        ..Rewrite::default()
    }))
}
