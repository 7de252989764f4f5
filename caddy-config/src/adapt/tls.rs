//! `apps.tls`: the certificates of all sites, loaded from files or obtained.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    address::{self, Ports, Scheme},
    cx::Cx,
    directive::SiteTls,
    options::Options,
    server::{Pairing, Served, is_http_only},
    site::{self, Key},
    stable_sort::stable_sort,
};
use crate::model::{Automation, AutomationPolicy, Certificates, Issuer, TlsApp};

/// The policies on the way. Two sites for every host share the one without subjects.
#[derive(Debug, Default)]
struct Policies {
    all: Vec<Draft>,
    /// The index of the policy for every name, once there is one.
    catch_all: Option<usize>,
}

/// A policy to be.
#[derive(Clone, Debug)]
struct Draft {
    /// Empty for every name.
    subjects: Vec<String>,
    issuer: IssuerSource,
}

/// Why the proxy's own authority issues, if it does. Caddy joins policies by this too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IssuerSource {
    /// A `tls` directive says so.
    Directive,
    /// The adapter says so, because of the names.
    Names,
    /// Nothing is said.
    Unsaid,
}

/// `apps.tls`; `None` if nothing is to be said about certificates.
pub(super) fn app(pairings: &[Pairing<'_>], options: &Options, cx: &mut Cx<'_>) -> Option<TlsApp> {
    let ports = options.ports();
    let mut certificates = Certificates::default();
    let mut policies = Policies::default();
    for pairing in pairings {
        if is_http_only(pairing, ports) {
            warn_of_useless_tls(&pairing.sites, cx);
            continue;
        }
        for served in &pairing.sites {
            if served.keys.iter().all(|key| key.address.scheme == Scheme::Http) {
                warn_of_useless_tls(std::slice::from_ref(served), cx);
                continue;
            }
            policies.site(served, ports, cx);
            certificates
                .load_files
                .extend(served.site.tls.iter().filter_map(|(tls, _)| match tls {
                    SiteTls::Files { load, .. } => load.clone(),
                    SiteTls::Internal => None,
                }));
        }
    }
    let automatic = options.auto_https.as_ref();
    if automatic.is_none_or(|automatic| !automatic.disable && !automatic.disable_certificates) {
        certificates.automate = hosts_beside_every_host(pairings, ports)
            .into_iter()
            .map(str::to_owned)
            .collect();
        policies.all.extend(internal_policy(&certificates.automate));
    }
    let policies = consolidate(policies.all);
    report_repeated_subjects(&policies, pairings, cx);
    let app = TlsApp {
        certificates: Some(certificates).filter(|certificates| *certificates != Certificates::default()),
        automation: automation(policies),
    };
    Some(app).filter(|app| *app != TlsApp::default())
}

fn automation(policies: Vec<Draft>) -> Option<Automation> {
    let policy = |draft: Draft| AutomationPolicy {
        subjects: draft.subjects,
        issuers: if draft.issuer == IssuerSource::Unsaid {
            Vec::new()
        } else {
            vec![Issuer::Internal {}]
        },
    };
    let policies: Vec<AutomationPolicy> = policies.into_iter().map(policy).collect();
    Some(policies)
        .filter(|policies| !policies.is_empty())
        .map(|policies| Automation { policies })
}

/// `tls` on a site that is served without it changes nothing.
fn warn_of_useless_tls(sites: &[Served<'_>], cx: &mut Cx<'_>) {
    for (_, span) in sites.iter().flat_map(|served| &served.site.tls) {
        let help = "remove it, or serve the site on another port than that of HTTP".to_owned();
        cx.warn(*span, "`tls` has no effect for addresses of plain HTTP", help);
    }
}

/// Named hosts that share a site with an address for every host. No route names them, so they are listed.
fn hosts_beside_every_host<'k>(pairings: &'k [Pairing<'_>], ports: Ports) -> BTreeSet<&'k str> {
    let served = pairings.iter().flat_map(|pairing| &pairing.sites);
    served
        .filter(|served| site::has_every_host(&served.keys))
        .flat_map(|served| encrypted(&served.keys, ports))
        .collect()
}

/// The named hosts that are not served by plain HTTP.
fn encrypted<'k>(keys: &[&'k Key], ports: Ports) -> BTreeSet<&'k str> {
    let addresses = keys.iter().map(|key| &key.address);
    let wanted = addresses.filter(|address| {
        !address.host.is_empty() && address.scheme != Scheme::Http && address.port != Some(ports.http)
    });
    wanted.map(|address| address.host.as_str()).collect()
}

