//! The sources of routes that the configuration names: started, and stopped when it names them no more.

mod start;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use caddy_config as model;
use route_sources::docker::Remembered;
use route_sources::{HostName, Kind, Snapshot, Snapshots, StoreHandle, channel};
use route_store::Store;
use tokio::sync::Notify;
use tokio::{task, time};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use self::view::Overview;
use super::{Reconciler, SourcesApi, Tokens};
use crate::config::{BuildError, BuildErrors, https};
use crate::tasks::Drained;

/// What one source is told. As long as that is as before, it goes on as if nothing had happened.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Settings {
    File(model::RouteFiles),
    Docker(model::DockerRoutes),
    Kubernetes(model::KubernetesRoutes),
    Store(model::RouteStore),
}

/// What the running configuration says of sources.
#[derive(Debug, Default)]
pub(super) struct Sources {
    plan: Mutex<Plan>,
    changed: Notify,
    /// What reaches those that run.
    handles: Mutex<Handles>,
}

/// What a configuration says of sources.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    wanted: BTreeMap<Kind, Settings>,
    tokens: Arc<Tokens>,
    /// The hosts that the configuration serves itself.
    configured: Vec<HostName>,
    /// Where plain HTTP of hosts with certificates is redirected to.
    https_port: u16,
}

#[derive(Debug, Default)]
struct Handles {
    docker: Option<Remembered>,
    store: Option<StoreHandle>,
}

/// What runs.
#[derive(Default)]
struct Running {
    sources: BTreeMap<Kind, (Settings, CancellationToken)>,
    /// The store, for as long as it is the same one.
    store: Option<(model::RouteStore, Arc<dyn Store>)>,
}

const HTTPS: u16 = 443;

/// How often the files of certificates are looked at.
const KEY_CHECK: Duration = Duration::from_secs(10);

// === impl Plan ===

impl Plan {
    /// What `config` says.
    ///
    /// # Errors
    ///
    /// Each variable of the environment that was to hold a token.
    pub(super) fn of(config: &model::Config, reconciler: &Reconciler) -> Result<Self, BuildErrors> {
        let app = config.apps.http.as_ref();
        let said = app.and_then(|app| app.route_sources.as_ref());
        let tokens = said.map_or(&[][..], |said| &said.tokens);
        let tokens = Tokens::new(tokens, &reconciler.surroundings.environment).map_err(|wrong| {
            let errors = wrong.into_iter().map(|reason| BuildError::Document { reason });
            BuildErrors(errors.collect())
        })?;
        if let Some(store) = said.and_then(|said| said.store.as_ref()) {
            let environment = &reconciler.surroundings.environment;
            start::url(store, environment)
                .map_err(|reason| BuildErrors(vec![BuildError::Document { reason }]))?;
        }
        Ok(Self {
            wanted: said.into_iter().flat_map(Settings::all).collect(),
            tokens: Arc::new(tokens),
            configured: configured(config),
            https_port: https_port(config),
        })
    }
}

/// The hosts that the configuration serves itself, where those of sources are served, too.
fn configured(config: &model::Config) -> Vec<HostName> {
    let servers = servers(config).flat_map(|server| https::hosts(&server.routes));
    let hosts: BTreeSet<HostName> = servers.filter_map(|host| host.parse().ok()).collect();
    hosts.into_iter().collect()
}

fn https_port(config: &model::Config) -> u16 {
    let secured = servers(config).find(|server| server.tls_connection_policies.is_some());
    let port = secured.and_then(|server| server.listen.first()?.port());
    let usual = config.apps.http.as_ref().and_then(|app| app.https_port);
    port.filter(|port| *port != 0).or(usual).unwrap_or(HTTPS)
}

fn servers(config: &model::Config) -> impl Iterator<Item = &model::Server> {
    let servers = config.apps.http.iter().flat_map(|app| app.servers.values());
    servers.filter(|server| server.route_sources)
}

// === impl Settings ===

impl Settings {
    /// Those of each source.
    fn all(said: &model::RouteSources) -> impl Iterator<Item = (Kind, Self)> {
        let all = [
            (Kind::File, said.file.clone().map(Self::File)),
            (Kind::Docker, said.docker.clone().map(Self::Docker)),
            (Kind::Kubernetes, said.kubernetes.clone().map(Self::Kubernetes)),
            (Kind::Store, said.store.clone().map(Self::Store)),
        ];
        all.into_iter()
            .filter_map(|(kind, settings)| Some((kind, settings?)))
    }
}

// === impl Sources ===

