//! `doors_geo`, and who is asked for countries elsewhere.

use std::time::Duration;

use caddy_config as model;
use doors_routing::{GeoRedirects, RedirectScheme};
use http::StatusCode;

use super::status;
use crate::config::compile::{Compiler, Surroundings};
use crate::geo::{Asking, Terms};
use crate::routing::geo::Geo;

/// What is longer is a mistake.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Compiles a `doors_geo`.
pub(super) fn compile(compiler: &mut Compiler<'_>, geo: &model::DoorsGeo) -> Option<Geo> {
    let scheme = match geo.redirect_scheme {
        None | Some(model::RedirectScheme::Https) => RedirectScheme::Https,
        Some(model::RedirectScheme::Http) => RedirectScheme::Http,
        Some(model::RedirectScheme::Request) => RedirectScheme::Request,
    };
    let redirects = GeoRedirects::try_new(&geo.redirects, scheme);
    let redirects = match redirects {
        Ok(redirects) => redirects,
        Err(error) => return compiler.unsupported(&format!("a doors_geo: {error}"), "correct it"),
    };
    let status = match geo.status {
        None => StatusCode::TEMPORARY_REDIRECT,
        Some(code) => status(compiler, code)?,
    };
    let terms = terms(geo);
    if terms.interval.max(terms.timeout) > Some(LONGEST) {
        return compiler.unsupported(
            "an update_interval or a download_timeout of more than a year",
            "write less",
        );
    }
    let sources = &compiler.surroundings.geo;
    let source = sources.of(geo.tarball_url.as_deref());
    let counts = sources.counts();
    compiler.geo.push((source.clone(), terms));
    Some(Geo {
        redirects,
        status,
        source,
        counts,
    })
}

/// Who is asked for countries where nothing says whom: as the first `doors_geo` of the configuration, or the source that
/// one without options has.
pub(in crate::config) fn countries(config: &model::Config, surroundings: &Surroundings) -> Asking {
    let servers = config.apps.http.iter().flat_map(|app| app.servers.values());
    let first = servers
        .flat_map(|server| {
            let errors = server.errors.iter().flat_map(|errors| &errors.routes);
            server
                .routes
                .iter()
                .chain(server.named_routes.values())
                .chain(errors)
        })
        .find_map(first_of);
    let url = first.and_then(|geo| geo.tarball_url.as_deref());
    let terms = first.map_or_else(Terms::default, terms);
    Asking::new(surroundings.geo.of(url), terms)
}

fn first_of(route: &model::Route) -> Option<&model::DoorsGeo> {
    route.handlers.iter().find_map(|handler| match handler {
        model::Handler::DoorsGeo(geo) => Some(geo),
        model::Handler::Subroute(inner) => inner.routes.iter().find_map(first_of),
        _ => None,
    })
}

fn terms(geo: &model::DoorsGeo) -> Terms {
    let given = |duration: Option<Duration>| duration.filter(|duration| !duration.is_zero());
    Terms {
        interval: given(geo.update_interval),
        timeout: given(geo.download_timeout),
    }
}
