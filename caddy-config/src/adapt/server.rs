//! Sites -> servers: those that share a listener share a server.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{
    address::{Address, Ports, Scheme},
    connection_policies::TlsNeeds,
    cx::Cx,
    directive::{Binding, Interface},
    logs::server_logs,
    named_routes,
    options::Options,
    routes,
    site::{Key, Site},
    stable_sort::stable_sort,
};
use crate::{
    model::{Handler, HttpApp, HttpMetrics, ListenAddress, MatcherSet, Protocol, Route, Server, Subroute},
    source::Span,
};

/// Listeners and the sites that they all serve: a server to be.
#[derive(Debug)]
pub(super) struct Pairing<'s> {
    /// In the order of their texts, each with the protocols that sites ask for there.
    pub(super) listen: Vec<(ListenAddress, Vec<Protocol>)>,
    /// The more specific first.
    pub(super) sites: Vec<Served<'s>>,
    /// The addresses among the listeners at which the hosts of route sources are served.
    pub(super) sources: Vec<&'s Key>,
}

/// A site, and those of its addresses that a listener serves.
#[derive(Debug)]
pub(super) struct Served<'s> {
    pub(super) site: &'s Site,
    pub(super) keys: Vec<&'s Key>,
}

/// Shares the sites out to listeners. Servers are numbered in the order of the result.
pub(super) fn pair<'s>(sites: &'s [Site], options: &'s Options, cx: &mut Cx<'_>) -> Vec<Pairing<'s>> {
    let listeners = listeners(sites, options, cx);
    let mut pairings: Vec<Pairing<'s>> = Vec::new();
    let mut by_sites: HashMap<Numbers, usize> = HashMap::new();
    for ((_, protocol), (listen, served)) in listeners {
        let next = pairings.len();
        let index = *by_sites.entry(served.clone()).or_insert(next);
        if index == next {
            pairings.push(Pairing {
                listen: Vec::new(),
                sites: resolve(sites, &served),
                sources: source_keys(options, sites.len(), &served),
            });
        }
        let Some(pairing) = pairings.get_mut(index) else {
            continue;
        };
        match pairing.listen.last_mut() {
            Some((last, protocols)) if *last == listen => protocols.extend(protocol),
            _ => pairing.listen.push((listen, Vec::from_iter(protocol))),
        }
    }
    report_ambiguous(&pairings, cx);
    for pairing in &mut pairings {
        pairing.sites.sort_by_key(|served| specificity(&served.keys));
    }
    pairings
}

/// Sites by number, each with the numbers of its addresses.
type Numbers = Vec<(usize, Vec<usize>)>;

/// A listener's text, and one of the protocols that its sites ask for; `None` for those of the server.
type ListenerKey = (String, Option<Protocol>);

type Listeners = BTreeMap<ListenerKey, (ListenAddress, Numbers)>;

/// The listeners in the order of their texts, each with the sites and addresses that it serves.
fn listeners(sites: &[Site], options: &Options, cx: &mut Cx<'_>) -> Listeners {
    let mut listeners = Listeners::new();
    let every_interface = [Binding {
        interfaces: vec![Interface::Host(String::new())],
        protocols: Vec::new(),
    }];
    for (site_number, site) in sites.iter().enumerate() {
        let bindings = [&site.bindings, &options.default_bind]
            .into_iter()
            .find(|bindings| !bindings.is_empty())
            .map_or(every_interface.as_slice(), Vec::as_slice);
        for (key_number, key) in site.keys.iter().enumerate() {
            serve(
                &mut listeners,
                bindings,
                key,
                (site_number, key_number),
                options.ports(),
                cx,
            );
        }
    }
    // What serves the hosts of route sources is like one more site.
    let sources = options.route_sources.iter().flat_map(|sources| &sources.listen);
    for (key_number, key) in sources.enumerate() {
        let bindings = [&options.default_bind]
            .into_iter()
            .find(|bindings| !bindings.is_empty())
            .map_or(every_interface.as_slice(), Vec::as_slice);
        let own = [Binding {
            interfaces: vec![Interface::Host(key.address.host.clone())],
            protocols: Vec::new(),
        }];
        let bindings = if key.address.host.is_empty() {
            bindings
        } else {
            &own
        };
        serve(
            &mut listeners,
            bindings,
            key,
            (sites.len(), key_number),
            options.ports(),
            cx,
        );
    }
    listeners
}