impl Sources {
    /// Says what the configuration wants from now on. Gives the kinds that have not run so far, and of those that were
    /// `awaited` already those that are still wanted.
    pub(super) fn want(&self, plan: Plan, awaited: &BTreeSet<Kind>) -> BTreeSet<Kind> {
        let mut last = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let kinds = plan.wanted.keys().copied();
        let is_silent = |kind: &Kind| awaited.contains(kind) || !last.wanted.contains_key(kind);
        let silent = kinds.filter(is_silent).collect();
        *last = plan;
        drop(last);
        self.changed.notify_one();
        silent
    }

    fn plan(&self) -> Plan {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn handles(&self) -> std::sync::MutexGuard<'_, Handles> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Reconciler ===

impl Reconciler {
    /// Runs the sources that the configuration names and those of the program, until `stop`.
    pub(crate) async fn run_sources(self: Arc<Self>, given: Vec<(Kind, Snapshots)>, stop: CancellationToken) {
        let are_given = !given.is_empty();
        for (kind, snapshots) in given {
            let taking = Arc::clone(&self).take_from(kind, snapshots, stop.clone());
            self.tasks.spawn("route source", taking);
        }
        let mut running = Running::default();
        loop {
            let plan = self.sources.plan();
            self.configure_hosts(plan.configured.clone(), plan.https_port)
                .await;
            self.become_planned(&mut running, &plan, &stop).await;
            let is_any = are_given || !plan.wanted.is_empty();
            self.set_sources(is_any.then(|| SourcesApi {
                store: running.store.as_ref().map(|(_, store)| Arc::clone(store)),
                view: Arc::new(Overview::new(&self)),
                tokens: plan.tokens,
            }));
            let changed = self.sources.changed.notified();
            if stop.run_until_cancelled(changed).await.is_none() {
                return;
            }
        }
    }

    async fn become_planned(self: &Arc<Self>, running: &mut Running, plan: &Plan, stop: &CancellationToken) {
        let is_gone =
            |(kind, (settings, _)): &(&Kind, &(Settings, _))| plan.wanted.get(kind) != Some(settings);
        let gone: Vec<Kind> = running
            .sources
            .iter()
            .filter(is_gone)
            .map(|(kind, _)| *kind)
            .collect();
        for kind in gone {
            if let Some((_, ended)) = running.sources.remove(&kind) {
                ended.cancel();
            }
            // What another source of the kind says will take its place at once; without one its routes go.
            if !plan.wanted.contains_key(&kind) {
                self.forget_source(kind).await;
            }
        }
        match plan.wanted.get(&Kind::Store) {
            Some(Settings::Store(said)) => self.open_store(running, said),
            _ => running.store = None,
        }
        let store = running.store.as_ref().map(|(_, store)| store);
        for (kind, settings) in &plan.wanted {
            if running.sources.contains_key(kind) {
                self.keep_source(*kind).await;
            } else {
                let own = stop.child_token();
                self.start(*kind, settings, store, &own);
                running.sources.insert(*kind, (settings.clone(), own));
            }
        }
    }

    /// Opens the store unless it is open already.
    fn open_store(&self, running: &mut Running, said: &model::RouteStore) {
        let is_same = |(open, _): &(model::RouteStore, _)| {
            (open.kind, &open.url, &open.prefix, open.history)
                == (said.kind, &said.url, &said.prefix, said.history)
        };
        if running.store.as_ref().is_some_and(is_same) {
            return;
        }
        running.store = match start::open(said, &self.surroundings.environment) {
            Ok(store) => Some((said.clone(), store)),
            Err(reason) => {
                error!(%reason, "the store of routes cannot be opened");
                None
            }
        };
    }

    fn start(
        self: &Arc<Self>,
        kind: Kind,
        settings: &Settings,
        store: Option<&Arc<dyn Store>>,
        stop: &CancellationToken,
    ) {
        let (publisher, snapshots) = channel();
        let taking = Arc::clone(self).take_from(kind, snapshots, stop.clone());
        self.tasks.spawn("routes", taking);
        let work = match self.source(settings, store, publisher.clone(), stop.clone()) {
            Ok(work) => work,
            Err(reason) => {
                error!(source = %kind, reason, "the source of routes cannot start");
                // Requests do not wait for it.
                publisher.publish(Snapshot {
                    stale: Some(reason),
                    ..Snapshot::default()
                });
                return;
            }
        };
        let stop = stop.clone();
        self.tasks.spawn("route source", async move {
            work.await;
            if !stop.is_cancelled() {
                error!(source = %kind, "the source of routes has ended; its routes stay as they are");
            }
        });
    }

    /// Waits for sources that were told to stop, but not longer than `limit`.
    pub(crate) async fn end_sources(&self, limit: Duration) {
        if let Drained::TimedOut { left } = self.tasks.drain(limit).await {
            warn!(left, "sources of routes do not end in time");
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
            self.take_snapshot(kind, snapshot, &stop).await;
        }
    }
}