/// A policy for those of `names` that no public authority would issue for.
fn internal_policy(names: &[String]) -> Option<Draft> {
    let subjects: Vec<String> = names
        .iter()
        .filter(|name| !address::is_certifiable(name))
        .cloned()
        .collect();
    (!subjects.is_empty()).then_some(Draft {
        subjects,
        issuer: IssuerSource::Names,
    })
}

// === impl Policies ===

impl Policies {
    fn site(&mut self, served: &Served<'_>, ports: Ports, cx: &mut Cx<'_>) {
        let for_every_host = site::has_every_host(&served.keys);
        let internal = served.site.tls.iter().any(|(tls, _)| *tls == SiteTls::Internal);
        let issuer = if internal {
            IssuerSource::Directive
        } else {
            IssuerSource::Unsaid
        };
        let subjects: Vec<String> = encrypted(&served.keys, ports)
            .into_iter()
            .map(str::to_owned)
            .collect();
        let index = match self.catch_all.filter(|_| for_every_host) {
            Some(index) => {
                self.join_catch_all(index, issuer, served, cx);
                index
            }
            None => {
                self.all.push(Draft {
                    subjects: Vec::new(),
                    issuer,
                });
                let index = self.all.len().saturating_sub(1);
                if for_every_host {
                    self.catch_all = Some(index);
                }
                index
            }
        };
        let Some(policy) = self.all.get_mut(index) else {
            return;
        };
        policy.subjects = subjects;
        if policy.issuer == IssuerSource::Unsaid {
            report_unfit_subjects(&policy.subjects, &served.keys, cx);
            let (public, inner): (Vec<String>, Vec<String>) = policy
                .subjects
                .iter()
                .cloned()
                .partition(|subject| address::is_public(subject));
            if !public.is_empty() && !inner.is_empty() {
                policy.subjects = public;
                self.all.push(Draft {
                    subjects: inner,
                    issuer: IssuerSource::Names,
                });
            }
        }
    }

    fn join_catch_all(&self, index: usize, issuer: IssuerSource, served: &Served<'_>, cx: &mut Cx<'_>) {
        let differs = self.all.get(index).is_some_and(|policy| policy.issuer != issuer);
        if let Some((_, span)) = served.site.tls.iter().find(|(tls, _)| *tls == SiteTls::Internal)
            && differs
        {
            let help = "write the same `tls` directive in every site that is for every host".to_owned();
            let message = "another site for every host gets its certificates in another way";
            cx.error(*span, message, help);
        }
    }
}

fn report_unfit_subjects(subjects: &[String], keys: &[&Key], cx: &mut Cx<'_>) {
    for subject in subjects
        .iter()
        .filter(|subject| !address::qualifies_for_certificate(subject))
    {
        if let Some(key) = keys.iter().find(|key| key.address.host == *subject) {
            let help = "correct the name, or write http:// before it".to_owned();
            cx.error(key.token.span, "no certificate is possible for this name", help);
        }
    }
}

