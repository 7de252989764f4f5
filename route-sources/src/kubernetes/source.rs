//! The source: watches become snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, SelectAll};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use route_store::{HostName, Store};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::client::client;
use super::cluster::Key;
use super::files::{Certificates, Files};
use super::lease::Leases;
use super::settings::Settings;
use super::status::{Orders, StatusWriter, orders};
use super::tls::wanted_certificates;
use super::translate::translate;
use super::watch::{Known, Told, parts, watches};
use crate::snapshot::{Publisher, Route, Snapshot};

/// Routes of the Ingresses of a cluster.
#[derive(Debug)]
pub struct KubernetesSource {
    settings: Settings,
    publisher: Publisher,
    clock: fn() -> SystemTime,
    store: Option<Arc<dyn Store>>,
}

// === impl KubernetesSource ===

impl KubernetesSource {
    /// A source; nothing is read yet. The clock dates the Lease object of the cluster, for people: nothing is decided by it.
    pub fn new(settings: Settings, publisher: Publisher, clock: fn() -> SystemTime) -> Self {
        Self {
            settings,
            publisher,
            clock,
            store: None,
        }
    }

    /// Lets a lease of the store, `kubernetes-status`, decide which replica writes status; else a Lease object of the
    /// cluster does.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Publishes snapshots until it is stopped. It needs the tokio runtime's clock, network and blocking threads.
    ///
    /// The first snapshot with routes comes when every list is in. If the API is away before that, or slower than the
    /// settings' patience, an empty one that says so comes first, so that nobody waits for ever; an outage after it keeps
    /// all routes.
    pub async fn run(self, stop: CancellationToken) {
        let Some(client) = self.connect(&stop).await else {
            return;
        };
        let (sender, receiver) = watch::channel(Orders::default());
        let leases = Leases::new(self.store, &client, &self.settings, self.clock);
        let writer = StatusWriter::new(client.clone(), leases, receiver, &self.settings);
        let watching = Watching {
            known: Known::new(parts(&self.settings.namespaces)),
            files: Some(Files::new(&self.settings.tls_directory)),
            certificates: Certificates::new(),
            wanted: BTreeMap::new(),
            routes: BTreeMap::new(),
            last: None,
            orders: sender,
            publisher: self.publisher,
            settings: self.settings,
            client,
        };
        tokio::join!(Box::pin(watching.run(stop.clone())), Box::pin(writer.run(stop)));
    }

    /// A client, as soon as there is what it is made of.
    async fn connect(&self, stop: &CancellationToken) -> Option<Client> {
        loop {
            match client(&self.settings.access).await {
                Ok(client) => return Some(client),
                Err(error) => {
                    warn!(%error, "the API of Kubernetes cannot be used");
                    self.publisher.publish(Snapshot {
                        stale: Some(error.to_string()),
                        ..Snapshot::default()
                    });
                }
            }
            tokio::select! {
                () = stop.cancelled() => return None,
                () = sleep(self.settings.retry.saturating_mul(10)) => {}
            }
        }
    }
}

/// The watches at work.
struct Watching {
    settings: Settings,
    client: Client,
    publisher: Publisher,
    orders: watch::Sender<Orders>,
    known: Known,
    /// Absent while a thread has them.
    files: Option<Files>,
    certificates: Certificates,
    wanted: BTreeMap<Key, Option<Secret>>,
    routes: BTreeMap<HostName, Route>,
    last: Option<Snapshot>,
}

// === impl Watching ===

