//! Handlers by their name.

use super::{
    decode::{Cx, Object},
    headers::{field_values, headers},
    reader::{Node, Value},
    route::{error_routes, route},
    scalar::port,
    upstream::reverse_proxy,
};
use crate::{
    check,
    model::{DoorsHandler, DoorsUpstream, Handler, Invoke, Secret, StaticResponse, Status, Subroute},
    source::Span,
    suggest::did_you_mean,
};

const HANDLERS: [&str; 6] = [
    "doors_handler",
    "headers",
    "invoke",
    "reverse_proxy",
    "static_response",
    "subroute",
];

pub(super) fn handler<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Handler> {
    let mut object = Object::open(node, cx)?;
    let kind = object.node("handler");
    let name = object.require("handler", cx, |node, cx| cx.string(node))?;
    let handler = match name.as_str() {
        "doors_handler" => Handler::DoorsHandler(doors_handler(&mut object, cx)),
        "headers" => Handler::Headers(headers(&mut object, cx)),
        "invoke" => Handler::Invoke(invoke(&mut object, cx)),
        "reverse_proxy" => Handler::ReverseProxy(Box::new(reverse_proxy(&mut object, cx))),
        "static_response" => Handler::StaticResponse(static_response(&mut object, cx)),
        "subroute" => Handler::Subroute(Subroute {
            routes: object.list("routes", cx, route),
            errors: object.get("errors", cx, error_routes),
        }),
        _ => {
            let help = did_you_mean(&name, HANDLERS)
                .unwrap_or_else(|| format!("supported here: {}", HANDLERS.join(", ")));
            cx.error(
                kind.map_or_else(|| object.span(), |node| node.span),
                "unknown or unsupported handler",
                help,
            );
            return None;
        }
    };
    object.finish(cx);
    Some(handler)
}

fn invoke<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> Invoke {
    let name = object.require("name", cx, |node, cx| {
        let name = cx.string(node)?;
        cx.note_invocation(&name, node.span);
        Some(name)
    });
    Invoke {
        name: name.unwrap_or_default(),
    }
}

fn static_response<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> StaticResponse {
    StaticResponse {
        status_code: object.get("status_code", cx, status).map(Status::Code),
        headers: object.get("headers", cx, field_values).unwrap_or_default(),
        body: object.get("body", cx, body).unwrap_or_default(),
        close: object.flag("close", cx),
        abort: object.flag("abort", cx),
    }
}

/// A number, or a string of digits.
fn status<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<u16> {
    let number = match &node.value {
        Value::String(text) if text.is_empty() => return None,
        Value::String(text) | Value::Number(text) => text.parse().ok(),
        _ => return cx.wrong_type(node, "a status"),
    };
    let help = "write a number from 200 to 999; placeholders are not supported yet here";
    let status = number.and_then(check::final_status);
    if status.is_none() {
        cx.error(node.span, "this is not a final status", help.to_owned());
    }
    status
}

fn body<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let text = cx.string(node)?;
    cx.check_value(node, check::template(&text))?;
    Some(text)
}

fn doors_handler<'n>(object: &mut Object<'n>, cx: &mut Cx<'n, '_>) -> DoorsHandler {
    cx.note_doors_handler();
    let handler = DoorsHandler {
        secrets: object.require("secret", cx, secrets).unwrap_or_default(),
        cookie_name: object.get("cookie_name", cx, cookie_name),
        upstreams: object
            .require("upstreams", cx, doors_upstreams)
            .unwrap_or_default(),
        dead_pod_status: object.get("dead_pod_status", cx, status),
    };
    if handler.upstreams.len() > 1 && handler.cookie_name.is_none() && object.node("cookie_name").is_none() {
        let start = object.span().start;
        let help = "add \"cookie_name\", the name that the Doors app gives its id cookie".to_owned();
        let span = Span::new(start, start.saturating_add(1));
        cx.error(
            span,
            "several upstreams need `cookie_name` to keep a session on its server",
            help,
        );
    }
    handler
}

/// One string, or a list of them.
fn secrets<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Vec<Secret>> {
    let secrets = match node.value {
        Value::Array(_) => cx.list(node, secret)?,
        _ => vec![secret(node, cx)?],
    };
    if secrets.is_empty() {
        cx.error(node.span, "the list of secrets is empty", None);
    }
    Some(secrets)
}

fn secret<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Secret> {
    let text = cx.string(node)?;
    if text.trim().is_empty() {
        cx.error(node.span, "the secret is empty", check::SECRET_HELP.to_owned());
        return None;
    }
    if let Err(error) = check::secret(&text) {
        cx.error(node.span, error, check::SECRET_HELP.to_owned());
        return None;
    }
    Some(text.into())
}

fn cookie_name<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<String> {
    let name = cx.string(node)?;
    cx.check(
        node,
        check::field_name(&name).map_err(|_| "this is not the name of a cookie"),
    )?;
    Some(name)
}

fn doors_upstreams<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Vec<DoorsUpstream>> {
    let upstreams = cx.list(node, doors_upstream)?;
    if matches!(&node.value, Value::Array(items) if items.is_empty()) {
        cx.error(node.span, "at least one upstream is needed", None);
    }
    Some(upstreams)
}

fn doors_upstream<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<DoorsUpstream> {
    let mut object = Object::open(node, cx)?;
    let cidr = object.require("cidr", cx, |node, cx| {
        let text = cx.string(node)?;
        cx.check(
            node,
            text.parse()
                .map_err(|_| "this is not a network such as 10.0.0.0/24"),
        )
    });
    let host = object.require("host", cx, |node, cx| {
        let text = cx.string(node)?;
        cx.check(node, check::host(&text))?;
        Some(text)
    });
    let port = object.require("port", cx, port);
    object.finish(cx);
    Some(DoorsUpstream {
        cidr: cidr?,
        host: host?,
        port: port?,
    })
}
