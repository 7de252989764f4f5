//! What is done with what is known, on a thread of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use route_store::HostName;

use super::cluster::{Cluster, Key};
use super::files::{Certificates, Files};
use super::settings::Settings;
use super::status::{Orders, orders, problem};
use super::tls::wanted_certificates;
use super::translate::translate;
use crate::snapshot::{Invalid, Route};

/// What is kept from one snapshot to the next. It is not shown, as it has Secrets.
pub(super) struct Work {
    settings: Arc<Settings>,
    files: Files,
    certificates: Certificates,
    wanted: BTreeMap<Key, Option<Secret>>,
    routes: BTreeMap<HostName, Route>,
}

/// What has come of a cluster.
pub(super) struct Done {
    pub(super) routes: Vec<Route>,
    pub(super) invalid: Vec<Invalid>,
    pub(super) orders: Orders,
}

// === impl Work ===

impl Work {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self {
            files: Files::new(&settings.tls_directory),
            settings,
            certificates: Certificates::new(),
            wanted: BTreeMap::new(),
            routes: BTreeMap::new(),
        }
    }

    /// Writes certificates, and makes routes. It blocks.
    pub(super) fn run(&mut self, cluster: &Cluster) -> Done {
        self.write_certificates(cluster);
        let translation = translate(cluster, &self.certificates, &self.settings);
        let mut invalid = translation.invalid;
        invalid.extend(problem(cluster, &self.settings));
        Done {
            routes: self.keep_same(translation.routes),
            invalid,
            orders: orders(cluster, &self.settings, &translation.ours, &translation.lost),
        }
    }

    /// Removes files that nobody uses any more. It blocks.
    pub(super) fn remove_unused(&mut self) {
        self.files.remove_unused();
    }

    /// What could not be written is tried again, all else only if it is other.
    fn write_certificates(&mut self, cluster: &Cluster) {
        let wanted = wanted_certificates(cluster, &self.settings);
        let mut all = self.certificates.values();
        if wanted != self.wanted || all.any(|certificate| certificate.problem.is_some()) {
            self.certificates = self.files.update(&wanted);
            self.wanted = wanted;
        }
    }

    /// What is as before stays the same value.
    fn keep_same(&mut self, routes: Vec<Route>) -> Vec<Route> {
        let kept: Vec<Route> = routes
            .into_iter()
            .map(|route| match (self.routes.get(route.host()), &route) {
                (Some(there @ Route::Document(old)), Route::Document(new)) if old == new => there.clone(),
                (Some(there @ Route::Held(old)), Route::Held(new)) if old == new => there.clone(),
                _ => route,
            })
            .collect();
        let by_host = kept.iter().map(|route| (route.host().clone(), route.clone()));
        self.routes = by_host.collect();
        kept
    }
}
