//! Handlers that answer.

use caddy_config as model;
use http::StatusCode;

use super::headers;
use crate::config::compile::Compiler;
use crate::routing::respond::{Raise, StaticResponse, Status, Text};
use crate::routing::template::Unknown;

pub(super) fn static_response(compiler: &mut Compiler<'_>, fixed: &model::StaticResponse) -> StaticResponse {
    StaticResponse {
        status: fixed.status_code.as_ref().map(|code| match code {
            // The one that others may follow.
            model::Status::Code(103) => Status::Fixed(StatusCode::EARLY_HINTS),
            code => status_or_template(compiler, code),
        }),
        headers: headers::templates(compiler, &fixed.headers, Unknown::Empty),
        body: Text::new(compiler.template(&fixed.body)),
        close: fixed.close,
        abort: fixed.abort,
    }
}

pub(super) fn raise(compiler: &mut Compiler<'_>, error: &model::ErrorResponse) -> Raise {
    Raise {
        status: error
            .status_code
            .as_ref()
            .map(|code| status_or_template(compiler, code)),
        message: compiler.template(&error.error),
    }
}

/// A status that ends a request, or what gives one.
pub(in crate::config) fn status_or_template(compiler: &mut Compiler<'_>, code: &model::Status) -> Status {
    match code {
        model::Status::Code(code) => Status::Fixed(status(compiler, *code).unwrap_or_default()),
        model::Status::Text(text) => Status::Rendered(compiler.value(text)),
    }
}

/// A status that ends a request.
pub(in crate::config) fn status(compiler: &mut Compiler<'_>, code: u16) -> Option<StatusCode> {
    let status = StatusCode::from_u16(code)
        .ok()
        .filter(|_| (200..=999).contains(&code));
    if status.is_none() {
        compiler.wrong("not a status code from 200 to 999", &code.to_string());
    }
    status
}
