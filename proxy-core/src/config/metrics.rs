//! `metrics`: where the requests of each route are counted.

use std::sync::Arc;

use caddy_config as model;

use super::compile::Compiler;
use crate::metrics::RouteMetrics;

/// What the requests of each route of a server are counted as, in the order of the routes: by the name of its first
/// handler, as Caddy does. `None` if nothing is to be counted.
pub(super) fn routes(
    compiler: &Compiler<'_>,
    settings: Option<&model::HttpMetrics>,
    name: &str,
    server: &model::Server,
) -> Option<Vec<RouteMetrics>> {
    let settings = settings?;
    let name: Arc<str> = name.into();
    let metrics = &compiler.surroundings.metrics;
    let one = |route: &model::Route| {
        let handler = route.handlers.first().map_or("none", model::Handler::name);
        if settings.per_host {
            let every = settings.observe_catchall_hosts;
            RouteMetrics::per_host(metrics, &name, handler, hosts(route), every)
        } else {
            RouteMetrics::new(metrics, &name, handler)
        }
    };
    Some(server.routes.iter().map(one).collect())
}

/// The hosts that a route is for, as far as they are named.
fn hosts(route: &model::Route) -> impl Iterator<Item = String> {
    let named = route
        .matchers
        .iter()
        .filter_map(|set| set.host.as_ref())
        .flatten();
    let fixed = named.filter(|host| !host.contains(['*', '{']));
    fixed.map(|host| host.to_ascii_lowercase())
}
