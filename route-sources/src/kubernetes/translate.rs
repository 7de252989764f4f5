//! From resources to documents.

mod owner;
mod report;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::networking::v1::Ingress;
use route_store::HostName;
use route_store::document::{MAX_UPSTREAMS, RawTarget};

use self::owner::Owner;
use self::report::Report;
use super::backend::Backends;
use super::claims::{Claims, closed};
use super::class::is_ours;
use super::cluster::{Cluster, Key};
use super::doors::Server;
use super::files::Certificates;
use super::paths::Place;
use super::rules::{Rule, rules};
use super::settings::Settings;
use super::tls::secret_for;
use crate::snapshot::{Invalid, Route};

/// What the resources of a cluster become.
#[derive(Clone, Debug, Default)]
pub struct Translation {
    /// One route per host, sorted by host.
    pub routes: Vec<Route>,
    /// What is wrong or lost to an older Ingress, sorted.
    pub invalid: Vec<Invalid>,
    /// The Ingresses of our class, sorted.
    pub ours: Vec<Key>,
    /// What Ingresses have lost to older ones, in words for their owners.
    pub lost: BTreeMap<Key, Vec<String>>,
}

/// Makes one document per host of all Ingresses of our class. It depends on nothing but what it is given.
///
/// The oldest Ingress wins a path. An Ingress that asks for what cannot be done, above all for accounts that cannot be
/// read, keeps its paths from all others and answers there with 503.
pub fn translate(cluster: &Cluster, certificates: &Certificates, settings: &Settings) -> Translation {
    let world = World {
        cluster,
        certificates,
        settings,
        backends: Backends::new(cluster, settings.external_names),
    };
    let mut joined = Joined::default();
    let ours = by_age(cluster, settings);
    for (key, ingress) in &ours {
        world.join(key, ingress, &mut joined);
    }
    let mut routes = Vec::new();
    for (host, claims) in joined.hosts {
        let (route, refused) = claims.into_route(&host, &settings.check);
        for refused in refused {
            joined.report.refused(Some(&host), &refused.owner, refused.reason);
        }
        if let Route::Held(held) = &route {
            joined.report.held(held);
        }
        routes.push(route);
    }
    let mut ours: Vec<Key> = ours.into_iter().map(|(key, _)| key.clone()).collect();
    ours.sort();
    Translation {
        routes,
        ours,
        lost: std::mem::take(&mut joined.report.lost),
        invalid: joined.report.into_sorted(),
    }
}

/// Everything that Ingresses are read with.
struct World<'a> {
    cluster: &'a Cluster,
    certificates: &'a Certificates,
    settings: &'a Settings,
    backends: Backends<'a>,
}

/// What has come of the Ingresses so far.
#[derive(Default)]
struct Joined {
    hosts: BTreeMap<HostName, Claims>,
    report: Report,
}

// === impl World ===

