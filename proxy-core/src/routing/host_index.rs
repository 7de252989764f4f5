//! From a host name to the top-level routes that may serve it, without trying them all.

use std::collections::{BTreeSet, HashMap};

use super::matcher::Matched;
use super::routes::Route;
use crate::request::Context;

/// For each host that the routes name: the routes worth trying, in order. A wildcard of the usual form
/// `*.example.com` is found by its suffix; rarer forms are tried one by one.
#[derive(Debug, Default)]
pub(crate) struct HostIndex {
    exact: ByHost,
    suffixes: ByHost,
    rest: Vec<Candidate>,
}

/// The configuration names these hosts: nobody chooses them so that they collide.
type ByHost = HashMap<String, Vec<Candidate>, foldhash::fast::RandomState>;

/// A route to try, and what is left to check of it once the host is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) route: usize,
    check: Check,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Check {
    /// The host decides alone.
    Nothing,
    /// One of these matcher sets, whose host is known to match.
    BesideHost(Vec<usize>),
    /// The whole route.
    Everything,
}

// === impl HostIndex ===

impl HostIndex {
    pub(crate) fn new(routes: &[Route]) -> Self {
        let hosts = || {
            routes
                .iter()
                .flat_map(|route| &route.matchers)
                .filter_map(|set| set.host.as_ref())
        };
        let exact: BTreeSet<&str> = hosts().flat_map(|host| host.exact()).collect();
        let wildcards: BTreeSet<&str> = hosts()
            .flat_map(|host| host.wildcards())
            .filter(|name| simple_suffix(name).is_some())
            .collect();
        let mut named: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut elsewhere = Vec::new();
        for (number, route) in routes.iter().enumerate() {
            match named_hosts(route) {
                Some(names) => names
                    .into_iter()
                    .for_each(|name| named.entry(name).or_default().push(number)),
                None => elsewhere.push(number),
            }
        }
        let in_order = |keys: &[&str]| -> BTreeSet<usize> {
            keys.iter()
                .filter_map(|key| named.get(key))
                .flatten()
                .chain(&elsewhere)
                .copied()
                .collect()
        };
        let for_exact = |host: &&str| {
            let wildcard = host.split_once('.').map(|(_, suffix)| format!("*.{suffix}"));
            let numbers = in_order(&[host, wildcard.as_deref().unwrap_or_default()]);
            let candidates = numbers
                .into_iter()
                .filter_map(|number| for_host(routes, number, host));
            ((*host).to_owned(), candidates.collect())
        };
        let for_wildcard = |name: &&str| {
            let suffix = simple_suffix(name).unwrap_or_default().to_owned();
            (suffix, in_order(&[name]).into_iter().map(whole).collect())
        };
        Self {
            exact: exact.iter().map(for_exact).collect(),
            suffixes: wildcards.iter().map(for_wildcard).collect(),
            rest: elsewhere.iter().copied().map(whole).collect(),
        }
    }

    /// The routes to try for `host`, in order.
    pub(crate) fn candidates(&self, host: &str) -> &[Candidate] {
        if let Some(found) = self.exact.get(host) {
            return found;
        }
        let by_suffix = host
            .split_once('.')
            .and_then(|(_, suffix)| self.suffixes.get(suffix));
        by_suffix.unwrap_or(&self.rest)
    }
}

// === impl Candidate ===

