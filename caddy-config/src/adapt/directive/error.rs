//! `error [matcher] STATUS|MESSAGE [STATUS] { message TEXT }`: ends the chain with an error.

use super::{
    super::{args::Args, cx::Cx},
    respond::{is_status, status, text},
};
use crate::model::{ErrorResponse, Handler};

pub(super) fn read(mut args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let first = args.required("a status or a message", cx)?;
    let mut error = ErrorResponse::default();
    match args.next() {
        None if is_status(&first.text) => error.status_code = status(first, cx),
        None => error.error = text(first, cx),
        Some(second) => {
            error.error = text(first, cx);
            error.status_code = status(second, cx);
        }
    }
    args.finish(cx);
    for line in args.block() {
        if line.name.text == "message" {
            if !error.error.is_empty() {
                cx.error(line.name.span, "the message is given twice", None);
            }
            error.error = cx
                .one(line, "a text")
                .map(|arg| text(arg, cx))
                .unwrap_or_default();
        } else {
            cx.unknown(&line.name, "subdirective", &["message"]);
        }
    }
    Some(Handler::Error(error))
}
