//! Handlers by their name.

mod answer;
mod auth;
mod doors;
mod encode;
mod eskip;
mod rewrite;
mod vars;

pub(super) use self::{
    answer::{status, status_or_placeholder},
    rewrite::rewrite,
};
use super::{
    decode::{Cx, Object},
    headers::headers,
    reader::Node,
    route::{error_routes, route},
    upstream::reverse_proxy,
};
use crate::{
    model::{Handler, Invoke, Subroute},
    suggest::did_you_mean,
    support::{Area, LATER, refused},
};

const HANDLERS: [&str; 18] = [
    "authentication",
    "copy_response",
    "copy_response_headers",
    "doors_geo",
    "doors_handler",
    "encode",
    "error",
    "eskip",
    "headers",
    "invoke",
    "map",
    "metrics",
    "request_body",
    "reverse_proxy",
    "rewrite",
    "static_response",
    "subroute",
    "vars",
];

pub(super) fn handler<'n>(node: &'n Node, cx: &mut Cx<'n, '_>) -> Option<Handler> {
    let mut object = Object::open(node, cx)?;
    let kind = object.node("handler");
    let name = object.require("handler", cx, |node, cx| cx.string(node))?;
    let handler = match name.as_str() {
        "authentication" => Handler::Authentication(auth::authentication(&mut object, cx)),
        "copy_response" => Handler::CopyResponse(answer::copy_response(&mut object, cx)),
        "copy_response_headers" => {
            Handler::CopyResponseHeaders(answer::copy_response_headers(&mut object, cx))
        }
        "doors_geo" => Handler::DoorsGeo(doors::geo(&mut object, cx)),
        "doors_handler" => Handler::DoorsHandler(doors::handler(&mut object, cx)),
        "encode" => Handler::Encode(encode::encode(&mut object, cx)),
        "error" => Handler::Error(answer::error(&mut object, cx)),
        "eskip" => Handler::Eskip(Box::new(eskip::eskip(&mut object, cx))),
        "headers" => Handler::Headers(headers(&mut object, cx)),
        "invoke" => Handler::Invoke(invoke(&mut object, cx)),
        "map" => Handler::Map(vars::map(&mut object, cx)),
        "metrics" => Handler::Metrics(answer::metrics(&mut object, cx)),
        "request_body" => Handler::RequestBody(rewrite::request_body(&mut object, cx)),
        "reverse_proxy" => Handler::ReverseProxy(Box::new(reverse_proxy(&mut object, cx))),
        "rewrite" => Handler::Rewrite(rewrite(&mut object, cx)),
        "static_response" => Handler::StaticResponse(answer::static_response(&mut object, cx)),
        "subroute" => Handler::Subroute(Subroute {
            routes: object.list("routes", cx, route),
            errors: object.get("errors", cx, error_routes),
        }),
        // Its fields have names of the user's own.
        "vars" => return Some(Handler::Vars(vars::vars(object, cx))),
        _ => {
            let (message, help) = unknown(&name);
            cx.error(
                kind.map_or_else(|| object.span(), |node| node.span),
                message,
                help,
            );
            return None;
        }
    };
    object.finish(cx);
    Some(handler)
}

/// What to say of a handler that there is none of. Those of Caddy have the names of their directives.
fn unknown(name: &str) -> (&'static str, String) {
    if let Some(way_out) = refused(Area::Directive, name) {
        return ("this handler is not supported", way_out.to_owned());
    }
    let supported = || format!("supported here: {}", HANDLERS.join(", "));
    if LATER.contains(&name) {
        return ("this handler is not supported yet", supported());
    }
    let help = did_you_mean(name, HANDLERS).unwrap_or_else(supported);
    ("unknown or unsupported handler", help)
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
