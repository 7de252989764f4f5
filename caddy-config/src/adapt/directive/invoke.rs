//! `invoke [MATCHER] NAME`: runs a named route.

use super::super::{args::Args, cx::Cx};
use crate::model::{Handler, Invoke};

pub(super) fn read(mut args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let name = args.required("the name of a route, defined as `&(name) { ... }`", cx)?;
    args.finish(cx);
    cx.no_block(args.line());
    cx.note_invocation(name);
    let name = name.text.clone();
    Some(Handler::Invoke(Invoke { name }))
}
