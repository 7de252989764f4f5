//! The sources of routes that the configuration names: started, and stopped when it names them no more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use caddy_config as model;
use futures_util::future::BoxFuture;
use route_sources::{HostName, Kind, Publisher, Snapshot, Snapshots, channel};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::Reconciler;

/// What a source does until the token is cancelled.
pub(super) type Job = Box<dyn FnOnce(Publisher, CancellationToken) -> BoxFuture<'static, ()> + Send>;

/// A source that the configuration wants.
pub(super) struct Wanted {
    /// What it is told. If that is as before, it goes on as if nothing had happened.
    pub(super) settings: Settings,
    pub(super) job: Job,
}

/// What one source is told.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Settings {
    File(model::RouteFiles),
    Docker(model::DockerRoutes),
    Kubernetes(model::KubernetesRoutes),
    Store(model::RouteStore),
}

/// What the running configuration says of sources.
#[derive(Default)]
pub(super) struct Sources {
    plan: Mutex<Plan>,
    changed: Notify,
}

#[derive(Default)]
struct Plan {
    /// Those to be started, or `None` if they run.
    wanted: BTreeMap<Kind, (Settings, Option<Job>)>,
    /// The hosts that the configuration serves itself.
    configured: Vec<HostName>,
    https_port: u16,
}

/// A source that runs.
struct Running {
    settings: Settings,
    stop: CancellationToken,
}

// === impl Settings ===

impl Settings {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::File(_) => Kind::File,
            Self::Docker(_) => Kind::Docker,
            Self::Kubernetes(_) => Kind::Kubernetes,
            Self::Store(_) => Kind::Store,
        }
    }
}

// === impl Sources ===

impl Sources {
    /// Says what the configuration wants from now on. Gives the kinds that have not run so far.
    pub(super) fn want(&self, wanted: Vec<Wanted>, configured: Vec<HostName>, https_port: u16) -> BTreeSet<Kind> {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut plan.wanted);
        let mut new = BTreeSet::new();
        for Wanted { settings, job } in wanted {
            let kind = settings.kind();
            let job = match before.get(&kind) {
                Some((known, None)) if *known == settings => None,
                _ => Some(job),
            };
            if !before.contains_key(&kind) {
                new.insert(kind);
            }
            plan.wanted.insert(kind, (settings, job));
        }
        plan.configured = configured;
        plan.https_port = https_port;
        drop(plan);
        self.changed.notify_one();
        new
    }

    fn take(&self) -> Plan {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        Plan {
            wanted: plan
                .wanted
                .iter_mut()
                .map(|(kind, (settings, job))| (*kind, (settings.clone(), job.take())))
                .collect(),
            configured: plan.configured.clone(),
            https_port: plan.https_port,
        }
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

// === impl Reconciler ===

impl Reconciler {
    /// Runs the sources that the configuration names and those of the program, until `stop`.
    pub(crate) async fn run_sources(self: Arc<Self>, given: Vec<(Kind, Snapshots)>, stop: CancellationToken) {
        for (kind, snapshots) in given {
            self.tasks
                .spawn("route source", Arc::clone(&self).take_from(kind, snapshots, stop.clone()));
        }
        let mut running = BTreeMap::new();
        loop {
            let plan = self.sources.take();
            self.configure_hosts(plan.configured, plan.https_port).await;
            self.become_planned(&mut running, plan.wanted, &stop).await;
            if stop.run_until_cancelled(self.sources.changed.notified()).await.is_none() {
                return;
            }
        }
    }

    async fn become_planned(
        self: &Arc<Self>,
        running: &mut BTreeMap<Kind, Running>,
        wanted: BTreeMap<Kind, (Settings, Option<Job>)>,
        stop: &CancellationToken,
    ) {
        let is_gone = |kind: &Kind, runs: &Running| wanted.get(kind).is_none_or(|(settings, _)| *settings != runs.settings);
        let gone: Vec<Kind> = running
            .iter()
            .filter(|(kind, runs)| is_gone(kind, runs))
            .map(|(kind, _)| *kind)
            .collect();
        for kind in gone {
            if let Some(ended) = running.remove(&kind) {
                ended.stop.cancel();
            }
            // What another source of the kind says will take its place at once; without one its routes go.
            if !wanted.contains_key(&kind) {
                self.take_snapshot(kind, Arc::new(Snapshot::default())).await;
            }
        }
        for (kind, (settings, job)) in wanted {
            let Some(job) = job else { continue };
            let (publisher, snapshots) = channel();
            let own = stop.child_token();
            let ended = own.clone();
            let work = job(publisher, own.clone());
            self.tasks.spawn("route source", async move {
                work.await;
                if !ended.is_cancelled() {
                    error!(source = %kind, "the source of routes has ended; its routes stay as they are");
                }
            });
            let taking = Arc::clone(self).take_from(kind, snapshots, own.clone());
            self.tasks.spawn("routes", taking);
            running.insert(kind, Running { settings, stop: own });
        }
    }

    /// Takes what a source says until it ends.
    async fn take_from(self: Arc<Self>, kind: Kind, mut snapshots: Snapshots, stop: CancellationToken) {
        while let Some(Some(snapshot)) = stop.run_until_cancelled(snapshots.next()).await {
            self.take_snapshot(kind, snapshot).await;
        }
    }
}