/// Notes that the listeners of `bindings` serve an address, which is the second number of the site with the first.
fn serve(
    listeners: &mut Listeners,
    bindings: &[Binding],
    key: &Key,
    (site_number, key_number): (usize, usize),
    ports: Ports,
    cx: &mut Cx<'_>,
) {
    let port = match key.address.listen_port(ports) {
        Ok(port) => port,
        Err((message, help)) => return cx.error(key.token.span, message, help),
    };
    for (listener, protocols) in bound(bindings, port) {
        let text = listener.to_string();
        for protocol in protocols {
            let (_, served) = listeners
                .entry((text.clone(), protocol))
                .or_insert_with(|| (listener.clone(), Vec::new()));
            match served.last_mut() {
                Some((site, keys)) if *site == site_number => keys.push(key_number),
                _ => served.push((site_number, vec![key_number])),
            }
        }
    }
}

/// Each listener once, with the protocols that all its mentions ask for.
fn bound(bindings: &[Binding], port: u16) -> BTreeMap<ListenAddress, BTreeSet<Option<Protocol>>> {
    let mut bound: BTreeMap<ListenAddress, BTreeSet<Option<Protocol>>> = BTreeMap::new();
    for Binding {
        interfaces,
        protocols,
    } in bindings
    {
        for interface in interfaces {
            let asked = bound.entry(interface.listen(port)).or_default();
            asked.extend(protocols.iter().copied().map(Some));
        }
    }
    for asked in bound.values_mut().filter(|asked| asked.is_empty()) {
        asked.insert(None);
    }
    bound
}

fn resolve<'s>(sites: &'s [Site], numbers: &[(usize, Vec<usize>)]) -> Vec<Served<'s>> {
    let served = |(site, keys): &(usize, Vec<usize>)| {
        let site = sites.get(*site)?;
        let keys = keys.iter().filter_map(|key| site.keys.get(*key)).collect();
        Some(Served { site, keys })
    };
    numbers.iter().filter_map(served).collect()
}

/// The addresses of route sources among them.
fn source_keys<'s>(options: &'s Options, number: usize, numbers: &[(usize, Vec<usize>)]) -> Vec<&'s Key> {
    let keys = numbers.iter().filter(|(site, _)| *site == number);
    let sources = options.route_sources.as_ref();
    keys.flat_map(|(_, keys)| keys)
        .filter_map(|key| sources?.listen.get(*key))
        .collect()
}