impl World<'_> {
    fn join(&self, key: &Key, ingress: &Ingress, joined: &mut Joined) {
        let owner = Owner::read(self, key, ingress);
        if let Err(reasons) = &owner.first {
            for reason in reasons {
                joined.report.refused(None, key, reason.clone());
            }
        }
        let (rules, wrong) = rules(ingress, self.settings);
        for wrong in wrong {
            joined.report.ingress(wrong.host, key, wrong.reason, false);
        }
        let hosts: BTreeSet<_> = rules.iter().map(|rule| rule.host.clone()).collect();
        for host in hosts {
            let claims = joined.hosts.entry(host.clone()).or_default();
            if claims.is_home(&key.namespace) {
                claims.redirect(owner.annotations.redirect);
            }
            let wants_certificate = self.certify(key, ingress, &host, claims, &mut joined.report);
            let of_host = rules.iter().filter(|rule| rule.host == host);
            self.join_host(&owner, wants_certificate, of_host, claims, &mut joined.report);
        }
    }

    fn join_host<'r>(
        &self,
        owner: &Owner<'_>,
        wants_certificate: bool,
        rules: impl Iterator<Item = &'r Rule<'r>>,
        claims: &mut Claims,
        report: &mut Report,
    ) {
        let mut apps = Apps::default();
        let mut name = None;
        for rule in rules {
            name = Some(&rule.host);
            let target = if rule.is_closed {
                closed()
            } else {
                self.target(owner, rule, &mut apps, report)
            };
            let claim = owner.claim(rule.place.clone(), wants_certificate, target);
            let lost = if rule.is_default {
                claims.claim_rest(claim)
            } else {
                claims.claim(claim)
            };
            if let Err(winner) = lost {
                report.lost(&rule.host, owner.key, &rule.place, winner);
            }
        }
        if let (Some(host), Some(servers)) = (name, apps.beside_root()) {
            let place = Place::below("/~");
            let target = owner.doors(&servers, host, report);
            if let Err(winner) = claims.claim(owner.claim(place.clone(), wants_certificate, target)) {
                report.lost(host, owner.key, &place, winner);
            }
        }
    }

    /// What is at a place. Everything that is wrong is reported, and answered with 503.
    fn target(&self, owner: &Owner<'_>, rule: &Rule<'_>, apps: &mut Apps, report: &mut Report) -> RawTarget {
        let found = match self.backends.find(&owner.key.namespace, rule.backend) {
            Ok(found) => found,
            Err(error) => {
                report.rule(rule, owner.key, &error);
                return closed();
            }
        };
        let Some(app) = &owner.annotations.doors else {
            return match self.backends.upstreams(&found) {
                Ok(mut upstreams) => {
                    if upstreams.len() > MAX_UPSTREAMS {
                        upstreams.truncate(MAX_UPSTREAMS);
                        report.crowded(rule, owner.key, MAX_UPSTREAMS);
                    }
                    owner.proxy(upstreams)
                }
                Err(error) => {
                    report.rule(rule, owner.key, &error);
                    closed()
                }
            };
        };
        let domain = &self.settings.cluster_domain;
        match super::doors::servers(app, &self.backends, &found, domain) {
            Ok(servers) => {
                let target = owner.doors(&servers, &rule.host, report);
                apps.add(rule, servers);
                target
            }
            Err(error) => {
                report.rule(rule, owner.key, &error);
                closed()
            }
        }
    }

    /// Gives a host the certificate that an Ingress names. Says whether it names one.
    fn certify(
        &self,
        key: &Key,
        ingress: &Ingress,
        host: &HostName,
        claims: &mut Claims,
        report: &mut Report,
    ) -> bool {
        let Some(Some(name)) = secret_for(ingress, host.as_str()) else {
            return false;
        };
        let secret = Key::new(&key.namespace, name);
        let certificate = self.certificates.get(&secret);
        let files = certificate.and_then(|certificate| certificate.files.as_ref());
        let problem = match certificate {
            Some(certificate) => certificate.problem.as_deref(),
            None => Some("there is no such Secret"),
        };
        if let Some(problem) = problem {
            report.secret(host, &secret, problem, files.is_some());
        }
        if !claims.is_home(&key.namespace) && !claims.is_certified() {
            let reason =
                "the host has no certificate, and only the namespace of its oldest Ingress can give it one";
            report.ingress(Some(host.to_string()), key, reason, false);
        } else if let Some(files) = files
            && let Err(other) = claims.certify(&secret, files)
        {
            let reason =
                format!("an older Ingress has the certificate of the host come from the Secret {other}");
            report.ingress(Some(host.to_string()), key, reason, true);
        }
        true
    }
}

/// The Doors apps that one Ingress has on one host.
#[derive(Default)]
struct Apps {
    servers: BTreeSet<Server>,
    at_root: Option<BTreeSet<Server>>,
}

// === impl Apps ===

impl Apps {
    fn add(&mut self, rule: &Rule<'_>, servers: Vec<Server>) {
        if rule.place.is_root() && !rule.is_default {
            self.at_root = Some(servers.iter().cloned().collect());
        }
        self.servers.extend(servers);
    }

    /// The servers that tokens must lead to from outside of the paths of their own; none if the root leads to them all.
    fn beside_root(self) -> Option<Vec<Server>> {
        let is_covered = self.servers.is_empty() || self.at_root.as_ref() == Some(&self.servers);
        (!is_covered).then(|| self.servers.into_iter().collect())
    }
}

/// Our Ingresses, the oldest first.
fn by_age<'a>(cluster: &'a Cluster, settings: &Settings) -> Vec<(&'a Key, &'a Ingress)> {
    let mut ours: Vec<_> = cluster
        .ingresses
        .iter()
        .filter(|(_, ingress)| is_ours(ingress, cluster, settings))
        .collect();
    // One without a time is as young as can be.
    let age = |ingress: &Ingress| {
        let created = ingress.metadata.creation_timestamp.as_ref();
        (created.is_none(), created.map(|time| time.0))
    };
    ours.sort_by(|(one, left), (other, right)| age(left).cmp(&age(right)).then_with(|| one.cmp(other)));
    ours
}

#[cfg(test)]
mod tests;