impl Watching {
    async fn run(mut self, stop: CancellationToken) {
        let mut told = self.watch();
        let mut resync = Instant::now() + self.settings.resync;
        // Until the first snapshot, the deadline is that of patience.
        let mut due = Some(Instant::now() + self.settings.patience);
        loop {
            let deadline = due.unwrap_or(resync).min(resync);
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = sleep_until(deadline) => {
                    if due.is_some_and(|due| due <= deadline) {
                        due = None;
                        self.publish().await;
                    } else {
                        told = self.watch();
                        resync = Instant::now() + self.settings.resync;
                    }
                }
                Some(heard) = told.next() => {
                    if self.hear(heard) {
                        let soon = Instant::now() + self.settings.settle;
                        due = Some(due.map_or(soon, |due| due.min(soon)));
                    }
                }
            }
        }
    }

    fn watch(&self) -> SelectAll<BoxStream<'static, Told>> {
        watches(&self.client, self.known.parts(), self.settings.retry)
    }

    /// Whether a snapshot is due. Before all lists are in, only a failure is worth one.
    fn hear(&mut self, told: Told) -> bool {
        let failed = told.what.is_err();
        if let Err(failure) = &told.what
            && !failure.is_usual()
        {
            warn!(reason = failure.reason, "a watch of Kubernetes has failed");
        }
        self.known.hear(told) && (failed || self.known.is_complete())
    }

    async fn publish(&mut self) {
        let mut invalid = self.known.missing_rights();
        let mut stale = self.known.stale();
        if !self.known.is_complete() {
            stale = stale.or_else(|| Some("the API of Kubernetes has not listed everything yet".to_owned()));
            self.publish_changed(Vec::new(), invalid, stale);
            return;
        }
        self.write_certificates().await;
        let translation = translate(&self.known.cluster, &self.certificates, &self.settings);
        invalid.extend(translation.invalid);
        invalid.extend(super::status::problem(&self.known.cluster, &self.settings));
        let routes = self.keep_same(translation.routes);
        self.publish_changed(routes, invalid, stale);
        let orders = orders(
            &self.known.cluster,
            &self.settings,
            &translation.ours,
            &translation.lost,
        );
        self.orders.send_if_modified(|there| {
            let is_other = *there != orders;
            *there = orders;
            is_other
        });
        self.remove_unused().await;
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
        self.routes = kept
            .iter()
            .map(|route| (route.host().clone(), route.clone()))
            .collect();
        kept
    }

    /// A snapshot that says the same as the last one is nobody's business.
    fn publish_changed(&mut self, routes: Vec<Route>, invalid: Vec<crate::Invalid>, stale: Option<String>) {
        if let Some(last) = &self.last {
            let same_routes = last.routes.len() == routes.len()
                && last
                    .routes
                    .iter()
                    .zip(&routes)
                    .all(|(one, other)| one.is_same(other));
            if same_routes && last.invalid == invalid && last.stale == stale {
                return;
            }
        }
        info!(
            routes = routes.len(),
            invalid = invalid.len(),
            stale,
            "routes of Kubernetes"
        );
        let snapshot = Snapshot {
            routes,
            invalid,
            revision: None,
            stale,
        };
        self.last = Some(snapshot.clone());
        self.publisher.publish(snapshot);
    }

    async fn write_certificates(&mut self) {
        let wanted = wanted_certificates(&self.known.cluster, &self.settings);
        let is_fine = self
            .certificates
            .values()
            .all(|certificate| certificate.problem.is_none());
        if is_fine && wanted == self.wanted {
            return;
        }
        let Some(mut files) = self.files.take() else {
            return;
        };
        let asked = wanted.clone();
        let written = spawn_blocking(move || {
            let certificates = files.update(&asked);
            (files, certificates)
        });
        if let Ok((files, certificates)) = written.await {
            self.files = Some(files);
            self.certificates = certificates;
            self.wanted = wanted;
        } else {
            self.files = Some(Files::new(&self.settings.tls_directory));
        }
    }

    async fn remove_unused(&mut self) {
        let Some(mut files) = self.files.take() else {
            return;
        };
        let removed = spawn_blocking(move || {
            files.remove_unused();
            files
        });
        let files = removed.await.ok();
        self.files = Some(files.unwrap_or_else(|| Files::new(&self.settings.tls_directory)));
    }
}