/// Two sites on one listener with the same host and path: the second could never be reached.
fn report_ambiguous(pairings: &[Pairing<'_>], cx: &mut Cx<'_>) {
    let mut reported: BTreeSet<Span> = BTreeSet::new();
    for pairing in pairings {
        let mut by_text: HashMap<&str, (usize, Span)> = HashMap::new();
        let mut by_host: HashMap<(&str, &str), (usize, Span)> = HashMap::new();
        let keys = pairing.sites.iter().enumerate();
        for (number, key) in
            keys.flat_map(|(number, served)| served.keys.iter().map(move |key| (number, key)))
        {
            let (here, address) = ((number, key.token.span), &key.address);
            let same_text = *by_text.entry(&key.token.text).or_insert(here);
            let same_host = *by_host.entry((&address.host, &address.path)).or_insert(here);
            if same_host.0 == number && same_text.0 == number || !reported.insert(key.token.span) {
                continue;
            }
            let help = "put their directives into one site".to_owned();
            if same_text.0 == number {
                let line = cx.line_of(same_host.1);
                let message =
                    format!("the site on line {line} is for this host too; only one gets its requests");
                cx.warn(key.token.span, message, help);
            } else {
                let line = cx.line_of(same_text.1);
                cx.error(
                    key.token.span,
                    format!("this address has a site already, on line {line}"),
                    help,
                );
            }
        }
    }
}

/// Smaller is tried earlier: named hosts, then those with a wildcard, then every host; the longer the earlier.
fn specificity(keys: &[&Key]) -> (bool, bool, std::cmp::Reverse<usize>, std::cmp::Reverse<usize>) {
    let host = keys
        .iter()
        .map(|key| key.address.host_specificity())
        .max()
        .unwrap_or_default();
    if host == 0 {
        return (true, false, std::cmp::Reverse(0), std::cmp::Reverse(0));
    }
    let wide = keys.iter().any(|key| key.address.is_wide());
    let path = keys
        .iter()
        .max_by_key(|key| key.address.path_specificity())
        .map_or(0, |key| key.address.path.len());
    (false, wide, std::cmp::Reverse(host), std::cmp::Reverse(path))
}

/// `apps.http`.
pub(super) fn app(
    pairings: &[Pairing<'_>],
    options: &Options,
    named: &BTreeMap<String, Route>,
    cx: &mut Cx<'_>,
) -> HttpApp {
    let mut servers = BTreeMap::new();
    let mut copies = named_routes::Copies::new(named);
    for (number, pairing) in pairings.iter().enumerate() {
        let mut server = build(pairing, options, cx);
        server.named_routes = copies.of_server(&pairing.sites, cx);
        let chosen = options.servers.iter().find(|chosen| chosen.applies_to(&server));
        if let Some(chosen) = chosen {
            chosen.apply(&mut server);
        }
        let name = chosen
            .and_then(|chosen| chosen.name.clone())
            .unwrap_or_else(|| format!("srv{number}"));
        servers.insert(name, server);
    }
    HttpApp {
        http_port: options.http_port,
        https_port: options.https_port,
        grace_period: options.grace_period,
        shutdown_delay: options.shutdown_delay,
        servers,
        metrics: metrics(options),
        route_sources: options.route_sources.as_ref().map(|read| read.sources.clone()),
    }
}

/// What the global option says, and each `servers`.
fn metrics(options: &Options) -> Option<HttpMetrics> {
    let old = options.servers.iter().filter_map(|server| server.metrics);
    let joined = |all: HttpMetrics, one: HttpMetrics| HttpMetrics {
        per_host: all.per_host || one.per_host,
        observe_catchall_hosts: all.observe_catchall_hosts || one.observe_catchall_hosts,
    };
    options.metrics.into_iter().chain(old).reduce(joined)
}

fn build(pairing: &Pairing<'_>, options: &Options, cx: &mut Cx<'_>) -> Server {
    let mut server = Server {
        listen: pairing.listen.iter().map(|(listen, _)| listen.clone()).collect(),
        listen_protocols: listen_protocols(pairing),
        automatic_https: options.auto_https.clone(),
        logs: server_logs(&pairing.sites),
        route_sources: !pairing.sources.is_empty(),
        ..Server::default()
    };
    let mut tls = TlsNeeds::new(&server, options);
    if pairing
        .sources
        .iter()
        .any(|key| key.address.scheme == Scheme::Https)
    {
        tls.any_host();
    }
    let alone = pairing.sites.len() == 1;
    for served in &pairing.sites {
        tls.site(served, &mut server, options.ports());
        let inner = routes::sorted(served.site.routes.clone(), cx);
        let matchers = site_matchers(&served.keys);
        if !served.site.errors.is_empty() {
            let inner = error_routes(&served.site.errors);
            let errors = server.errors.get_or_insert_default();
            errors.routes.extend(site_routes(inner, matchers.clone(), alone));
        }
        server.routes.extend(site_routes(inner, matchers, alone));
    }
    report_mixed_schemes(pairing, tls.is_empty(), options.ports(), cx);
    server.tls_connection_policies = tls.finish(cx);
    server.routes = routes::merged(server.routes.into_iter());
    server
}

/// Empty if no site asks for protocols of its own.
fn listen_protocols(pairing: &Pairing<'_>) -> Vec<Option<Vec<Protocol>>> {
    let asked = pairing
        .listen
        .iter()
        .map(|(_, protocols)| Some(protocols.clone()).filter(|protocols| !protocols.is_empty()));
    Some(asked.collect::<Vec<_>>())
        .filter(|asked| asked.iter().any(Option::is_some))
        .unwrap_or_default()
}

/// The routes of a site for errors: those for certain codes before those for all, and of these the last written
/// first, as Caddy has them.
fn error_routes(written: &[Route]) -> Vec<Route> {
    let mut routes = written.to_vec();
    let goes_before = |a: &Route, b: &Route| !a.matchers.is_empty() || b.matchers.is_empty();
    stable_sort(&mut routes, &goes_before);
    routes
}

/// The routes of one site in its server. Only the one site of a server without hosts needs no frame; with a host
/// matcher inside it gets one, since hosts at the top ask for certificates.
fn site_routes(inner: Vec<Route>, matchers: Vec<MatcherSet>, alone: bool) -> Vec<Route> {
    let inner_hosts = inner
        .iter()
        .flat_map(|route| &route.matchers)
        .any(|set| set.host.is_some());
    if matchers.is_empty() && alone && !inner_hosts {
        return inner;
    }
    if matchers.is_empty() && inner.is_empty() {
        return Vec::new();
    }
    let handlers = if inner.is_empty() {
        Vec::new()
    } else {
        vec![Handler::Subroute(Subroute {
            routes: inner,
            errors: None,
        })]
    };
    vec![Route {
        group: None,
        matchers,
        handlers,
        terminal: true,
    }]
}

/// One set for each path among the addresses; an address for every host makes its set match every host.
fn site_matchers(keys: &[&Key]) -> Vec<MatcherSet> {
    let mut sets: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut by_path: HashMap<&str, usize> = HashMap::new();
    let mut seen: HashSet<(&str, &str)> = HashSet::new();
    let mut every_host = false;
    for Address { host, path, .. } in keys.iter().map(|key| &key.address) {
        let index = *by_path.entry(path).or_insert_with(|| {
            sets.push((path, Vec::new()));
            sets.len().saturating_sub(1)
        });
        let Some((_, hosts)) = sets.get_mut(index) else {
            continue;
        };
        if host.is_empty() && !every_host {
            hosts.clear();
            every_host = true;
        }
        if !every_host && seen.insert((path, host)) {
            hosts.push(host);
        }
    }
    let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let set = |(path, hosts): (&str, Vec<&str>)| MatcherSet {
        host: Some(owned(hosts)).filter(|hosts| !hosts.is_empty()),
        path: Some(path)
            .filter(|path| !path.is_empty())
            .map(|path| vec![path.to_owned()]),
        ..MatcherSet::default()
    };
    sets.into_iter().map(set).filter(|set| !set.is_empty()).collect()
}

/// A listener speaks either HTTP or HTTPS.
fn report_mixed_schemes(pairing: &Pairing<'_>, without_policies: bool, ports: Ports, cx: &mut Cx<'_>) {
    let mut first: Option<(bool, &Key)> = None;
    let keys = pairing.sites.iter().flat_map(|served| &served.keys);
    for key in keys.chain(&pairing.sources) {
        let address = &key.address;
        let https = if address.scheme == Scheme::Http || address.port == Some(ports.http) {
            false
        } else if address.scheme == Scheme::Https || address.port == Some(ports.https) || !without_policies {
            true
        } else if address.host.is_empty() {
            false
        } else {
            continue;
        };
        if !https && !without_policies {
            let help = "remove the `tls` directive, or serve the site on a port of its own".to_owned();
            cx.error(
                key.token.span,
                "this address is for HTTP, but its listener has certificates",
                help,
            );
            return;
        }
        match first {
            None => first = Some((https, key)),
            Some((other, _)) if other == https => {}
            Some((_, other)) => {
                let (line, text) = (cx.line_of(other.token.span), cx.quote(&other.token));
                let message =
                    format!("this listener would speak HTTP and HTTPS, see `{text}` on line {line}");
                let help = "give them different ports, or write https:// before both".to_owned();
                cx.error(key.token.span, message, help);
                return;
            }
        }
    }
}

/// Whether some listener is on another port than that of HTTP.
pub(super) fn is_http_only(pairing: &Pairing<'_>, ports: Ports) -> bool {
    pairing
        .listen
        .iter()
        .all(|(listen, _)| listen.port() == Some(ports.http))
}
