//! Which named routes a route invokes, and whether that leads back to itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Handler, Route};

/// The names that `routes` invoke, at any depth of subroutes, but not through the named routes themselves.
pub(crate) fn invoked<'r>(routes: &'r [Route], names: &mut BTreeSet<&'r str>) {
    for handler in routes.iter().flat_map(|route| &route.handlers) {
        match handler {
            Handler::Invoke(invoke) => {
                names.insert(&invoke.name);
            }
            Handler::Subroute(subroute) => {
                invoked(&subroute.routes, names);
                if let Some(errors) = &subroute.errors {
                    invoked(&errors.routes, names);
                }
            }
            Handler::ReverseProxy(proxy) => {
                for response in &proxy.handle_response {
                    invoked(&response.routes, names);
                }
            }
            _ => {}
        }
    }
}

/// How many routes and handlers there are, at any depth.
pub(crate) fn size(routes: &[Route]) -> usize {
    let inside = |handler: &Handler| match handler {
        Handler::Subroute(subroute) => {
            let errors = subroute.errors.as_ref().map_or(0, |errors| size(&errors.routes));
            size(&subroute.routes).saturating_add(errors)
        }
        Handler::ReverseProxy(proxy) => {
            let responses = proxy.handle_response.iter();
            responses.map(|response| size(&response.routes)).sum()
        }
        _ => 0,
    };
    let handlers = routes.iter().flat_map(|route| &route.handlers);
    let inside: usize = handlers.map(|handler| inside(handler).saturating_add(1)).sum();
    inside.saturating_add(routes.len())
}

/// The names of `start` and of all that they invoke, through other named routes too. Names that `named` does not
/// have are among them.
pub(crate) fn reachable<'r>(
    start: BTreeSet<&'r str>,
    named: &'r BTreeMap<String, Route>,
) -> BTreeSet<&'r str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = start.into_iter().collect();
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            open.extend(invoked_by(name, named));
        }
    }
    reached
}

/// The invocations by which routes of `named` lead back to themselves, at least one for each circle: who invokes, and
/// whom. A request on a circle might never leave it.
pub(crate) fn circles(named: &BTreeMap<String, Route>) -> BTreeSet<(&str, &str)> {
    let mut circles = BTreeSet::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for start in named.keys().map(String::as_str) {
        let mut path: Vec<(&str, Vec<&str>)> = Vec::new();
        let mut on_path: BTreeSet<&str> = BTreeSet::new();
        let mut next = Some(start).filter(|name| !done.contains(name));
        loop {
            if let Some(name) = next.take() {
                on_path.insert(name);
                path.push((name, invoked_by(name, named)));
            }
            let Some((name, left)) = path.last_mut() else {
                break;
            };
            match left.pop() {
                Some(inner) if on_path.contains(inner) => {
                    circles.insert((*name, inner));
                }
                Some(inner) if !done.contains(inner) => next = Some(inner),
                Some(_) => {}
                None => {
                    done.insert(name);
                    on_path.remove(name);
                    path.pop();
                }
            }
        }
    }
    circles
}

fn invoked_by<'r>(name: &str, named: &'r BTreeMap<String, Route>) -> Vec<&'r str> {
    let mut names = BTreeSet::new();
    if let Some(route) = named.get(name) {
        invoked(std::slice::from_ref(route), &mut names);
    }
    names.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::{circles, reachable};
    use crate::model::{ErrorRoutes, Handler, Invoke, Route, Subroute};

    /// `name -> names`, each second name through the error routes of a subroute.
    fn named(edges: &[(&str, &[&str])]) -> BTreeMap<String, Route> {
        let invoke = |name: &&str| {
            Handler::Invoke(Invoke {
                name: (*name).to_owned(),
            })
        };
        let inside = |handler| Route {
            handlers: vec![handler],
            ..Route::default()
        };
        let wrapped = |(index, name): (usize, &&str)| {
            if index % 2 == 0 {
                return invoke(name);
            }
            Handler::Subroute(Subroute {
                routes: Vec::new(),
                errors: Some(ErrorRoutes {
                    routes: vec![inside(invoke(name))],
                }),
            })
        };
        let route = |names: &[&str]| Route {
            handlers: names.iter().enumerate().map(wrapped).collect(),
            ..Route::default()
        };
        edges
            .iter()
            .map(|(name, names)| ((*name).to_owned(), route(names)))
            .collect()
    }

    #[test]
    fn what_is_invoked_by_what_is_invoked_is_reached() {
        let named = named(&[
            ("a", &["b", "c"]),
            ("b", &[]),
            ("c", &["d", "x"]),
            ("d", &["a"]),
            ("e", &["a"]),
        ]);
        assert_eq!(
            reachable(BTreeSet::from(["c"]), &named),
            BTreeSet::from(["a", "b", "c", "d", "x"])
        );
    }

    #[test]
    fn a_circle_is_told_by_the_invocation_that_closes_it() {
        let named = named(&[
            ("self", &["self"]),
            ("a", &["b", "c"]),
            ("b", &["end"]),
            ("c", &["a"]),
            ("before", &["a"]),
            ("end", &["nowhere"]),
        ]);
        assert_eq!(circles(&named), BTreeSet::from([("c", "a"), ("self", "self")]));
    }

    #[test]
    fn what_is_reached_twice_is_no_circle() {
        let named = named(&[("a", &["b", "c"]), ("b", &["d"]), ("c", &["d"]), ("d", &[])]);
        assert_eq!(circles(&named), BTreeSet::new());
    }

    #[test]
    fn a_long_chain_is_no_circle() {
        let names: Vec<String> = (0..20_000).map(|number| format!("{number:05}")).collect();
        let next: Vec<[&str; 1]> = names.iter().skip(1).map(|name| [name.as_str()]).collect();
        let edges: Vec<(&str, &[&str])> = names
            .iter()
            .map(String::as_str)
            .zip(next.iter().map(<[&str; 1]>::as_slice))
            .collect();
        assert_eq!(circles(&named(&edges)), BTreeSet::new());
    }
}
