//! Kubernetes, with an API server of our own.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop where it finds a fault, and the bodies of tests are small"
)]

mod api;
mod certificates;
#[cfg(feature = "file")]
mod examples;
mod failures;
mod follow;
mod start;
mod status;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use route_sources::kubernetes::{Access, KubernetesSource, Settings};
use route_sources::{HostDocument, Route, Snapshot, Snapshots, channel};
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use self::api::{Api, TOKEN};

/// The kinds that are watched.
const KINDS: [&str; 5] = [
    "ingressclasses",
    "ingresses",
    "services",
    "endpointslices",
    "secrets",
];

/// Waits for something that must happen, but not for ever.
async fn bounded<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(Duration::from_secs(30), future).await {
        Ok(done) => done,
        Err(_) => panic!("never: {what}"),
    }
}

/// A source that runs until it is dropped.
struct Running {
    snapshots: Snapshots,
    tasks: TaskTracker,
    stop: DropGuard,
    _directory: Option<tempfile::TempDir>,
}

fn settings(api: &Api) -> Settings {
    let access = Access::Url {
        url: format!("http://{}", api.address),
        token: Some(TOKEN.to_owned()),
        ca: None,
    };
    Settings {
        settle: Duration::from_millis(1),
        retry: Duration::from_millis(5),
        patience: Duration::from_secs(600),
        ..Settings::new(access, "", "one")
    }
}

fn run(mut settings: Settings) -> Running {
    let mut directory = None;
    if settings.tls_directory.as_os_str().is_empty() {
        let made = tempfile::tempdir().unwrap();
        settings.tls_directory = made.path().join("certificates");
        directory = Some(made);
    }
    let (publisher, snapshots) = channel();
    run_source(
        KubernetesSource::new(settings, publisher, now),
        snapshots,
        directory,
    )
}

fn run_source(
    source: KubernetesSource,
    snapshots: Snapshots,
    directory: Option<tempfile::TempDir>,
) -> Running {
    let stop = CancellationToken::new();
    let tasks = TaskTracker::new();
    tasks.spawn(source.run(stop.clone()));
    tasks.close();
    Running {
        snapshots,
        tasks,
        stop: stop.drop_guard(),
        _directory: directory,
    }
}

/// A clock that stands: nothing is decided by it.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

impl Running {
    /// The first snapshot from now on that is as it should be.
    async fn until(&mut self, what: &str, mut is_so: impl FnMut(&Snapshot) -> bool) -> Arc<Snapshot> {
        let wait = async {
            loop {
                let snapshot = self.snapshots.next().await.expect("the source runs");
                if is_so(&snapshot) {
                    return snapshot;
                }
            }
        };
        bounded(what, wait).await
    }

    /// The first snapshot that is complete.
    async fn complete(&mut self) -> Arc<Snapshot> {
        self.until("a complete snapshot", |snapshot| snapshot.stale.is_none())
            .await
    }

    /// The hosts of that.
    async fn served(&mut self) -> Vec<String> {
        hosts(&*self.complete().await)
    }

    async fn stop(self) {
        self.stop.disarm().cancel();
        bounded("the source ends", self.tasks.wait()).await;
    }
}

/// An Ingress with one host, which is its name and `.test`, at the Service `web`.
fn ingress(name: &str) -> Value {
    let backend = json!({ "service": { "name": "web", "port": { "number": 80 } } });
    let paths = json!([{ "path": "/", "pathType": "Prefix", "backend": backend }]);
    json!({
        "metadata": { "namespace": "shop", "name": name, "creationTimestamp": "2026-01-01T00:00:00Z" },
        "spec": {
            "ingressClassName": "doorway",
            "rules": [{ "host": format!("{name}.test"), "http": { "paths": paths } }],
        },
    })
}

fn service() -> Value {
    json!({
        "metadata": { "namespace": "shop", "name": "web" },
        "spec": { "ports": [{ "port": 80, "targetPort": 8080 }] },
    })
}

fn slice(pods: &[&str]) -> Value {
    let endpoints: Vec<_> = pods.iter().map(|pod| json!({ "addresses": [pod] })).collect();
    json!({
        "metadata": {
            "namespace": "shop", "name": "web-1", "labels": { "kubernetes.io/service-name": "web" },
        },
        "addressType": "IPv4", "endpoints": endpoints, "ports": [{ "name": "", "port": 8080 }],
    })
}

/// A server with a Service, a pod and an Ingress `a`.
async fn api() -> Api {
    let api = Api::start().await;
    api.put("services", service());
    api.put("endpointslices", slice(&["10.0.0.1"]));
    api.put("ingresses", ingress("a"));
    api
}

fn document(snapshot: &Snapshot, host: &str) -> Option<Arc<HostDocument>> {
    snapshot.routes.iter().find_map(|route| match route {
        Route::Document(document) if document.host().as_str() == host => Some(Arc::clone(document)),
        _ => None,
    })
}

fn addresses(snapshot: &Snapshot, host: &str) -> Vec<String> {
    let document = document(snapshot, host);
    let upstreams = document.and_then(|document| document.raw().target.upstreams.clone());
    let upstreams = upstreams.into_iter().flatten();
    upstreams.map(|upstream| upstream.address).collect()
}

fn hosts(snapshot: &Snapshot) -> Vec<String> {
    snapshot
        .routes
        .iter()
        .map(|route| route.host().to_string())
        .collect()
}
