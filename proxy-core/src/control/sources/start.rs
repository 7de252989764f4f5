//! From what the configuration says of a source to one that runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use caddy_config as model;
use futures_util::future::BoxFuture;
use route_sources::docker::{DockerMode, DockerSettings, DockerSource, Endpoint, TlsFiles};
use route_sources::file::{FileSettings, FileSource, WhenMissing};
use route_sources::kubernetes::{self, Access, Check, KubernetesSource};
use route_sources::store::{self as follow, DataLoss, Newer, replica_id};
use route_sources::{Publisher, StoreSource};
use route_store::{DEFAULT_HISTORY, Store, StoreKind, StoreSettings};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::{Reconciler, Settings};
use crate::clock;
use crate::environment::Environment;
use crate::facts;

/// What the names in a store begin with, unless the configuration says something else.
const PREFIX: &str = "doorway";

/// Where it is kept below the data directory what was applied last, and certificates of a cluster.
const KEPT: &str = "routes";
const CLUSTER_KEYS: &str = "kubernetes";

/// A source at work.
type Work = BoxFuture<'static, ()>;

/// Opens the store that the configuration names.
pub(super) fn open(said: &model::RouteStore, environment: &Environment) -> Result<Arc<dyn Store>, String> {
    let settings = StoreSettings {
        kind: kind(said.kind),
        url: url(said, environment)?,
        prefix: said.prefix.clone().unwrap_or_else(|| PREFIX.to_owned()),
        history: said.history.map_or(DEFAULT_HISTORY, |history| history as usize),
        ..StoreSettings::default()
    };
    route_store::open(&settings, clock::wall()).map_err(|error| error.to_string())
}

fn kind(kind: model::StoreKind) -> StoreKind {
    match kind {
        model::StoreKind::Redis => StoreKind::Redis,
        model::StoreKind::Sqlite => StoreKind::Sqlite,
        model::StoreKind::Postgres => StoreKind::Postgres,
        _ => StoreKind::Memory,
    }
}

/// Where the store is, perhaps with a password.
pub(super) fn url(said: &model::RouteStore, environment: &Environment) -> Result<String, String> {
    let Some(url) = &said.url else {
        return Ok(String::new());
    };
    match url.variable() {
        None => Ok(url.expose().to_owned()),
        Some(name) => environment.get(name).ok_or_else(|| {
            format!("the variable {name} of the environment is not set, which says where the store is")
        }),
    }
}

// === impl Reconciler ===

impl Reconciler {
    /// A source with these settings, or why there is none.
    pub(super) fn source(
        self: &Arc<Self>,
        settings: &Settings,
        store: Option<&Arc<dyn Store>>,
        publisher: Publisher,
        stop: CancellationToken,
    ) -> Result<Work, String> {
        Ok(match settings {
            Settings::File(said) => {
                let source = FileSource::new(self.files(said), publisher);
                Box::pin(source.run(stop))
            }
            Settings::Docker(said) => {
                let source = DockerSource::new(docker(said)?, publisher).with_jitter(chance);
                self.sources.handles().docker = Some(source.remembered());
                Box::pin(source.run(stop))
            }
            Settings::Kubernetes(said) => {
                let mut source = KubernetesSource::new(self.cluster(said)?, publisher, clock::wall);
                if let Some(store) = store {
                    source = source.with_store(Arc::clone(store));
                }
                Box::pin(source.run(stop))
            }
            Settings::Store(said) => {
                let store = store.ok_or("the store cannot be opened")?;
                let settings = self.following(said)?;
                let source = StoreSource::new(Arc::clone(store), settings, publisher, self.applied());
                self.sources.handles().store = Some(source.handle());
                Box::pin(source.run(stop))
            }
        })
    }

    fn files(&self, said: &model::RouteFiles) -> FileSettings {
        let environment = self.surroundings.environment.clone();
        let usual = FileSettings::default();
        FileSettings {
            paths: said.paths.clone(),
            poll: said.poll.unwrap_or(usual.poll),
            when_missing: match said.when_missing {
                Some(model::WhenMissing::Clear) => WhenMissing::Clear,
                _ => WhenMissing::Keep,
            },
            env: Arc::new(move |name| environment.get(name)),
            ..usual
        }
    }

    fn cluster(self: &Arc<Self>, said: &model::KubernetesRoutes) -> Result<kubernetes::Settings, String> {
        let directory = said.tls_directory.clone().or_else(|| self.data(CLUSTER_KEYS));
        let directory = directory.ok_or(
            "there is no directory for certificates of the cluster; name one with `tls_directory`, or give a data directory",
        )?;
        let access = match &said.kubeconfig {
            Some(path) => Access::Kubeconfig {
                path: path.clone(),
                context: None,
            },
            None => Access::Automatic,
        };
        let mut settings = kubernetes::Settings::new(access, directory, new_id()?);
        if let Some(class) = &said.class {
            settings.class.clone_from(class);
        }
        settings.namespaces.clone_from(&said.namespaces);
        settings.publish_service.clone_from(&said.publish_service);
        let this = Arc::downgrade(self);
        settings.check = Check::new(move |document| match this.upgrade() {
            Some(this) => this.could_serve(document),
            None => Ok(()),
        });
        Ok(settings)
    }

