//! `tls_connection_policies` of a server: which certificate a connection gets, by the name that it asks for.

use std::collections::HashMap;

use super::{
    address::{Ports, Scheme},
    directive::SiteTls,
    server::Served,
    site,
};
use crate::model::{CertificateSelection, Server, TlsConnectionPolicy, TlsMatcher};

/// What the sites of a server ask of its TLS.
#[derive(Debug)]
pub(super) struct TlsNeeds {
    pub(super) policies: Vec<TlsConnectionPolicy>,
    /// Some address is to be served by HTTPS.
    needed: bool,
    /// Automatic HTTPS adds a policy by itself.
    automatic: bool,
    /// The last policy is for every name already.
    has_catch_all: bool,
}

// === impl TlsNeeds ===

impl TlsNeeds {
    pub(super) fn new(server: &Server) -> Self {
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

    pub(super) fn site(&mut self, Served { site, keys }: &Served<'_>, server: &mut Server, ports: Ports) {
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
        let http_only = server
            .listen
            .iter()
            .all(|listen| listen.port() == Some(ports.http));
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
    pub(super) fn finish(mut self) -> Option<Vec<TlsConnectionPolicy>> {
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
