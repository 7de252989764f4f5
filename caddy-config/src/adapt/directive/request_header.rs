//! `request_header [matcher] [+|-]FIELD [VALUE|PATTERN [REPLACEMENT]]`: a change to a request field.

use super::{
    super::{args::Args, cx::Cx},
    header::{operation, split_sign},
};
use crate::model::{Handler, HeaderOps, Headers};

pub(super) fn read(mut args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let field = args.required("a field", cx)?;
    cx.no_block(args.line());
    if let (Some(sign @ ('?' | '>')), _) = split_sign(&field.text) {
        let help = "it is for response fields: use `header`".to_owned();
        cx.error(field.span, format!("`{sign}` before a request field"), help);
        return None;
    }
    let mut ops = HeaderOps::default();
    operation(&mut ops, field, args.rest(), cx);
    Some(Handler::Headers(Headers {
        request: Some(ops),
        response: None,
    }))
}