    fn following(&self, said: &model::RouteStore) -> Result<follow::Settings, String> {
        let usual = follow::Settings::default();
        let snapshot_path = match &said.snapshot {
            Some(model::RouteSnapshot::Off) => None,
            Some(model::RouteSnapshot::File(path)) => Some(path.clone()),
            // What the memory of a process held is gone with it.
            _ if said.kind == model::StoreKind::Memory => None,
            _ => self.data(KEPT).map(|directory| directory.join("applied")),
        };
        Ok(follow::Settings {
            sync_interval: said.sync_interval.unwrap_or(usual.sync_interval),
            snapshot_path,
            identity: identity(said, &url(said, &self.surroundings.environment)?),
            newer: match said.newer {
                Some(model::NewerDocuments::Unavailable) => Newer::Unavailable,
                _ => Newer::Keep,
            },
            data_loss: match said.data_loss {
                Some(model::DataLoss::Restore) => DataLoss::Restore,
                Some(model::DataLoss::Accept) => DataLoss::Accept,
                _ => DataLoss::Keep,
            },
            id: said.replica_id.clone().map_or_else(new_id, Ok)?,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            hostname: facts::host_name(),
            now: seconds,
            ..usual
        })
    }

    /// A place below the data directory.
    fn data(&self, name: &str) -> Option<PathBuf> {
        let data: Option<&Path> = self.surroundings.data.as_deref();
        data.map(|data| data.join(name))
    }
}

fn docker(said: &model::DockerRoutes) -> Result<DockerSettings, String> {
    let usual = DockerSettings::default();
    let endpoint = match (&said.endpoint, &said.tls) {
        (None, _) => Ok(usual.endpoint),
        (Some(address), None) => address.parse(),
        (Some(address), Some(files)) => Endpoint::tls(
            address,
            TlsFiles {
                certificate: files.certificate.clone(),
                key: files.key.clone(),
                authority: files.ca.clone(),
            },
        ),
    };
    Ok(DockerSettings {
        endpoint: endpoint.map_err(|error| error.to_string())?,
        mode: match said.mode {
            Some(model::DockerMode::Swarm) => DockerMode::Swarm,
            _ => DockerMode::Container,
        },
        interval: said.interval.unwrap_or(usual.interval),
        networks: said.networks.clone(),
        ..usual
    })
}

/// Tells stores apart, without saying where they are: what was kept of one is not served for another. Another password leads
/// to the same store.
fn identity(said: &model::RouteStore, url: &str) -> String {
    let url = without_user(url);
    let text = format!("{} {url} {}", said.kind, said.prefix.as_deref().unwrap_or(PREFIX));
    let digest = Sha256::digest(text);
    let hex = digest.iter().map(|byte| format!("{byte:02x}"));
    hex.collect()
}

/// A URL without what is before the `@` of its authority.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    format!("{scheme}://{place}{path}")
}

fn new_id() -> Result<String, String> {
    replica_id(&facts::host_name()).map_err(|error| error.to_string())
}

fn seconds() -> u64 {
    clock::wall()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// A number from 0 to 1 for pauses, so that replicas do not ask in step. The same one each time if the system gives no random
/// numbers.
fn chance() -> f64 {
    f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(url: &str) -> model::RouteStore {
        let text = format!("{{\n\troute_sources {{\n\t\tstore redis {url}\n\t}}\n}}\n");
        let read = caddy_config::from_caddyfile("Caddyfile", &text, &|_| None).unwrap();
        let sources = read.config.apps.http.unwrap().route_sources.unwrap();
        sources.store.unwrap()
    }

    #[test]
    fn stores_are_told_apart_by_where_they_are_and_by_nothing_else() {
        let environment = |value: &'static str| Environment::new(move |_| Some(value.to_owned()));
        let in_variable = |value| {
            let said = store("{env.STORE}");
            identity(&said, &url(&said, &environment(value)).unwrap())
        };
        let one = in_variable("redis://a.test:1/0");
        assert_ne!(
            one,
            in_variable("redis://b.test:1/0"),
            "the variable has another value"
        );
        assert_eq!(one, in_variable("redis://user:pass@a.test:1/0"));
        assert_eq!(one, in_variable("redis://:p@ss@a.test:1/0"));
        assert_ne!(one, in_variable("redis://a.test:1/1"));
        for (given, expected) in [
            ("", ""),
            ("/var/lib/routes@home.db", "/var/lib/routes@home.db"),
            ("sqlite:///a@b", "sqlite:///a@b"),
            ("postgres://u:p@h?host=x@y", "postgres://h?host=x@y"),
        ] {
            assert_eq!(without_user(given), expected);
        }
    }
}
