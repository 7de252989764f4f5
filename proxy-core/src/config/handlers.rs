//! Handlers: what a route does.

use std::collections::BTreeMap;
use std::sync::Arc;

use caddy_config as model;
use doors_routing::{Router, UpstreamBlock};
use doors_token::TokenCipher;
use http::StatusCode;
use http::header::HeaderName;
use regex::Regex;

use super::compile::Compiler;
use super::error::BuildError;
use super::routes::{self, DoorsInScope};
use super::upstreams;
use crate::failure_log::FailureGates;
use crate::response_matcher::ResponseMatcher;
use crate::routing::doors::Doors;
use crate::routing::header_ops::{HeaderOps, NamePattern, Replacement, ResponseOps, Search};
use crate::routing::respond::{StaticResponse, Text};
use crate::routing::routes::{Handler, Headers};
use crate::routing::template::Template;

/// Compiles the handlers of one route. A handler with an error is left out; the error is noted.
pub(super) fn list(
    compiler: &mut Compiler<'_>,
    handlers: &[model::Handler],
    scope: &mut DoorsInScope,
) -> Vec<Handler> {
    handlers
        .iter()
        .filter_map(|handler| one(compiler, handler, scope))
        .collect()
}

fn one(compiler: &mut Compiler<'_>, handler: &model::Handler, scope: &mut DoorsInScope) -> Option<Handler> {
    Some(match handler {
        model::Handler::DoorsHandler(doors) => Handler::Doors(Arc::new(self::doors(compiler, doors, scope)?)),
        model::Handler::Headers(headers) => Handler::Headers(Box::new(self::headers(compiler, headers))),
        model::Handler::ReverseProxy(proxy) => {
            let cluster = upstreams::cluster(compiler, proxy, scope)?;
            compiler.clusters.push(cluster);
            Handler::Proxy(compiler.clusters.len() - 1)
        }
        model::Handler::StaticResponse(fixed) => Handler::Static(Box::new(static_response(compiler, fixed))),
        model::Handler::Subroute(subroute) => {
            Handler::Subroute(routes::list(compiler, &subroute.routes, scope))
        }
        _ => {
            compiler.unsupported::<()>("a handler that this version does not know", "remove it");
            return None;
        }
    })
}

// === doors_handler ===

fn doors(
    compiler: &mut Compiler<'_>,
    doors: &model::DoorsHandler,
    scope: &mut DoorsInScope,
) -> Option<Doors> {
    let id = compiler.doors;
    compiler.doors += 1;
    // Even with an error the servers are in scope, so that the proxy behind it gets no error of its own.
    scope.push((
        id,
        doors
            .upstreams
            .iter()
            .map(|server| (server.host.clone(), server.port))
            .collect(),
    ));
    let server = compiler.server.clone();
    let cipher = TokenCipher::with_secrets(doors.secrets.iter().map(model::Secret::expose))
        .map_err(|source| {
            compiler.errors.push(BuildError::Secret {
                server: server.clone(),
                source,
            })
        })
        .ok()?;
    let blocks = doors.upstreams.iter().map(|block| UpstreamBlock {
        pod_cidr: block.cidr,
        host: block.host.clone(),
        port: block.port,
    });
    let router = Router::try_new(cipher, doors.cookie_name.clone(), blocks.collect())
        .map_err(|source| {
            compiler.errors.push(BuildError::Doors {
                server: server.clone(),
                source,
            })
        })
        .ok()?;
    for warning in router.warnings() {
        compiler
            .warnings
            .push(format!("server {server}: doors_handler: {warning}"));
    }
    let dead_pod_status = match doors.dead_pod_status {
        None => StatusCode::GONE,
        Some(code) => status(compiler, code)?,
    };
    Some(Doors {
        id,
        router,
        dead_pod_status,
        gates: FailureGates::default(),
    })
}

// === static_response ===

