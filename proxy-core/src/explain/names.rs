//! Where compiled routes stand in the configuration.

use std::collections::HashMap;

use caddy_config as model;

use crate::forward::proxy::Then;
use crate::forward::view::{ClusterId, ServerView, View};
use crate::routing::routes::{Handler, Route, Subroute};

/// The place and the matchers of each compiled route, which are the model's in the same order.
#[derive(Debug, Default)]
pub(super) struct Names<'m> {
    by_address: HashMap<usize, Named<'m>>,
}

/// One route.
#[derive(Debug)]
pub(super) struct Named<'m> {
    /// From the server on, such as `routes[0].handle[1].routes[2]`.
    pub(super) path: String,
    pub(super) matchers: &'m [model::MatcherSet],
}

// === impl Names ===

impl<'m> Names<'m> {
    /// Those of all routes of `server`.
    pub(super) fn of(config: &'m model::Config, view: &View, server: &ServerView) -> Self {
        let mut names = Self::default();
        let servers = config.apps.http.as_ref().map(|app| &app.servers);
        let Some(model) = servers.and_then(|servers| servers.get(&server.name)) else {
            return names;
        };
        names.add("routes", &model.routes, &server.rules.routes.list, view);
        if let (Some(model), Some(routes)) = (&model.errors, &server.rules.errors) {
            names.add("errors.routes", &model.routes, &routes.list, view);
        }
        for ((name, model), route) in model.named_routes.iter().zip(&server.rules.named_routes) {
            names.add_one(format!("named_routes.{name}"), model, route, view);
        }
        names
    }

    pub(super) fn get(&self, route: &Route) -> Option<&Named<'m>> {
        self.by_address.get(&address(route))
    }

    fn add(&mut self, path: &str, models: &'m [model::Route], routes: &[Route], view: &View) {
        for (number, (model, route)) in models.iter().zip(routes).enumerate() {
            self.add_one(format!("{path}[{number}]"), model, route, view);
        }
    }

    /// The route, and all within it. Of its handlers only those matter that hold routes; both sides have them in one
    /// order, though not with the same numbers.
    fn add_one(&mut self, path: String, model: &'m model::Route, route: &Route, view: &View) {
        let mut subroutes = route.handlers.iter().filter_map(|handler| match handler {
            Handler::Subroute(subroute) => Some(&**subroute),
            _ => None,
        });
        let mut proxies = route.handlers.iter().filter_map(|handler| match handler {
            Handler::Proxy(number) => Some(*number),
            _ => None,
        });
        for (number, handler) in model.handlers.iter().enumerate() {
            let path = format!("{path}.handle[{number}]");
            match handler {
                model::Handler::Subroute(model) => {
                    if let Some(subroute) = subroutes.next() {
                        self.add_subroute(&path, model, subroute, view);
                    }
                }
                model::Handler::ReverseProxy(model) => {
                    if let Some(number) = proxies.next() {
                        self.add_proxy(&path, model, number, view);
                    }
                }
                _ => {}
            }
        }
        let matchers = &model.matchers;
        self.by_address.insert(address(route), Named { path, matchers });
    }

    fn add_subroute(&mut self, path: &str, model: &'m model::Subroute, subroute: &Subroute, view: &View) {
        self.add(&format!("{path}.routes"), &model.routes, &subroute.routes, view);
        if let (Some(model), Some(routes)) = (&model.errors, &subroute.errors) {
            self.add(&format!("{path}.errors.routes"), &model.routes, routes, view);
        }
    }

    fn add_proxy(&mut self, path: &str, model: &'m model::ReverseProxy, number: usize, view: &View) {
        let answers = view.proxy(ClusterId::Config(number)).answers.iter();
        for (number, (model, answers)) in model.handle_response.iter().zip(answers).enumerate() {
            if let Then::Routes(routes) = &answers.then {
                let path = format!("{path}.handle_response[{number}].routes");
                self.add(&path, &model.routes, routes, view);
            }
        }
    }
}

/// Routes of one view stay where they are.
fn address(route: &Route) -> usize {
    std::ptr::from_ref(route).addr()
}