/// A name in two policies would have two answers.
fn report_repeated_subjects(policies: &[Draft], pairings: &[Pairing<'_>], cx: &mut Cx<'_>) {
    let mut seen: HashSet<&str> = HashSet::new();
    let keys = || {
        pairings
            .iter()
            .flat_map(|pairing| &pairing.sites)
            .flat_map(|served| &served.keys)
    };
    for subject in policies.iter().flat_map(|policy| &policy.subjects) {
        if seen.insert(subject) {
            continue;
        }
        let place = keys().rfind(|key| key.address.host == *subject);
        if let Some(key) = place {
            let help = "write the same `tls` directive wherever the name occurs".to_owned();
            cx.error(
                key.token.span,
                format!("`{subject}` gets its certificates in two ways"),
                help,
            );
        }
    }
}

// === which policies are left ===

/// Sorts policies, the more specific first; leaves out those that say nothing, and joins those that say the same.
fn consolidate(mut policies: Vec<Draft>) -> Vec<Draft> {
    if policies
        .iter()
        .all(|policy| policy.issuer == IssuerSource::Unsaid)
    {
        return Vec::new();
    }
    stable_sort(&mut policies, &|a, b| {
        is_subset(a, b) || (!is_subset(b, a) && a.subjects.len() > b.subjects.len())
    });
    join_alike(without_empty(policies))
}

/// A policy that says nothing is only needed to keep names from one behind it that says something.
fn without_empty(policies: Vec<Draft>) -> Vec<Draft> {
    let index = SubjectIndex::new(&policies);
    let needed = |at: usize, policy: &Draft| {
        let is_last = at.saturating_add(1) == policies.len();
        let superset = index
            .first_superset_behind(at, &policies)
            .and_then(|at| policies.get(at));
        let speaks_behind = superset.is_none_or(|later| later.issuer != IssuerSource::Unsaid);
        policy.issuer != IssuerSource::Unsaid || (!is_last && speaks_behind)
    };
    let needed: Vec<bool> = policies
        .iter()
        .enumerate()
        .map(|(at, policy)| needed(at, policy))
        .collect();
    policies
        .into_iter()
        .zip(needed)
        .filter(|(_, needed)| *needed)
        .map(|(policy, _)| policy)
        .collect()
}

/// Policies for which the same authority issues become one, in the place of the first. One for every name takes
/// them in too, unless a policy between them has their names.
fn join_alike(policies: Vec<Draft>) -> Vec<Draft> {
    let mut joined: Vec<Draft> = Vec::new();
    for policy in policies {
        let alike = |other: &&mut Draft| !other.subjects.is_empty() && issue_alike(other, &policy);
        match joined.iter_mut().find(alike) {
            Some(first) if !policy.subjects.is_empty() => first.subjects.extend(policy.subjects),
            _ => joined.push(policy),
        }
    }
    for policy in &mut joined {
        let mut seen = HashSet::new();
        policy.subjects.retain(|subject| seen.insert(subject.clone()));
    }
    if let Some((every_name, others)) = joined.split_last()
        && every_name.subjects.is_empty()
        && let Some(at) = others.iter().position(|policy| issue_alike(policy, every_name))
        && let Some((policy, between)) = others.get(at..).and_then(<[_]>::split_first)
        && !between.iter().any(|other| is_subset(policy, other))
    {
        joined.remove(at);
    }
    joined
}

/// Whether certificates come from the same authority for both. Not an equivalence: what names alone decide is like
/// what the adapter says because of names, and that is like what a directive says.
fn issue_alike(a: &Draft, b: &Draft) -> bool {
    use IssuerSource::{Directive, Names, Unsaid};
    match (a.issuer, b.issuer) {
        (Unsaid, Unsaid) => {
            a.subjects.is_empty() || b.subjects.is_empty() || publicity(&a.subjects) == publicity(&b.subjects)
        }
        (Unsaid, Names) => publicity(&a.subjects) == (false, true),
        (Names, Unsaid) => publicity(&b.subjects) == (false, true),
        (Unsaid, Directive) | (Directive, Unsaid) => false,
        (Directive | Names, Directive | Names) => true,
    }
}

/// Whether there are public names, and whether there are others.
fn publicity(subjects: &[String]) -> (bool, bool) {
    let is_public = |subject: &String| address::is_public(subject);
    (subjects.iter().any(is_public), !subjects.iter().all(is_public))
}

/// Whether every name of `a` is one of `b`'s.
fn is_subset(a: &Draft, b: &Draft) -> bool {
    if a.subjects.is_empty() || b.subjects.is_empty() {
        return b.subjects.is_empty();
    }
    let names: HashSet<&str> = b.subjects.iter().map(String::as_str).collect();
    let wildcards = b.subjects.iter().any(|name| name.contains('*'));
    let covered = |name: &String| {
        names.contains(name.as_str())
            || wildcards && address::wildcards(name).any(|wildcard| names.contains(wildcard.as_str()))
    };
    a.subjects.iter().all(covered)
}

/// Finds the policies that have a name, without looking at all of them for each.
#[derive(Debug)]
struct SubjectIndex {
    by_subject: HashMap<String, Vec<usize>>,
    catch_alls: Vec<usize>,
}

// === impl SubjectIndex ===

impl SubjectIndex {
    fn new(policies: &[Draft]) -> Self {
        let mut index = Self {
            by_subject: HashMap::new(),
            catch_alls: Vec::new(),
        };
        for (at, policy) in policies.iter().enumerate() {
            for subject in &policy.subjects {
                index.by_subject.entry(subject.clone()).or_default().push(at);
            }
            if policy.subjects.is_empty() {
                index.catch_alls.push(at);
            }
        }
        index
    }

    /// The first policy behind the one at `at` that has all of its names.
    fn first_superset_behind(&self, at: usize, policies: &[Draft]) -> Option<usize> {
        let policy = policies.get(at)?;
        let mut candidates: BTreeSet<usize> = self.catch_alls.iter().copied().collect();
        if let Some(name) = policy.subjects.first() {
            for wide in std::iter::once(name.clone()).chain(address::wildcards(name)) {
                candidates.extend(self.by_subject.get(&wide).into_iter().flatten());
            }
        }
        let mut behind = candidates.into_iter().filter(|candidate| *candidate > at);
        behind.find(|candidate| {
            policies
                .get(*candidate)
                .is_some_and(|other| is_subset(policy, other))
        })
    }
}