fn static_response(compiler: &mut Compiler<'_>, fixed: &model::StaticResponse) -> StaticResponse {
    StaticResponse {
        status: fixed
            .status_code
            .as_ref()
            .map_or(Some(StatusCode::OK), |code| match code {
                model::Status::Code(code) => status(compiler, *code),
                model::Status::Text(_) => {
                    compiler.unsupported("a placeholder as the status", "write a number from 200 to 599")
                }
            })
            .unwrap_or_default(),
        headers: templates(compiler, &fixed.headers),
        body: Text::new(compiler.template(&fixed.body)),
        close: fixed.close,
        abort: fixed.abort,
    }
}

fn status(compiler: &mut Compiler<'_>, code: u16) -> Option<StatusCode> {
    let status = StatusCode::from_u16(code)
        .ok()
        .filter(|_| (200..=599).contains(&code));
    if status.is_none() {
        compiler.wrong("not a status code from 200 to 599", &code.to_string());
    }
    status
}

// === headers ===

fn headers(compiler: &mut Compiler<'_>, headers: &model::Headers) -> Headers {
    Headers {
        request: headers
            .request
            .as_ref()
            .map(|ops| self::ops(compiler, ops))
            .unwrap_or_default(),
        response: headers
            .response
            .as_ref()
            .map(|response| response_ops(compiler, response)),
    }
}

fn response_ops(compiler: &mut Compiler<'_>, response: &model::ResponseOps) -> ResponseOps {
    let require = response.require.as_ref();
    ResponseOps {
        ops: ops(compiler, &response.ops),
        // A condition is about the answer, so it can only be checked once there is one.
        deferred: response.deferred || require.is_some(),
        only: require
            .map(|matcher| response_matcher(compiler, matcher))
            .unwrap_or_default(),
    }
}

pub(super) fn response_matcher(
    compiler: &mut Compiler<'_>,
    matcher: &model::ResponseMatcher,
) -> ResponseMatcher {
    let fields = matcher.headers.iter();
    ResponseMatcher {
        statuses: matcher.status_code.clone(),
        fields: fields
            .filter_map(|(name, values)| Some((compiler.field_name(name)?, values.clone())))
            .collect(),
    }
}

fn ops(compiler: &mut Compiler<'_>, ops: &model::HeaderOps) -> HeaderOps {
    HeaderOps {
        add: templates(compiler, &ops.add),
        // Several values to set come as one field, joined by commas.
        set: ops
            .set
            .iter()
            .filter_map(|(name, values)| {
                Some((compiler.field_name(name)?, compiler.template(&values.join(","))))
            })
            .collect(),
        delete: ops
            .delete
            .iter()
            .filter_map(|name| {
                let pattern = NamePattern::parse(name);
                if pattern.is_none() {
                    compiler.wrong("not a header field name", name);
                }
                pattern
            })
            .collect(),
        replace: ops
            .replace
            .iter()
            .flat_map(|(name, list)| replacements(compiler, name, list))
            .collect(),
    }
}

fn replacements(compiler: &mut Compiler<'_>, name: &str, list: &[model::Replacement]) -> Vec<Replacement> {
    let field = if name == "*" {
        None
    } else {
        Some(compiler.field_name(name))
    };
    let field = match field {
        Some(None) => return Vec::new(),
        Some(Some(name)) => Some(name),
        None => None,
    };
    list.iter()
        .filter_map(|one| {
            let search = if one.search_regexp.is_empty() {
                Search::Text(compiler.template(&one.search))
            } else {
                match Regex::new(&one.search_regexp) {
                    Ok(regex) => Search::Regex(regex),
                    Err(_) => {
                        compiler.wrong("not a regular expression", &one.search_regexp);
                        return None;
                    }
                }
            };
            Some(Replacement {
                field: field.clone(),
                search,
                replace: compiler.template(&one.replace),
            })
        })
        .collect()
}

fn templates(
    compiler: &mut Compiler<'_>,
    fields: &BTreeMap<String, Vec<String>>,
) -> Vec<(HeaderName, Template)> {
    let mut templates = Vec::new();
    for (name, values) in fields {
        let Some(name) = compiler.field_name(name) else {
            continue;
        };
        templates.extend(
            values
                .iter()
                .map(|value| (name.clone(), compiler.template(value))),
        );
    }
    templates
}
