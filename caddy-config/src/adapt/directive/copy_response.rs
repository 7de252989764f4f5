//! `copy_response [matcher] [STATUS]` and `copy_response_headers [matcher] { include FIELD...; exclude FIELD... }`:
//! what of an upstream's response is sent. They stand in `handle_response`.

use super::{
    super::{args::Args, cx::Cx},
    respond::fixed_status,
};
use crate::{
    check,
    model::{CopyResponse, CopyResponseHeaders, Handler, Status},
};

pub(super) fn response(mut args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    // A placeholder, which JSON may have here, is one that Caddy drops without a word.
    let status_code = args
        .next()
        .and_then(|arg| fixed_status(arg, cx))
        .map(Status::Code);
    args.finish(cx);
    cx.no_block(args.line());
    Some(Handler::CopyResponse(CopyResponse { status_code }))
}

pub(super) fn headers(args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    args.finish(cx);
    let mut handler = CopyResponseHeaders::default();
    for line in args.block() {
        let fields = match line.name.text.as_str() {
            "include" => &mut handler.include,
            "exclude" => &mut handler.exclude,
            _ => {
                cx.unknown(&line.name, "subdirective", &["exclude", "include"]);
                continue;
            }
        };
        for field in cx.some(line, "a field").unwrap_or_default() {
            cx.check(field, check::field_name(&field.text));
            fields.push(field.text.clone());
        }
    }
    if !handler.include.is_empty() && !handler.exclude.is_empty() {
        let help = "fields that are not included are left out anyway".to_owned();
        cx.error(args.name().span, "both `include` and `exclude`", help);
    }
    Some(Handler::CopyResponseHeaders(handler))
}
