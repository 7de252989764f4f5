//! Host documents: each becomes a site of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use caddy_config as model;
use route_sources::HostDocument;
use route_store::document::{LOAD_BALANCING, Raw, RawFields, RawHeaders, RawTarget, RawTls, RawUpstream};

use super::compile::{Compiler, Surroundings};
use super::error::{BuildError, BuildErrors};
use super::handlers;
use super::routes;
use crate::forward::hosts::Site;
use crate::forward::view::Clusters;
use crate::tls::HostKey;

/// Compiles what `document` says. `https_port` is where plain HTTP is redirected to, if the document has a certificate.
///
/// # Errors
///
/// Everything that is wrong with it, all at once.
pub(crate) fn site(
    surroundings: &Surroundings,
    document: &HostDocument,
    https_port: u16,
) -> Result<Site, BuildErrors> {
    let raw = document.raw();
    let mut compiler = Compiler {
        server: format!("the host {}", document.host()),
        countries: handlers::countries(&model::Config::default(), surroundings),
        ..Compiler::new(surroundings)
    };
    let routes = match model_routes(raw, https_port) {
        Ok(routes) => routes,
        Err(error) => {
            compiler.errors.push(error);
            Vec::new()
        }
    };
    let rules = routes::of_host(&mut compiler, &routes);
    let Compiler {
        mut errors,
        clusters,
        proxies,
        tables,
        mut geo,
        countries,
        ..
    } = compiler;
    geo.extend(countries.asked());
    let key = match raw.tls.as_ref().map(|tls| key(surroundings, tls)).transpose() {
        Ok(key) => key,
        Err(error) => {
            errors.push(error);
            None
        }
    };
    if !errors.is_empty() {
        return Err(BuildErrors(errors));
    }
    Ok(Site::new(
        rules,
        Clusters::new(clusters, proxies),
        tables,
        geo,
        key,
    ))
}

/// A site that answers 503 to everything.
pub(crate) fn unavailable(surroundings: &Surroundings) -> Site {
    let mut compiler = Compiler::new(surroundings);
    let rules = routes::of_host(&mut compiler, &[everything(vec![raise(503)])]);
    Site::unavailable(rules)
}

fn key(surroundings: &Surroundings, tls: &RawTls) -> Result<Arc<HostKey>, BuildError> {
    let loaded = surroundings
        .certificates
        .host_key(tls.certificate.as_ref(), tls.key.as_ref());
    loaded.map(Arc::new).map_err(|error| BuildError::Document {
        reason: format!("tls: {error}"),
    })
}

/// The document as routes of a configuration.
fn model_routes(raw: &Raw, https_port: u16) -> Result<Vec<model::Route>, BuildError> {
    let mut routes = Vec::with_capacity(raw.paths.len() + 1);
    if raw.tls.as_ref().is_some_and(|tls| tls.redirect.unwrap_or(true)) {
        routes.push(redirect(https_port));
    }
    for (number, path) in raw.paths.iter().enumerate() {
        let mut handlers = Vec::new();
        handlers.extend(headers(raw.headers.as_deref()));
        handlers.extend(headers(path.headers.as_deref()));
        target(&format!("paths[{number}]."), &path.target, &mut handlers)?;
        routes.push(model::Route {
            matchers: vec![model::MatcherSet {
                path: Some(path.patterns.clone()),
                ..model::MatcherSet::default()
            }],
            ..everything(handlers)
        });
    }
    let mut handlers = Vec::new();
    handlers.extend(headers(raw.headers.as_deref()));
    if !target("", &raw.target, &mut handlers)? {
        handlers.push(raise(404));
    }
    routes.push(everything(handlers));
    Ok(routes)
}

fn everything(handlers: Vec<model::Handler>) -> model::Route {
    model::Route {
        handlers,
        terminal: true,
        ..model::Route::default()
    }
}

/// What is served; `false` if nothing is.
fn target(place: &str, target: &RawTarget, handlers: &mut Vec<model::Handler>) -> Result<bool, BuildError> {
    if !target.handlers.is_empty() {
        let text = serde_json::to_string(&target.handlers).map_err(|_| BuildError::Fault)?;
        let read = model::handlers_from_json(&format!("{place}handlers"), &text);
        handlers.extend(read.map_err(|report| BuildError::Handlers { report })?);
    }
    match (&target.upstreams, &target.eskip) {
        (Some(upstreams), _) if upstreams.is_empty() => handlers.push(raise(503)),
        (Some(upstreams), _) => {
            let proxy = proxy(place, upstreams, target.load_balancing.as_deref())?;
            handlers.push(model::Handler::ReverseProxy(Box::new(proxy)));
        }
        (None, Some(text)) => {
            let eskip = model::Eskip {
                inline: vec![text.clone()],
                ..model::Eskip::default()
            };
            handlers.push(model::Handler::Eskip(Box::new(eskip)));
        }
        (None, None) => return Ok(!target.handlers.is_empty()),
    }
    Ok(true)
}

fn proxy(
    place: &str,
    upstreams: &[RawUpstream],
    policy: Option<&str>,
) -> Result<model::ReverseProxy, BuildError> {
    let wrong = |what: String| BuildError::Document {
        reason: format!("{place}{what}"),
    };
    let mut all = Vec::with_capacity(upstreams.len());
    for (number, upstream) in upstreams.iter().enumerate() {
        let address = upstream.address.parse::<model::HostPort>();
        let address = address.map_err(|error| wrong(format!("upstreams[{number}].address: {error}")))?;
        all.push(model::Upstream {
            dial: address.into(),
            max_requests: None,
        });
    }
    let name = upstreams.first().and_then(|upstream| upstream.sni.as_ref());
    if let Some(other) = upstreams
        .iter()
        .position(|upstream| upstream.sni.as_ref() != name)
    {
        return Err(wrong(format!(
            "upstreams[{other}].sni: all upstreams of one target have the same; give the others paths of their own"
        )));
    }
    Ok(model::ReverseProxy {
        upstreams: all,
        transport: name.map(|name| model::Transport::Http(Box::new(tls_to(name)))),
        load_balancing: balancing(upstreams, policy).map_err(wrong)?,
        ..model::ReverseProxy::default()
    })
}

