//! Handlers: what a route does.

mod answers;
mod geo;
mod headers;
mod rewrite;
mod vars;

use std::sync::Arc;

use caddy_config as model;
use doors_routing::{Router, UpstreamBlock};
use doors_token::TokenCipher;
use http::StatusCode;

pub(super) use self::answers::{status, status_or_template};
pub(super) use self::geo::countries;
pub(super) use self::headers::{ops, response_matcher, response_ops};
pub(super) use self::rewrite::rewrite;
use super::compile::Compiler;
use super::error::BuildError;
use super::routes::{self, DoorsInScope};
use super::{auth, encode, proxies, skipper, upstreams};
use crate::failure_log::FailureGates;
use crate::routing::doors::Doors;
use crate::routing::routes::{Authenticate, Handler, Metrics, Subroute};
use crate::routing::slots::USER;

/// Compiles the handlers of one route. A handler with an error is left out; the error is noted.
pub(super) fn list(
    compiler: &mut Compiler<'_>,
    handlers: &[model::Handler],
    scope: &mut DoorsInScope,
) -> Vec<Handler> {
    let compiled = handlers
        .iter()
        .filter_map(|handler| one(compiler, handler, scope));
    let mut compiled: Vec<_> = compiled.collect();
    compiled.shrink_to_fit();
    compiled
}

fn one(compiler: &mut Compiler<'_>, handler: &model::Handler, scope: &mut DoorsInScope) -> Option<Handler> {
    Some(match handler {
        model::Handler::Authentication(users) => {
            Handler::Authenticate(Box::new(authenticate(compiler, users)?))
        }
        model::Handler::CopyResponse(copy) => Handler::CopyResponse(
            copy.status_code
                .as_ref()
                .map(|code| status_or_template(compiler, code)),
        ),
        model::Handler::CopyResponseHeaders(copy) => {
            Handler::CopyFields(Box::new(headers::copy(compiler, copy)))
        }
        model::Handler::DoorsGeo(geo) => Handler::Geo(Box::new(geo::compile(compiler, geo)?)),
        model::Handler::DoorsHandler(doors) => Handler::Doors(Arc::new(self::doors(compiler, doors, scope)?)),
        model::Handler::Encode(encode) => Handler::Encode(Box::new(encode::compile(compiler, encode))),
        model::Handler::Error(error) => Handler::Raise(Box::new(answers::raise(compiler, error))),
        model::Handler::Headers(headers) => Handler::Headers(Box::new(headers::compile(compiler, headers))),
        model::Handler::Invoke(invoke) => Handler::Invoke(compiler.named_route(&invoke.name)?),
        model::Handler::Map(map) => Handler::Map(Box::new(vars::map(compiler, map)?)),
        model::Handler::Metrics(metrics) => Handler::Metrics(Metrics {
            open_metrics: !metrics.disable_openmetrics,
        }),
        model::Handler::RequestBody(body) => return request_body(compiler, body),
        model::Handler::ReverseProxy(proxy) => {
            let (cluster, queries) = upstreams::cluster(compiler, proxy, scope)?;
            let proxy = proxies::compile(compiler, proxy, scope, (&cluster.source, queries));
            // Routes of its own may hold other proxies, so it gets its number behind them.
            compiler.clusters.push(cluster);
            compiler.proxies.push(proxy);
            Handler::Proxy(compiler.clusters.len() - 1)
        }
        model::Handler::Eskip(eskip) => {
            let table = skipper::table(compiler, eskip)?;
            compiler.tables.push(table);
            Handler::Skipper(compiler.tables.len() - 1)
        }
        model::Handler::Rewrite(rewrite) => Handler::Rewrite(Box::new(self::rewrite(compiler, rewrite))),
        model::Handler::StaticResponse(fixed) => {
            Handler::Static(Box::new(answers::static_response(compiler, fixed)))
        }
        model::Handler::Subroute(subroute) => Handler::Subroute(Box::new(Subroute {
            routes: routes::list(compiler, &subroute.routes, scope),
            errors: subroute
                .errors
                .as_ref()
                .map(|errors| routes::list(compiler, &errors.routes, scope)),
        })),
        model::Handler::Vars(vars) => Handler::Vars(vars::assignments(compiler, vars)),
        _ => {
            compiler.unsupported::<()>("a handler that this version does not know", "remove it");
            return None;
        }
    })
}

fn authenticate(compiler: &mut Compiler<'_>, users: &model::Authentication) -> Option<Authenticate> {
    let user = compiler.slots.of(USER);
    let basic = match &users.providers.http_basic {
        Some(basic) => Some(auth::basic(compiler, basic)?),
        None => None,
    };
    Some(Authenticate { basic, user })
}

/// A limit is about the client's body, so there is none where another body takes its place.
fn request_body(compiler: &mut Compiler<'_>, body: &model::RequestBody) -> Option<Handler> {
    let most = body.max_size.filter(|most| *most > 0);
    match &body.set {
        Some(text) => Some(Handler::SetBody(Box::new(compiler.value(text)))),
        None => most.map(Handler::LimitBody),
    }
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
    let servers: Vec<_> = doors
        .upstreams
        .iter()
        .map(|server| (server.host.clone(), server.port))
        .collect();
    compiler.doors_of_server.push((id, servers.clone()));
    scope.push((id, servers));
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
