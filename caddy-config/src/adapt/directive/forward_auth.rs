//! `forward_auth [matcher] UPSTREAM... { uri TO; copy_headers FIELD...; ... }`: asks a service whether a request may
//! pass. It is a `reverse_proxy`, with all its subdirectives, that a copy of the request without its body goes
//! through; a 2xx answer lets the request go on, any other one is sent to the client.

use std::collections::BTreeMap;

use super::{
    super::{args::Args, cx::Cx, matcher::Scope},
    reverse_proxy,
};
use crate::{
    caddyfile::{parser::Line, token::Token},
    check,
    model::{
        Handler, HeaderOps, Headers, MatcherSet, ResponseHandler, ResponseMatcher, ReverseProxy, Route, Vars,
    },
};

pub(super) fn read(args: Args<'_>, scope: &Scope<'_>, cx: &mut Cx<'_>) -> Option<Handler> {
    let mut uri: Option<&Token> = None;
    let mut fields = BTreeMap::new();
    let mut rest = Vec::new();
    for line in args.block() {
        match line.name.text.as_str() {
            "uri" => {
                if uri.is_some() {
                    cx.error(line.name.span, "`uri` is given twice", None);
                }
                uri = cx.one(line, "a target, such as /verify").or(uri);
            }
            "copy_headers" => copy_headers(line, &mut fields, cx),
            _ => rest.push(line),
        }
    }
    let mut proxy = reverse_proxy::proxy(args, &rest, scope, cx);
    let Some(uri) = uri else {
        let help = "add `uri /PATH`, what the service is asked for".to_owned();
        cx.error(args.name().span, "`forward_auth` needs `uri`", help);
        return None;
    };
    cx.check_value(uri, check::template(&uri.text));
    complete(&mut proxy, &uri.text);
    proxy.handle_response.insert(0, passed(&fields));
    Some(Handler::ReverseProxy(Box::new(proxy)))
}

/// `copy_headers FIELD...`, or a block of fields; `FIELD>OTHER` gives it another name.
fn copy_headers(line: &Line, fields: &mut BTreeMap<String, String>, cx: &mut Cx<'_>) {
    let inner = line.block.as_deref().unwrap_or_default();
    for inner in inner {
        cx.nothing(inner);
    }
    let names = line.args.iter().chain(inner.iter().map(|inner| &inner.name));
    let mut any = false;
    for token in names {
        any = true;
        let (from, to) = token.text.split_once('>').unwrap_or((&token.text, &token.text));
        if cx
            .check(
                token,
                check::field_name(from).and_then(|()| check::field_name(to)),
            )
            .is_some()
        {
            fields.insert(from.to_owned(), check::canonical_field(to));
        }
    }
    if !any {
        cx.error(line.name.span, "`copy_headers` needs a field", None);
    }
}

/// What a question to the service has unless the subdirectives say otherwise.
fn complete(proxy: &mut ReverseProxy, uri: &str) {
    let rewrite = proxy.rewrite.get_or_insert_default();
    rewrite.method.get_or_insert_with(|| "GET".to_owned());
    rewrite.uri.get_or_insert_with(|| uri.to_owned());
    let request = proxy
        .headers
        .get_or_insert_default()
        .request
        .get_or_insert_default();
    for (field, value) in [
        ("X-Forwarded-Method", "{http.request.method}"),
        ("X-Forwarded-Uri", "{http.request.uri}"),
    ] {
        let values = request.set.entry(field.to_owned());
        values.or_insert_with(|| vec![value.to_owned()]);
    }
}

/// What happens to a request that may pass: the fields are copied, and it goes on. Each is deleted before, lest a
/// client sends what the service has not.
fn passed(fields: &BTreeMap<String, String>) -> ResponseHandler {
    // A route that does nothing: without any, the answer would be sent.
    let mut routes = vec![route(Handler::Vars(Vars::default()))];
    for (from, to) in fields {
        let from = format!("{{http.reverse_proxy.header.{}}}", check::canonical_field(from));
        routes.push(route(request_ops(HeaderOps {
            delete: vec![to.clone()],
            ..HeaderOps::default()
        })));
        let set = request_ops(HeaderOps {
            set: BTreeMap::from([(to.clone(), vec![from.clone()])]),
            ..HeaderOps::default()
        });
        let empty = MatcherSet {
            vars: BTreeMap::from([(from, vec![String::new()])]),
            ..MatcherSet::default()
        };
        routes.push(Route {
            matchers: vec![MatcherSet {
                not: vec![empty],
                ..MatcherSet::default()
            }],
            ..route(set)
        });
    }
    ResponseHandler {
        matcher: Some(ResponseMatcher {
            status_code: vec![2],
            ..ResponseMatcher::default()
        }),
        status_code: None,
        routes,
    }
}

fn request_ops(ops: HeaderOps) -> Handler {
    Handler::Headers(Headers {
        request: Some(ops),
        response: None,
    })
}

fn route(handler: Handler) -> Route {
    Route {
        handlers: vec![handler],
        ..Route::default()
    }
}
