//! `tls_connection_policies` of a server: how connections are made, by the name that they ask for.

mod merge;

use std::collections::{BTreeSet, HashSet};

use self::merge::merged;
use super::{
    address::{self, Ports, Scheme},
    cx::Cx,
    options::Options,
    server::Served,
    site,
};
use crate::{
    model::{Server, TlsConnectionPolicy, TlsMatcher},
    source::Span,
};

/// What the sites of a server ask of its TLS.
#[derive(Debug)]
pub(super) struct TlsNeeds {
    /// With the places of the directives.
    policies: Vec<(TlsConnectionPolicy, Span)>,
    /// Named hosts of sites that are not for every host.
    hosts: BTreeSet<String>,
    /// The hosts that automatic HTTPS leaves out, which the server has as a list.
    skipped: HashSet<String>,
    /// Some address is to be served by HTTPS.
    needed: bool,
    /// Automatic HTTPS adds a policy by itself.
    automatic: bool,
    /// The last policy is for every name already.
    has_catch_all: bool,
    /// The policy for names that no other is for.
    rest: TlsConnectionPolicy,
}

// === impl TlsNeeds ===

impl TlsNeeds {
    pub(super) fn new(server: &Server, options: &Options) -> Self {
        let automatic = server
            .automatic_https
            .as_ref()
            .is_none_or(|automatic| !automatic.disable);
        Self {
            policies: Vec::new(),
            hosts: BTreeSet::new(),
            skipped: server
                .automatic_https
                .iter()
                .flat_map(|automatic| automatic.skip.iter().cloned())
                .collect(),
            needed: false,
            automatic,
            has_catch_all: false,
            rest: TlsConnectionPolicy {
                default_sni: options.tls.default_sni.clone(),
                fallback_sni: options.tls.fallback_sni.clone(),
                ..TlsConnectionPolicy::default()
            },
        }
    }

    /// Whether no site has a policy of its own.
    pub(super) const fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// Hosts that are not known yet are served by HTTPS.
    pub(super) const fn any_host(&mut self) {
        self.needed = true;
        self.automatic = false;
    }

    pub(super) fn site(&mut self, served: &Served<'_>, server: &mut Server, ports: Ports) {
        let Served { site, keys } = served;
        self.policies_of(served);
        let http_only = server
            .listen
            .iter()
            .all(|listen| listen.port() == Some(ports.http));
        for address in keys.iter().map(|key| &key.address) {
            let named = !address.host.is_empty();
            let skips = !http_only && address.scheme == Scheme::Http && named;
            if skips && self.skipped.insert(address.host.clone()) {
                let automatic = server.automatic_https.get_or_insert_default();
                automatic.skip.push(address.host.clone());
            }
            let skipped = self.skipped.contains(&address.host);
            let enabled = !site.tls.is_empty() || (named && !skipped);
            let on_http_port = address.port == Some(ports.http);
            self.needed |= address.scheme == Scheme::Https
                || (address.scheme != Scheme::Http && !on_http_port && enabled);
            self.automatic &= address.port == Some(ports.https) || (!on_http_port && named);
        }
    }

    /// One for each `tls` directive. Each server of a site has its own copy: in Caddy they share one, so that the last
    /// server's names replace those of the others.
    fn policies_of(&mut self, Served { site, keys }: &Served<'_>) {
        let mut hosts: BTreeSet<String> = site::hosts(keys).into_iter().map(str::to_owned).collect();
        self.hosts.extend(hosts.iter().cloned());
        let forced = site.tls.iter().any(|(tls, _)| tls.force_automate);
        // The first of the names that is one of the two counts, in the order of the file.
        let is = |name: &Option<String>, host: &str| name.as_deref() == Some(host);
        let in_order = keys.iter().map(|key| key.address.host.as_str());
        let chosen = in_order
            .filter(|host| hosts.contains(*host))
            .find(|host| is(&self.rest.default_sni, host) || is(&self.rest.fallback_sni, host))
            .map(str::to_owned);
        for (tls, span) in &site.tls {
            let mut policy = tls.policy.clone();
            match &chosen {
                Some(host) => {
                    hosts.insert(String::new());
                    if is(&self.rest.default_sni, host) {
                        policy.default_sni = Some(host.clone());
                    } else {
                        policy.fallback_sni = Some(host.clone());
                    }
                }
                None if hosts.is_empty() => {
                    policy.default_sni.clone_from(&self.rest.default_sni);
                    policy.fallback_sni.clone_from(&self.rest.fallback_sni);
                }
                None => {}
            }
            if policy.has_settings() || forced && !hosts.is_empty() {
                self.has_catch_all = hosts.is_empty();
                policy.matcher = (!hosts.is_empty()).then(|| TlsMatcher {
                    sni: hosts.iter().cloned().collect(),
                });
                self.policies.push((policy, *span));
            }
        }
    }

    /// Every name gets a policy once TLS is needed and nothing else sees to that.
    pub(super) fn finish(mut self, cx: &mut Cx<'_>) -> Option<Vec<TlsConnectionPolicy>> {
        self.free_from_wildcards();
        let speaks = !self.policies.is_empty() || self.rest.has_settings();
        if self.needed && !self.has_catch_all && (speaks || !self.automatic) {
            self.policies.push((self.rest, Span::default()));
        }
        self.policies.sort_by_key(|(policy, _)| policy.matcher.is_none());
        Some(merged(self.policies, cx)).filter(|policies| !policies.is_empty())
    }

    /// A site of one name is not bound by what another asks of clients for a wildcard that covers the name: it gets a
    /// policy before that.
    fn free_from_wildcards(&mut self) {
        let names = |policy: &TlsConnectionPolicy| policy.matcher.clone().unwrap_or_default().sni;
        let own: HashSet<String> = self
            .policies
            .iter()
            .flat_map(|(policy, _)| names(policy))
            .collect();
        let asks = |policy: &TlsConnectionPolicy| policy.client_authentication.is_some();
        if !self.policies.iter().any(|(policy, _)| asks(policy)) {
            return;
        }
        let bound = |host: &String| !own.contains(host) && !host.contains('*');
        let mut free: Vec<String> = self.hosts.iter().filter(|host| bound(host)).cloned().collect();
        let mut policies = Vec::with_capacity(self.policies.len());
        for (policy, span) in std::mem::take(&mut self.policies) {
            let mut wide = names(&policy);
            wide.retain(|name| name.contains('*') && asks(&policy));
            let covered = |host: &String| wide.iter().any(|wide| address::covers(wide, host));
            let (sni, rest): (Vec<String>, Vec<String>) = free.into_iter().partition(covered);
            free = rest;
            if !sni.is_empty() {
                let freed = TlsConnectionPolicy {
                    matcher: Some(TlsMatcher { sni }),
                    client_authentication: None,
                    ..policy.clone()
                };
                policies.push((freed, span));
            }
            policies.push((policy, span));
        }
        self.policies = policies;
    }
}
