//! `respond [matcher] STATUS|BODY [STATUS] { body TEXT; close }`: a fixed answer.

use super::super::{args::Args, cx::Cx};
use crate::{
    caddyfile::token::Token,
    check::{self, EARLY_HINTS},
    model::{Handler, StaticResponse, Status},
};

pub(super) fn read(mut args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let first = args.required("a status or a body", cx)?;
    let mut response = StaticResponse::default();
    match args.next() {
        None if is_status(&first.text) => response.status_code = own_status(first, cx),
        None => response.body = text(first, cx),
        Some(second) => {
            response.body = text(first, cx);
            response.status_code = own_status(second, cx);
        }
    }
    args.finish(cx);
    for line in args.block() {
        match line.name.text.as_str() {
            "body" => {
                if !response.body.is_empty() {
                    cx.error(line.name.span, "the body is given twice", None);
                }
                response.body = cx
                    .one(line, "a text")
                    .map(|arg| text(arg, cx))
                    .unwrap_or_default();
            }
            "close" => {
                cx.nothing(line);
                response.close = true;
            }
            _ => cx.unknown(&line.name, "subdirective", &["body", "close"]),
        }
    }
    Some(Handler::StaticResponse(response))
}

/// Whether a single argument is a status rather than a body.
pub(super) fn is_status(text: &str) -> bool {
    text.len() == 3 && text.parse::<u16>().is_ok_and(|number| number > 0)
}

/// As [`status`]; 103 too, which is sent before the response.
fn own_status(token: &Token, cx: &mut Cx<'_>) -> Option<Status> {
    if token.text == EARLY_HINTS.to_string() {
        return Some(Status::Code(EARLY_HINTS));
    }
    status(token, cx)
}

/// A status that ends a response, or a placeholder that stands for one.
pub(super) fn status(token: &Token, cx: &mut Cx<'_>) -> Option<Status> {
    if token.text.contains('{') {
        return Some(Status::Text(text(token, cx)));
    }
    fixed_status(token, cx).map(Status::Code)
}

/// A status that ends a response.
pub(super) fn fixed_status(token: &Token, cx: &mut Cx<'_>) -> Option<u16> {
    let status = token.text.parse().ok().and_then(check::final_status);
    if status.is_none() {
        let text = cx.quote(token);
        let help = "write a number from 200 to 999".to_owned();
        cx.error(token.span, format!("`{text}` is not a final status"), help);
    }
    status
}

pub(super) fn text(token: &Token, cx: &mut Cx<'_>) -> String {
    cx.check_value(token, check::template(&token.text));
    token.text.clone()
}
