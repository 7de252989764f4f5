//! Handlers that answer.

use crate::{
    check,
    json::{
        decode::{Cx, Object},
        headers::{field_pattern, field_values},
        reader::{Node, Value},
        scalar::{template, word},
    },
    model::{CopyResponse, CopyResponseHeaders, ErrorResponse, Metrics, StaticResponse, Status},
};

pub(super) fn static_response<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> StaticResponse {
    StaticResponse {
        status_code: object.get("status_code", cx, own_status),
        headers: object.get("headers", cx, field_values).unwrap_or_default(),
        body: object.get("body", cx, template).unwrap_or_default(),
        close: object.flag("close", cx),
        abort: object.flag("abort", cx),
    }
}

pub(super) fn error<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> ErrorResponse {
    ErrorResponse {
        error: object.get("error", cx, template).unwrap_or_default(),
        status_code: object.get("status_code", cx, status_or_placeholder),
    }
}

pub(super) fn copy_response<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> CopyResponse {
    CopyResponse {
        status_code: object.get("status_code", cx, status_or_placeholder),
    }
}

pub(super) fn copy_response_headers<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> CopyResponseHeaders {
    let handler = CopyResponseHeaders {
        include: object.list("include", cx, field_pattern),
        exclude: object.list("exclude", cx, field_pattern),
    };
    if !handler.include.is_empty() && !handler.exclude.is_empty() {
        cx.error(object.span(), "give either `include` or `exclude`", None);
    }
    handler
}

pub(super) fn metrics<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> Metrics {
    Metrics {
        disable_openmetrics: object.flag("disable_openmetrics", cx),
    }
}

/// As [`status_or_placeholder`]; 103 too, which is sent before the response.
fn own_status<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Status> {
    match &node.value {
        Value::String(text) | Value::Number(text) if *text == check::EARLY_HINTS.to_string() => {
            Some(Status::Code(check::EARLY_HINTS))
        }
        _ => status_or_placeholder(node, cx),
    }
}

/// A number, a string of digits, or a placeholder. An empty string is none.
pub(in crate::json) fn status_or_placeholder<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Status> {
    match &node.value {
        Value::String(text) if text.contains('{') => template(node, cx).map(Status::Text),
        Value::String(text) if text.is_empty() => word(node, cx).map(Status::Text),
        _ => status(node, cx).map(Status::Code),
    }
}

/// A number, or a string of digits.
pub(in crate::json) fn status<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<u16> {
    let number = match &node.value {
        Value::String(text) | Value::Number(text) => text.parse().ok(),
        _ => return cx.wrong_type(node, "a status"),
    };
    let status = number.and_then(check::final_status);
    if status.is_none() {
        let help = "write a number from 200 to 999".to_owned();
        cx.error(node.span, "this is not a final status", help);
    }
    status
}
