//! `redir [matcher] TO [STATUS|permanent|temporary|html]`: sends the client elsewhere.

use std::collections::BTreeMap;

use super::super::{args::Args, cx::Cx};
use crate::{
    caddyfile::token::Token,
    check,
    model::{Handler, StaticResponse, Status},
};

/// A target that looks like a path is taken for a matcher if something follows it.
pub(super) fn warn_of_path(args: Args<'_>, cx: &mut Cx<'_>) {
    let [first, second] = args.rest() else { return };
    let is_code = matches!(second.text.as_str(), "html" | "permanent" | "temporary")
        || second.text.len() == 3 && second.text.parse::<u16>().is_ok();
    if first.text.starts_with('/') && is_code {
        let (path, code) = (cx.quote(first), cx.quote(second));
        let message = format!("requests for `{path}` are sent to `{code}`");
        let help = format!("to send every request to {path}, write `redir * {path} {code}`");
        cx.warn(first.span, message, help);
    }
}

pub(super) fn read(mut args: Args<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let to = args.required("a target", cx)?;
    cx.check_value(to, check::field_value(&to.text));
    let code = args.next();
    args.finish(cx);
    cx.no_block(args.line());
    let response = match code.map(|code| code.text.as_str()) {
        Some("html") => html(&to.text),
        None | Some("temporary") => location(&to.text, Status::Code(302)),
        Some("permanent") => location(&to.text, Status::Code(301)),
        Some(_) => location(&to.text, status(code?, cx)?),
    };
    Some(Handler::StaticResponse(response))
}

/// 401 is allowed so that scripts can read the target.
fn status(code: &Token, cx: &mut Cx<'_>) -> Option<Status> {
    if code.text.starts_with('{') {
        cx.check_value(code, check::template(&code.text));
        return Some(Status::Text(code.text.clone()));
    }
    let status = code
        .text
        .parse()
        .ok()
        .filter(|status| (300..=399).contains(status) || *status == 401);
    if status.is_none() {
        let text = cx.quote(code);
        let help = "write `permanent`, `temporary`, `html`, a number from 300 to 399, or 401";
        cx.error(
            code.span,
            format!("`{text}` is not a status for a redirect"),
            help.to_owned(),
        );
    }
    status.map(Status::Code)
}

fn location(to: &str, status: Status) -> StaticResponse {
    StaticResponse {
        status_code: Some(status),
        headers: BTreeMap::from([("Location".to_owned(), vec![to.to_owned()])]),
        ..StaticResponse::default()
    }
}

/// A page that redirects browsers, script first, and leaves other clients alone. Caddy's text, character by
/// character, so that both adapt to the same document.
fn html(to: &str) -> StaticResponse {
    let to = escape(to);
    let body = format!(
        "<!DOCTYPE html>\n<html>\n\t<head>\n\t\t<title>Redirecting...</title>\n\
         \t\t<script>window.location.replace(\"{to}\");</script>\n\
         \t\t<meta http-equiv=\"refresh\" content=\"0; URL='{to}'\">\n\t</head>\n\
         \t<body>Redirecting to <a href=\"{to}\">{to}</a>...</body>\n</html>\n"
    );
    let content_type = vec!["text/html; charset=utf-8".to_owned()];
    StaticResponse {
        status_code: Some(Status::Code(200)),
        headers: BTreeMap::from([("Content-Type".to_owned(), content_type)]),
        body,
        ..StaticResponse::default()
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('\'', "&#39;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&#34;")
}
