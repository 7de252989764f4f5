//! The routes of a server.

use std::collections::HashMap;
use std::sync::Arc;

use caddy_config as model;

use super::compile::Compiler;
use super::transport::Ways;
use super::{handlers, matchers};
use crate::forward::view::Rules;
use crate::routing::routes::{Route, Routes};
use crate::routing::slots::{LogSlots, Slots};
use crate::upstream::cluster::Upstream;

/// The `doors_handler`s that may have run before a `reverse_proxy`, each with its servers' hosts.
pub(super) type DoorsInScope = Vec<(usize, Vec<(String, u16)>)>;

/// Compiles all routes of a server. `counts` says whether its own routes count their requests.
pub(super) fn compile(compiler: &mut Compiler<'_>, server: &model::Server, counts: bool) -> Rules {
    let numbers = server.named_routes.keys().cloned().zip(0..);
    compiler.named = numbers.collect();
    compiler.slots = Slots::new(
        compiler.surroundings.environment.clone(),
        compiler.countries.clone(),
    );
    compiler.names = Arc::default();
    compiler.doors_of_server.clear();
    let mut routes = list(compiler, &server.routes, &mut DoorsInScope::new());
    for (number, route) in routes.iter_mut().enumerate() {
        route.counted = counts.then_some(number);
    }
    // Any of the server's requests may come here, with what any `doors_handler` decided.
    let mut scope = compiler.doors_of_server.clone();
    let errors = server
        .errors
        .as_ref()
        .filter(|errors| !errors.routes.is_empty())
        .map(|errors| Box::new(Routes::new(list(compiler, &errors.routes, &mut scope))));
    let named = server.named_routes.values();
    let named_routes = named
        .flat_map(|route| list(compiler, std::slice::from_ref(route), &mut scope))
        .collect();
    Rules {
        routes: Routes::new(routes),
        errors,
        named_routes,
        ..settled(compiler)
    }
}

/// Compiles the routes of a host that is a site of its own.
pub(super) fn of_host(compiler: &mut Compiler<'_>, routes: &[model::Route]) -> Rules {
    compiler.slots = Slots::new(
        compiler.surroundings.environment.clone(),
        compiler.countries.clone(),
    );
    let routes = Routes::new(list(compiler, routes, &mut DoorsInScope::new()));
    Rules {
        routes,
        ..settled(compiler)
    }
}

/// What is known once all routes of one server or host are compiled.
fn settled(compiler: &mut Compiler<'_>) -> Rules {
    let slots = std::mem::take(&mut compiler.slots);
    for groups in compiler.groups.drain(..) {
        groups.settle(&slots);
    }
    let rules = Rules {
        asked: slots.asked(),
        log_slots: LogSlots::of(&slots),
        ..Rules::default()
    };
    // It is set once for each server.
    let _new = compiler.names.set(slots);
    rules
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
                    .map(|set| matchers::set(compiler, set))
                    .collect(),
                handlers: handlers::list(compiler, &route.handlers, scope),
                terminal: route.terminal,
                counted: None,
            };
            if route.terminal {
                scope.truncate(before);
            }
            compiled
        })
        .collect()
}

/// Watches the hosts of each `doors_handler` in scope with the name servers of one proxy.
pub(super) fn watch(
    compiler: &mut Compiler<'_>,
    scope: &DoorsInScope,
    ways: &Ways,
    servers: &[std::net::SocketAddr],
) -> Vec<(usize, Vec<Upstream>)> {
    let slots = &compiler.surroundings.slots;
    let mut upstream = |(host, port): &(String, u16)| {
        let way = ways.to(compiler, host, *port);
        Upstream::new(compiler.resolvers.watch(host, servers), *port, way, slots)
    };
    scope
        .iter()
        .map(|(id, hosts)| (*id, hosts.iter().map(&mut upstream).collect()))
        .collect()
}
