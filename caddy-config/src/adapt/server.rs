//! Sites -> servers: those that share a listener share a server.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    address::{Ports, Scheme},
    cx::Cx,
    directive::SiteTls,
    logs::server_logs,
    options::Options,
    routes,
    site::{self, Key, Site},
};
use crate::{
    model::{
        CertificateSelection, Handler, HostPort, HttpApp, MatcherSet, Route, Server, Subroute,
        TlsConnectionPolicy, TlsMatcher,
    },
    source::Span,
};

/// Listeners and the sites that they all serve: a server to be.
#[derive(Debug)]
pub(super) struct Pairing<'s> {
    pub(super) listen: Vec<HostPort>,
    /// The more specific first.
    pub(super) sites: Vec<Served<'s>>,
}

/// A site, and those of its addresses that a listener serves.
#[derive(Debug)]
pub(super) struct Served<'s> {
    pub(super) site: &'s Site,
    pub(super) keys: Vec<&'s Key>,
}

/// Shares the sites out to listeners. Servers are numbered in the order of the result.
pub(super) fn pair<'s>(sites: &'s [Site], options: &Options, cx: &mut Cx<'_>) -> Vec<Pairing<'s>> {
    let listeners = listeners(sites, options.ports(), cx);
    let mut pairings: Vec<Pairing<'s>> = Vec::new();
    let mut by_sites: HashMap<Vec<(usize, Vec<usize>)>, usize> = HashMap::new();
    for (listen, served) in listeners.into_values() {
        let next = pairings.len();
        let index = *by_sites.entry(served.clone()).or_insert(next);
        match pairings.get_mut(index) {
            Some(pairing) => pairing.listen.push(listen),
            None => pairings.push(Pairing {
                listen: vec![listen],
                sites: resolve(sites, &served),
            }),
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

/// The listeners in the order of their texts, each with the sites and addresses that it serves.
fn listeners(sites: &[Site], ports: Ports, cx: &mut Cx<'_>) -> BTreeMap<String, (HostPort, Numbers)> {
    let mut listeners: BTreeMap<String, (HostPort, Numbers)> = BTreeMap::new();
    for (site_number, site) in sites.iter().enumerate() {
        let every = [String::new()];
        let interfaces = if site.interfaces.is_empty() {
            every.as_slice()
        } else {
            &site.interfaces
        };
        for (key_number, key) in site.keys.iter().enumerate() {
            let port = match key.address.listen_port(ports) {
                Ok(port) => port,
                Err((message, help)) => {
                    cx.error(key.token.span, message, help);
                    continue;
                }
            };
            for interface in interfaces {
                let listener = HostPort::new(interface.clone(), port);
                let (_, served) = listeners
                    .entry(listener.to_string())
                    .or_insert((listener, Vec::new()));
                match served.last_mut() {
                    Some((site, keys)) if *site == site_number => {
                        if keys.last() != Some(&key_number) {
                            keys.push(key_number);
                        }
                    }
                    _ => served.push((site_number, vec![key_number])),
                }
            }
        }
    }
    listeners
}

fn resolve<'s>(sites: &'s [Site], numbers: &[(usize, Vec<usize>)]) -> Vec<Served<'s>> {
    let served = |(site, keys): &(usize, Vec<usize>)| {
        let site = sites.get(*site)?;
        let keys = keys.iter().filter_map(|key| site.keys.get(*key)).collect();
        Some(Served { site, keys })
    };
    numbers.iter().filter_map(served).collect()
}

/// Two sites on one listener with the same host and path: the second could never be reached.
fn report_ambiguous(pairings: &[Pairing<'_>], cx: &mut Cx<'_>) {
    let mut reported: BTreeSet<Span> = BTreeSet::new();
    for pairing in pairings {
        let mut first: HashMap<(&str, &str), (usize, &Key)> = HashMap::new();
        for (number, served) in pairing.sites.iter().enumerate() {
            for key in &served.keys {
                let id = (key.address.host.as_str(), key.address.path.as_str());
                let (first_number, first_key) = *first.entry(id).or_insert((number, key));
                if first_number == number || !reported.insert(key.token.span) {
                    continue;
                }
                let line = cx.line_of(first_key.token.span);
                if key.token.text == first_key.token.text {
                    let message = format!("this address has a site already, on line {line}");
                    cx.error(
                        key.token.span,
                        message,
                        "put their directives into one site".to_owned(),
                    );
                } else {
                    let message =
                        format!("no request reaches this site: the one on line {line} has its host");
                    cx.warn(
                        key.token.span,
                        message,
                        "put their directives into one site".to_owned(),
                    );
                }
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
pub(super) fn app(pairings: &[Pairing<'_>], options: &Options, cx: &mut Cx<'_>) -> HttpApp {
    let mut servers = BTreeMap::new();
    for (number, pairing) in pairings.iter().enumerate() {
        let mut server = build(pairing, options, cx);
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
        servers,
    }
}

fn build(pairing: &Pairing<'_>, options: &Options, cx: &mut Cx<'_>) -> Server {
    let mut server = Server {
        listen: pairing.listen.clone(),
        automatic_https: options.auto_https.clone(),
        logs: server_logs(&pairing.sites),
        ..Server::default()
    };
    let mut tls = TlsNeeds::new(&server);
    let alone = pairing.sites.len() == 1;
    for served in &pairing.sites {
        tls.site(served, &mut server, options.ports());
        let inner = routes::sorted(served.site.routes.clone(), cx);
        server
            .routes
            .extend(site_routes(inner, site_matchers(&served.keys), alone));
    }
    report_mixed_schemes(pairing, tls.policies.is_empty(), options.ports(), cx);
    server.tls_connection_policies = tls.finish();
    server.routes = routes::merged(server.routes.into_iter());
    server
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
        vec![Handler::Subroute(Subroute { routes: inner })]
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
    let mut every_host = false;
    for address in keys.iter().map(|key| &key.address) {
        let position = sets.iter().position(|(path, _)| *path == address.path);
        let index = position.unwrap_or_else(|| {
            sets.push((&address.path, Vec::new()));
            sets.len().saturating_sub(1)
        });
        let Some((_, hosts)) = sets.get_mut(index) else {
            continue;
        };
        if address.host.is_empty() && !every_host {
            hosts.clear();
            every_host = true;
        }
        if !every_host && !hosts.contains(&address.host.as_str()) {
            hosts.push(&address.host);
        }
    }
    let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let set = |(path, hosts): (&str, Vec<&str>)| MatcherSet {
        host: Some(owned(hosts)).filter(|hosts| !hosts.is_empty()),
        path: Some(path)
            .filter(|path| !path.is_empty())
            .map(|path| vec![path.to_owned()]),
        method: None,
    };
    sets.into_iter().map(set).filter(|set| !set.is_empty()).collect()
}

/// What the sites of a server ask of its TLS.
#[derive(Debug)]
struct TlsNeeds {
    policies: Vec<TlsConnectionPolicy>,
    /// Some address is to be served by HTTPS.
    needed: bool,
    /// Automatic HTTPS adds a policy by itself.
    automatic: bool,
    /// The last policy is for every name already.
    has_catch_all: bool,
}

// === impl TlsNeeds ===

impl TlsNeeds {
    fn new(server: &Server) -> Self {
        let automatic = server
            .automatic_https
            .as_ref()
            .is_none_or(|automatic| !automatic.disable);
        Self {
            policies: Vec::new(),
            needed: false,
            automatic,
            has_catch_all: false,
        }
    }

    fn site(&mut self, Served { site, keys }: &Served<'_>, server: &mut Server, ports: Ports) {
        // Caddy shares one policy among the servers of a site, so that the last one's names replace the others'.
        let hosts: Vec<String> = site::hosts(keys).into_iter().map(str::to_owned).collect();
        for (tls, _) in &site.tls {
            let SiteTls::Files { tag, .. } = tls else { continue };
            let matcher = Some(TlsMatcher { sni: hosts.clone() }).filter(|matcher| !matcher.sni.is_empty());
            let certificate_selection = Some(CertificateSelection {
                any_tag: vec![tag.clone()],
            });
            self.has_catch_all = matcher.is_none();
            self.policies.push(TlsConnectionPolicy {
                matcher,
                certificate_selection,
            });
        }
        let http_only = server.listen.iter().all(|listen| listen.port() == ports.http);
        for address in keys.iter().map(|key| &key.address) {
            let named = !address.host.is_empty();
            if !http_only && address.scheme == Scheme::Http && named {
                let skip = &mut server.automatic_https.get_or_insert_default().skip;
                if !skip.contains(&address.host) {
                    skip.push(address.host.clone());
                }
            }
            let skipped = server
                .automatic_https
                .as_ref()
                .is_some_and(|auto| auto.skip.contains(&address.host));
            let enabled = !site.tls.is_empty() || (named && !skipped);
            let on_http_port = address.port == Some(ports.http);
            self.needed |= address.scheme == Scheme::Https
                || (address.scheme != Scheme::Http && !on_http_port && enabled);
            self.automatic &= address.port == Some(ports.https) || (!on_http_port && named);
        }
    }

    /// Every name gets a policy once TLS is needed and nothing else sees to that.
    fn finish(mut self) -> Option<Vec<TlsConnectionPolicy>> {
        if self.needed && !self.has_catch_all && (!self.policies.is_empty() || !self.automatic) {
            self.policies.push(TlsConnectionPolicy::default());
        }
        self.policies.sort_by_key(|policy| policy.matcher.is_none());
        Some(merge_policies(self.policies)).filter(|policies| !policies.is_empty())
    }
}

/// Equal policies become one; neighbours that differ only in their names, and those with equal names, are joined.
/// The steps are Caddy's, since the outcome depends on them.
fn merge_policies(mut policies: Vec<TlsConnectionPolicy>) -> Vec<TlsConnectionPolicy> {
    let mut counts: HashMap<Option<TlsMatcher>, usize> = HashMap::new();
    for policy in &policies {
        let count = counts.entry(policy.matcher.clone()).or_default();
        *count = count.saturating_add(1);
    }
    let mut at = 0;
    while let Some(policy) = policies.get(at) {
        let has_double = counts.get(&policy.matcher).is_some_and(|count| *count > 1);
        match partner(&policies, at, has_double) {
            Some((with, joins)) => {
                let other = policies.remove(with);
                if let Some(count) = counts.get_mut(&other.matcher) {
                    *count = count.saturating_sub(1);
                }
                let kept = if with < at { at.saturating_sub(1) } else { at };
                if let Some(policy) = policies.get_mut(kept) {
                    join(policy, other, joins, &mut counts);
                }
            }
            None => at = at.saturating_add(1),
        }
    }
    policies
}

/// In what two policies are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joins {
    Names,
    Tags,
}

/// The first policy that the one at `at` can be joined with. Without a double of its names, that is its neighbour.
fn partner(policies: &[TlsConnectionPolicy], at: usize, has_double: bool) -> Option<(usize, Joins)> {
    let policy = policies.get(at)?;
    let next = at.saturating_add(1);
    let joins = |index: usize, other: &TlsConnectionPolicy| {
        let neighbours = index == next && other.matcher.is_some() && policy.matcher.is_some();
        if other == policy {
            Some(Joins::Tags)
        } else if neighbours && other.certificate_selection == policy.certificate_selection {
            Some(Joins::Names)
        } else {
            (other.matcher == policy.matcher).then_some(Joins::Tags)
        }
    };
    if !has_double {
        return joins(next, policies.get(next)?).map(|joins| (next, joins));
    }
    let others = policies.iter().enumerate().filter(|(index, _)| *index != at);
    others
        .filter_map(|(index, other)| Some((index, joins(index, other)?)))
        .next()
}

fn join(
    policy: &mut TlsConnectionPolicy,
    other: TlsConnectionPolicy,
    joins: Joins,
    counts: &mut HashMap<Option<TlsMatcher>, usize>,
) {
    match (joins, &mut policy.matcher, other.matcher.clone()) {
        (Joins::Names, Some(names), Some(more)) => {
            if let Some(count) = counts.get_mut(&Some(names.clone())) {
                *count = count.saturating_sub(1);
            }
            names.sni.extend(more.sni);
            let count = counts.entry(policy.matcher.clone()).or_default();
            *count = count.saturating_add(1);
        }
        _ => join_tags(policy, other),
    }
}

fn join_tags(policy: &mut TlsConnectionPolicy, other: TlsConnectionPolicy) {
    match (&mut policy.certificate_selection, other.certificate_selection) {
        (Some(selection), Some(more)) => {
            let new = more
                .any_tag
                .into_iter()
                .filter(|tag| !selection.any_tag.contains(tag))
                .collect::<Vec<_>>();
            selection.any_tag.extend(new);
        }
        (selection @ None, more) => *selection = more,
        (Some(_), None) => {}
    }
}

/// A listener speaks either HTTP or HTTPS.
fn report_mixed_schemes(pairing: &Pairing<'_>, without_policies: bool, ports: Ports, cx: &mut Cx<'_>) {
    let mut first: Option<(bool, &Key)> = None;
    for key in pairing.sites.iter().flat_map(|served| &served.keys) {
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
    pairing.listen.iter().all(|listen| listen.port() == ports.http)
}
