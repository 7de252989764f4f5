//! Routes and matchers.

use std::collections::HashMap;

use caddy_config as model;
use http::Method;

use super::compile::Compiler;
use super::handlers;
use crate::routing::glob::PathPattern;
use crate::routing::matcher::{HostMatcher, MatcherSet};
use crate::routing::routes::Route;
use crate::upstream::cluster::Upstream;

/// The `doors_handler`s that may have run before a `reverse_proxy`, each with its servers' hosts.
pub(super) type DoorsInScope = Vec<(usize, Vec<(String, u16)>)>;

/// Compiles a server's routes.
pub(super) fn compile(compiler: &mut Compiler<'_>, routes: &[model::Route]) -> Vec<Route> {
    let mut scope = DoorsInScope::new();
    list(compiler, routes, &mut scope)
}

/// Compiles routes that run one after the other. What a route puts into `scope` holds for those after it,
/// but not beyond a terminal route: its handlers end the request.
pub(super) fn list(
    compiler: &mut Compiler<'_>,
    routes: &[model::Route],
    scope: &mut DoorsInScope,
) -> Vec<Route> {
    let mut groups: HashMap<&str, usize> = HashMap::new();
    routes
        .iter()
        .map(|route| {
            let before = scope.len();
            let count = groups.len();
            let compiled = Route {
                group: route
                    .group
                    .as_deref()
                    .map(|group| *groups.entry(group).or_insert(count)),
                matchers: route
                    .matchers
                    .iter()
                    .map(|set| matcher_set(compiler, set))
                    .collect(),
                handlers: handlers::list(compiler, &route.handlers, scope),
                terminal: route.terminal,
            };
            if route.terminal {
                scope.truncate(before);
            }
            compiled
        })
        .collect()
}

fn matcher_set(compiler: &mut Compiler<'_>, set: &model::MatcherSet) -> MatcherSet {
    let known = model::MatcherSet {
        host: set.host.clone(),
        method: set.method.clone(),
        path: set.path.clone(),
        ..model::MatcherSet::default()
    };
    // A condition that is left out would let everybody pass.
    if *set != known {
        compiler.unsupported::<()>("a matcher other than host, method and path", "remove it");
    }
    MatcherSet {
        host: set
            .host
            .as_ref()
            .map(|hosts| HostMatcher::new(hosts.iter().map(String::as_str))),
        path: set
            .path
            .as_ref()
            .map(|paths| paths.iter().map(|path| PathPattern::new(path)).collect()),
        method: set.method.as_ref().map(|methods| {
            methods
                .iter()
                .filter_map(|method| self::method(compiler, method))
                .collect()
        }),
    }
}

fn method(compiler: &mut Compiler<'_>, method: &str) -> Option<Method> {
    let parsed = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).ok();
    if parsed.is_none() {
        compiler.wrong("not a method", method);
    }
    parsed
}

/// Watches the hosts of each `doors_handler` in scope with the name servers of one proxy.
pub(super) fn watch(
    compiler: &Compiler<'_>,
    scope: &DoorsInScope,
    servers: &[std::net::SocketAddr],
) -> Vec<(usize, Vec<Upstream>)> {
    let slots = &compiler.surroundings.slots;
    let upstream =
        |(host, port): &(String, u16)| Upstream::new(compiler.resolvers.watch(host, servers), *port, slots);
    scope
        .iter()
        .map(|(id, hosts)| (*id, hosts.iter().map(upstream).collect()))
        .collect()
}
