//! `abort [matcher]`: drops the connection without an answer.

use super::super::{args::Args, cx::Cx};
use crate::model::{Handler, StaticResponse};

pub(super) fn read(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    args.finish(cx);
    cx.no_block(args.line());
    Some(Handler::StaticResponse(StaticResponse {
        abort: true,
        ..StaticResponse::default()
    }))
}