fn tls_to(name: &str) -> model::HttpTransport {
    model::HttpTransport {
        tls: Some(model::UpstreamTls {
            server_name: Some(name.to_owned()),
            ..model::UpstreamTls::default()
        }),
        ..model::HttpTransport::default()
    }
}

/// Where there are several upstreams, one that cannot be connected to leads to the next; what may have reached an
/// application is never sent again.
fn balancing(
    upstreams: &[RawUpstream],
    policy: Option<&str>,
) -> Result<Option<model::LoadBalancing>, String> {
    let weights = || {
        upstreams
            .iter()
            .map(|upstream| u32::from(upstream.weight.unwrap_or(1)))
            .collect()
    };
    let has_weights = upstreams.iter().any(|upstream| upstream.weight.is_some());
    let chosen = match policy {
        None if has_weights => Some(model::SelectionPolicy::WeightedRoundRobin { weights: weights() }),
        None => None,
        Some(name) => match simple(name) {
            Some(model::SelectionPolicy::WeightedRoundRobin { .. }) => {
                Some(model::SelectionPolicy::WeightedRoundRobin { weights: weights() })
            }
            Some(_) if has_weights => {
                return Err(format!(
                    "load_balancing: `{name}` goes by no weights; use weighted_round_robin"
                ));
            }
            Some(chosen) => Some(chosen),
            None => return Err(unknown(name)),
        },
    };
    let others = u32::try_from(upstreams.len())
        .unwrap_or(u32::MAX)
        .saturating_sub(1);
    if chosen.is_none() && others == 0 {
        return Ok(None);
    }
    Ok(Some(model::LoadBalancing {
        selection_policy: chosen,
        retries: Some(others.min(MOST_RETRIES)),
        retry_match: vec![model::MatcherSet {
            not: vec![model::MatcherSet::default()],
            ..model::MatcherSet::default()
        }],
        ..model::LoadBalancing::default()
    }))
}

fn unknown(name: &str) -> String {
    format!(
        "load_balancing: `{name}` is not known here; use {}, or `handlers` with a reverse_proxy",
        LOAD_BALANCING.join(", ")
    )
}

/// The policies that need no settings: those of documents.
fn simple(name: &str) -> Option<model::SelectionPolicy> {
    Some(match name {
        "client_ip_hash" => model::SelectionPolicy::ClientIpHash {},
        "cookie" => model::SelectionPolicy::Cookie(model::CookiePolicy::default()),
        "first" => model::SelectionPolicy::First {},
        "ip_hash" => model::SelectionPolicy::IpHash {},
        "least_conn" => model::SelectionPolicy::LeastConn {},
        "peak_ewma" => model::SelectionPolicy::PeakEwma {},
        "random" => model::SelectionPolicy::Random {},
        "random_choose" => model::SelectionPolicy::RandomChoose { choose: None },
        "round_robin" => model::SelectionPolicy::RoundRobin {},
        "uri_hash" => model::SelectionPolicy::UriHash {},
        "weighted_round_robin" => model::SelectionPolicy::WeightedRoundRobin { weights: Vec::new() },
        _ => return None,
    })
}

/// How many other upstreams are tried at most.
const MOST_RETRIES: u32 = 3;

fn raise(status: u16) -> model::Handler {
    model::Handler::Error(model::ErrorResponse {
        status_code: Some(model::Status::Code(status)),
        ..model::ErrorResponse::default()
    })
}

fn redirect(https_port: u16) -> model::Route {
    let port = match https_port {
        443 => String::new(),
        port => format!(":{port}"),
    };
    let location = format!("https://{{http.request.host}}{port}{{http.request.uri}}");
    let answer = model::StaticResponse {
        status_code: Some(model::Status::Code(308)),
        headers: BTreeMap::from([("Location".to_owned(), vec![location])]),
        close: true,
        ..model::StaticResponse::default()
    };
    model::Route {
        matchers: vec![model::MatcherSet {
            protocol: Some("http".to_owned()),
            ..model::MatcherSet::default()
        }],
        ..everything(vec![model::Handler::StaticResponse(answer)])
    }
}

// === header fields ===

fn headers(headers: Option<&RawHeaders>) -> Option<model::Handler> {
    let headers = headers?;
    Some(model::Handler::Headers(model::Headers {
        request: headers.request.as_ref().map(ops),
        response: headers.response.as_ref().map(|fields| model::ResponseOps {
            ops: ops(fields),
            // What upstreams say is changed too.
            deferred: true,
            ..model::ResponseOps::default()
        }),
    }))
}

fn ops(fields: &RawFields) -> model::HeaderOps {
    let by_name = |list: &[route_store::document::RawField]| {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for field in list {
            all.entry(field.name.clone())
                .or_default()
                .push(field.value.clone());
        }
        all
    };
    model::HeaderOps {
        add: by_name(&fields.add),
        set: by_name(&fields.set),
        delete: fields.remove.clone(),
        ..model::HeaderOps::default()
    }
}

#[cfg(test)]
mod tests;
