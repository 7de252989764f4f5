//! `apps.tls`: the certificates of all sites, loaded from files or obtained.

use std::collections::{BTreeSet, HashSet};

mod consolidate;

use self::consolidate::consolidate;
use super::{
    address::{self, Ports, Scheme},
    cx::Cx,
    directive::SiteTls,
    options::Options,
    server::{Pairing, Served, is_http_only},
    site::{self, Key},
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
