//! The source: watches become snapshots.

use std::sync::Arc;
use std::time::SystemTime;

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, SelectAll};
use kube::Client;
use route_store::Store;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::client::client;
use super::lease::Leases;
use super::settings::Settings;
use super::status::{Orders, StatusWriter};
use super::watch::{Known, Told, parts, watches};
use super::work::Work;
use crate::snapshot::{Invalid, Publisher, Route, Snapshot};

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
        let settings = Arc::new(self.settings);
        let watching = Watching {
            known: Known::new(parts(&settings.namespaces)),
            work: Some(Work::new(Arc::clone(&settings))),
            last: None,
            orders: sender,
            publisher: self.publisher,
            settings,
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
    settings: Arc<Settings>,
    client: Client,
    publisher: Publisher,
    orders: watch::Sender<Orders>,
    known: Known,
    /// Absent while a thread has it.
    work: Option<Work>,
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
        let failure = told.what.as_ref().err().cloned();
        let is_news = self.known.hear(told);
        if let Some(failure) = &failure
            && is_news
        {
            warn!(reason = failure.reason, "a watch of Kubernetes has failed");
        }
        is_news && (failure.is_some() || self.known.is_complete())
    }

    async fn publish(&mut self) {
        let mut invalid = self.known.missing_rights();
        let mut stale = self.known.stale();
        if !self.known.is_complete() {
            stale = stale.or_else(|| Some("the API of Kubernetes has not listed everything yet".to_owned()));
            self.publish_changed(Vec::new(), invalid, stale);
            return;
        }
        let cluster = Arc::clone(&self.known.cluster);
        let Some(done) = self.on_a_thread(move |work| work.run(&cluster)).await else {
            return;
        };
        invalid.extend(done.invalid);
        self.publish_changed(done.routes, invalid, stale);
        self.orders.send_if_modified(|there| {
            let is_other = *there != done.orders;
            *there = done.orders;
            is_other
        });
        self.on_a_thread(Work::remove_unused).await;
    }

    /// Works where nobody waits for the thread: clusters are large, and disks slow.
    async fn on_a_thread<T: Send + 'static>(
        &mut self,
        job: impl FnOnce(&mut Work) -> T + Send + 'static,
    ) -> Option<T> {
        let work = self.work.take();
        let mut work = work.unwrap_or_else(|| Work::new(Arc::clone(&self.settings)));
        let done = spawn_blocking(move || {
            let result = job(&mut work);
            (work, result)
        });
        let (work, result) = done.await.ok()?;
        self.work = Some(work);
        Some(result)
    }

    /// A snapshot that says the same as the last one is nobody's business.
    fn publish_changed(&mut self, routes: Vec<Route>, invalid: Vec<Invalid>, stale: Option<String>) {
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
}
