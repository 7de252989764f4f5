//! The sources of routes that the configuration names: started, and stopped when it names them no more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use caddy_config as model;
use futures_util::future::BoxFuture;
use route_sources::{HostName, Kind, Publisher, Snapshot, Snapshots, channel};
use tokio::sync::Notify;
use tokio::{task, time};
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::Reconciler;
use crate::config::{BuildErrors, https};

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

/// The hosts that the configuration serves itself, where those of sources are served, too.
pub(super) fn configured(config: &model::Config) -> Vec<HostName> {
    let servers = servers(config).flat_map(|server| https::hosts(&server.routes));
    let hosts: BTreeSet<HostName> = servers.filter_map(|host| host.parse().ok()).collect();
    hosts.into_iter().collect()
}

/// Where plain HTTP of hosts with certificates is redirected to.
pub(super) fn https_port(config: &model::Config) -> u16 {
    let secured = servers(config).find(|server| server.tls_connection_policies.is_some());
    let port = secured.and_then(|server| server.listen.first()?.port());
    let usual = config.apps.http.as_ref().and_then(|app| app.https_port);
    port.filter(|port| *port != 0).or(usual).unwrap_or(HTTPS)
}

fn servers(config: &model::Config) -> impl Iterator<Item = &model::Server> {
    let servers = config.apps.http.iter().flat_map(|app| app.servers.values());
    servers.filter(|server| server.route_sources)
}

const HTTPS: u16 = 443;

/// How often the files of certificates are looked at.
const KEY_CHECK: Duration = Duration::from_secs(10);

/// The sources that the configuration wants.
pub(super) fn wanted(_config: &model::Config, _reconciler: &Reconciler) -> Result<Vec<Wanted>, BuildErrors> {
    Ok(Vec::new())
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
    pub(super) fn want(
        &self,
        wanted: Vec<Wanted>,
        configured: Vec<HostName>,
        https_port: u16,
    ) -> BTreeSet<Kind> {
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
            self.tasks.spawn(
                "route source",
                Arc::clone(&self).take_from(kind, snapshots, stop.clone()),
            );
        }
        let mut running = BTreeMap::new();
        loop {
            let plan = self.sources.take();
            self.configure_hosts(plan.configured, plan.https_port).await;
            self.become_planned(&mut running, plan.wanted, &stop).await;
            if stop
                .run_until_cancelled(self.sources.changed.notified())
                .await
                .is_none()
            {
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
        let (mut kinds, mut jobs) = (BTreeMap::new(), Vec::new());
        for (kind, (settings, job)) in wanted {
            jobs.extend(job.map(|job| (kind, settings.clone(), job)));
            kinds.insert(kind, settings);
        }
        let gone: Vec<Kind> = running
            .iter()
            .filter(|(kind, runs)| kinds.get(kind) != Some(&runs.settings))
            .map(|(kind, _)| *kind)
            .collect();
        for kind in gone {
            if let Some(ended) = running.remove(&kind) {
                ended.stop.cancel();
            }
            // What another source of the kind says will take its place at once; without one its routes go.
            if !kinds.contains_key(&kind) {
                self.take_snapshot(kind, Arc::new(Snapshot::default())).await;
            }
        }
        for (kind, settings, job) in jobs {
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

    /// Reads the certificates of hosts again when their files change, until `stop`.
    pub(crate) async fn follow_host_keys(self: Arc<Self>, stop: CancellationToken) {
        while stop.run_until_cancelled(time::sleep(KEY_CHECK)).await.is_some() {
            let (view, certificates) = (self.views.current(), Arc::clone(&self.surroundings.certificates));
            // A panic is reported by itself, and the certificates stay as they are.
            let _followed = task::spawn_blocking(move || {
                let keys = view.hosts.sites().filter_map(|site| site.key());
                keys.for_each(|key| key.follow(&certificates));
            })
            .await;
        }
    }

    /// Takes what a source says until it ends.
    async fn take_from(self: Arc<Self>, kind: Kind, mut snapshots: Snapshots, stop: CancellationToken) {
        while let Some(Some(snapshot)) = stop.run_until_cancelled(snapshots.next()).await {
            self.take_snapshot(kind, snapshot).await;
        }
    }
}