impl Candidate {
    pub(crate) fn matches(&self, route: &Route, cx: &mut Context) -> Matched {
        match &self.check {
            Check::Nothing => Ok(true),
            Check::BesideHost(sets) => {
                for set in sets.iter().filter_map(|set| route.matchers.get(*set)) {
                    if set.matches_beside_host(cx)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Check::Everything => route.matches(cx),
        }
    }
}

// === helpers ===

/// The keys under which a route is found, or `None` if hosts that nobody names may reach it too.
fn named_hosts(route: &Route) -> Option<BTreeSet<&str>> {
    if route.matchers.is_empty() {
        return None;
    }
    let mut names = BTreeSet::new();
    for set in &route.matchers {
        let host = set.host.as_ref().filter(|host| host.is_fixed())?;
        names.extend(host.exact());
        for wildcard in host.wildcards() {
            simple_suffix(wildcard)?;
            names.insert(wildcard);
        }
    }
    Some(names)
}

fn simple_suffix(pattern: &str) -> Option<&str> {
    pattern.strip_prefix("*.").filter(|suffix| !suffix.contains('*'))
}

fn whole(route: usize) -> Candidate {
    Candidate {
        route,
        check: Check::Everything,
    }
}

fn for_host(routes: &[Route], number: usize, host: &str) -> Option<Candidate> {
    let route = routes.get(number)?;
    if route.matchers.is_empty() {
        return Some(Candidate {
            route: number,
            check: Check::Nothing,
        });
    }
    if route
        .matchers
        .iter()
        .any(|set| set.host.as_ref().is_some_and(|host| !host.is_fixed()))
    {
        return Some(whole(number));
    }
    let sets = route.matchers.iter().enumerate();
    let matching: Vec<_> = sets
        .filter(|(_, set)| set.host.as_ref().is_none_or(|matcher| matcher.matches_name(host)))
        .collect();
    let check = if matching.is_empty() {
        return None;
    } else if matching.iter().any(|(_, set)| set.is_host_only()) {
        Check::Nothing
    } else {
        Check::BesideHost(matching.into_iter().map(|(number, _)| number).collect())
    };
    Some(Candidate { route: number, check })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::glob::PathPattern;
    use crate::routing::matcher::{HostMatcher, MatcherSet};
    use crate::routing::tests::context;

    fn set(hosts: &[&str], path: Option<&str>) -> MatcherSet {
        MatcherSet {
            host: (!hosts.is_empty()).then(|| HostMatcher::new(hosts.iter().copied())),
            path: path.map(|path| vec![PathPattern::new(path)]),
            ..MatcherSet::default()
        }
    }

    fn route(matchers: Vec<MatcherSet>) -> Route {
        Route {
            matchers,
            ..Route::default()
        }
    }

    fn routes() -> Vec<Route> {
        vec![
            route(vec![set(&["a.test"], None)]),
            route(vec![set(&["a.test", "*.b.test"], Some("/x*"))]),
            route(vec![set(&["*.b.test"], None)]),
            route(vec![set(&["x.*.c.test"], None)]),
            route(vec![set(&["y.b.test"], None), set(&[], Some("/z"))]),
            route(vec![]),
        ]
    }

    #[test]
    fn the_index_finds_exactly_the_routes_that_match_in_order() {
        let routes = routes();
        let index = HostIndex::new(&routes);
        let hosts = [
            "a.test",
            "y.b.test",
            "q.b.test",
            "b.test",
            "x.1.c.test",
            "unknown",
            "",
            "::1",
        ];
        for host in hosts {
            for path in ["/", "/x1", "/z"] {
                let mut cx = context("GET", &format!("http://h{path}"));
                cx.host = Some(host.parse().unwrap());
                let expected: Vec<usize> = (0..routes.len())
                    .filter(|n| routes[*n].matches(&mut cx).unwrap())
                    .collect();
                let found: Vec<usize> = index
                    .candidates(&cx.host_name())
                    .iter()
                    .filter(|candidate| candidate.matches(&routes[candidate.route], &mut cx).unwrap())
                    .map(|candidate| candidate.route)
                    .collect();
                assert_eq!(found, expected, "{host}{path}");
            }
        }
    }

    #[test]
    fn a_host_with_many_neighbours_has_few_candidates() {
        let routes: Vec<Route> = (0..10_000)
            .map(|n| route(vec![set(&[&format!("h{n}.test")], None)]))
            .collect();
        let index = HostIndex::new(&routes);
        assert_eq!(index.candidates("h77.test").len(), 1);
        assert!(index.candidates("unknown.test").is_empty());
        let mut cx = context("GET", "http://h4711.test/");
        let cost = allocation_counter::measure(|| {
            let candidates = index.candidates(&cx.host_name()).iter();
            let found = candidates.filter(|one| one.matches(&routes[one.route], &mut cx).unwrap());
            assert_eq!(found.map(|one| one.route).sum::<usize>(), 4711);
        });
        assert_eq!(cost.count_total, 0, "finding a site allocates nothing");
    }

    #[test]
    #[ignore = "prints a time that means something in a release build only; `cargo xtask bench --sites` runs it"]
    #[expect(clippy::disallowed_methods, reason = "it measures")]
    fn the_time_to_find_a_host() {
        const SITES: usize = 10_000;
        const ROUNDS: usize = 100;
        let routes: Vec<Route> = (0..SITES)
            .map(|n| route(vec![set(&[&format!("site{n}.example.test")], None)]))
            .collect();
        let index = HostIndex::new(&routes);
        let mut requests: Vec<Context> = (0..SITES)
            .map(|n| context("GET", &format!("http://site{}.example.test/", n * 7919 % SITES)))
            .collect();
        let start = std::time::Instant::now();
        let mut found = 0;
        for _ in 0..ROUNDS {
            for cx in &mut requests {
                let candidates = index.candidates(&cx.host_name()).iter();
                found += candidates
                    .filter(|candidate| candidate.matches(&routes[candidate.route], cx).unwrap())
                    .count();
            }
        }
        let each = start.elapsed().as_nanos() / (SITES * ROUNDS) as u128;
        assert_eq!(found, SITES * ROUNDS);
        println!("  find the site of a host                  {each:>8} ns");
    }
}
