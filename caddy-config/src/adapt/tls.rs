//! `apps.tls`: the certificates of all sites, loaded from files or obtained.

use std::collections::{BTreeSet, HashSet};

mod consolidate;
mod draft;
mod issuers;

use self::{
    consolidate::consolidate,
    draft::{Draft, Policies},
};
use super::{
    address::{self, Ports, Scheme},
    cx::Cx,
    options::Options,
    server::{Pairing, Served, is_http_only},
    site::{self, Key},
};
use crate::model::{Automation, AutomationPolicy, Certificates, TlsApp};

/// `apps.tls`; `None` if nothing is to be said about certificates.
pub(super) fn app(pairings: &[Pairing<'_>], options: &Options, cx: &mut Cx<'_>) -> Option<TlsApp> {
    let mut certificates = Certificates::default();
    let mut policies = Policies::new(options);
    let mut forced: BTreeSet<&str> = BTreeSet::new();
    for served in encrypted_sites(pairings, options.ports(), cx) {
        policies.site(served, options, cx);
        for (tls, _) in &served.site.tls {
            certificates.load_files.extend(tls.files.iter().cloned());
            certificates.load_folders.extend(tls.folders.iter().cloned());
            if tls.force_automate {
                forced.extend(site::hosts(&served.keys));
            }
        }
    }
    let mut internal = Vec::new();
    let automatic = options.auto_https.as_ref();
    if automatic.is_none_or(|automatic| !automatic.disable && !automatic.disable_certificates) {
        let hosts = hosts_beside_every_host(pairings, options.ports());
        internal.extend(
            hosts
                .iter()
                .copied()
                .filter(|name| !address::is_certifiable(name)),
        );
        forced.extend(hosts);
    }
    policies
        .all
        .extend(Draft::internal(internal.into_iter().map(str::to_owned).collect()));
    let names = &options.tls.automate_names;
    policies.names(names, options);
    forced.extend(names.iter().map(String::as_str));
    certificates.automate = forced.into_iter().map(str::to_owned).collect();
    issuers::fill_in(&mut policies.all, options);
    let policies = consolidate(policies.all);
    report_repeated_subjects(&policies, pairings, cx);
    let app = TlsApp {
        certificates: Some(certificates).filter(|certificates| *certificates != Certificates::default()),
        automation: automation(policies, options),
        disable_ocsp_stapling: options.tls.no_ocsp_stapling,
        disable_storage_check: options.tls.no_storage_check,
        disable_storage_clean: options.tls.no_storage_clean,
    };
    Some(app).filter(|app| *app != TlsApp::default())
}

fn automation(policies: Vec<Draft>, options: &Options) -> Option<Automation> {
    let automation = Automation {
        policies: policies.into_iter().map(AutomationPolicy::from).collect(),
        on_demand: options.tls.on_demand.clone(),
        ocsp_interval: options.tls.ocsp_interval,
        renew_interval: options.tls.renew_interval,
        storage_clean_interval: options.tls.storage_clean_interval,
    };
    Some(automation).filter(|automation| *automation != Automation::default())
}

/// The sites that are not served by plain HTTP alone.
fn encrypted_sites<'p, 's>(
    pairings: &'p [Pairing<'s>],
    ports: Ports,
    cx: &mut Cx<'_>,
) -> Vec<&'p Served<'s>> {
    let mut sites = Vec::new();
    for pairing in pairings {
        if is_http_only(pairing, ports) {
            warn_of_useless_tls(&pairing.sites, cx);
            continue;
        }
        for served in &pairing.sites {
            if served.keys.iter().all(|key| key.address.scheme == Scheme::Http) {
                warn_of_useless_tls(std::slice::from_ref(served), cx);
            } else {
                sites.push(served);
            }
        }
    }
    sites
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
