//! Where Ingresses are reached, written into their status.

mod warning;

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::networking::v1::{Ingress, IngressLoadBalancerIngress};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use self::warning::{Warner, Warning, warnings};
use super::cluster::{Cluster, Key};
use super::lease::{LeaseError, Leases};
use super::settings::Settings;
use crate::snapshot::Invalid;

/// What is to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Orders {
    addresses: Vec<IngressLoadBalancerIngress>,
    /// The Ingresses whose status says something else.
    ingresses: Vec<Key>,
    /// What owners are told.
    warnings: Vec<Warning>,
}

/// Writes status, while this replica has the lease.
pub(super) struct StatusWriter {
    client: Client,
    leases: Leases,
    orders: watch::Receiver<Orders>,
    /// After how long what could not be written is tried again.
    retry: Duration,
    /// Whether the lease may be ours.
    held: bool,
    warner: Warner,
}

/// Why status was not written.
#[derive(Debug, Error)]
enum StatusError {
    #[error(transparent)]
    Lease(#[from] LeaseError),
    #[error("the status of the Ingress {ingress} cannot be written")]
    Write {
        ingress: Key,
        #[source]
        source: Box<kube::Error>,
    },
    #[error("the status of the Ingress {0} changes too often")]
    Conflict(Key),
    #[error("the API is too slow")]
    Slow,
}

/// How often a write that met another is tried from a fresh read.
const TRIES: usize = 5;

/// How long one round may take for each Ingress, and for the lease.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the status of our Ingresses should say, and which do not say so.
pub(super) fn orders(
    cluster: &Cluster,
    settings: &Settings,
    ours: &[Key],
    lost: &BTreeMap<Key, Vec<String>>,
) -> Orders {
    let addresses = addresses(cluster, settings);
    if addresses.is_empty() {
        return Orders::default();
    }
    let differs = |key: &&Key| {
        let ingress = cluster.ingresses.get(*key);
        ingress.is_some_and(|ingress| written(ingress) != addresses)
    };
    let ingresses = ours.iter().filter(differs).cloned().collect();
    Orders {
        addresses,
        ingresses,
        warnings: warnings(cluster, lost),
    }
}

/// What is wrong with the Service that status is taken from.
pub(super) fn problem(cluster: &Cluster, settings: &Settings) -> Option<Invalid> {
    let written = settings.publish_service.as_ref()?;
    let is_there = key(written).is_some_and(|key| cluster.services.contains_key(&key));
    (!is_there).then(|| Invalid {
        host: None,
        place: format!("service {written}"),
        reason: "there is no such Service in the namespaces that are read, so no status is written"
            .to_owned(),
        kept: false,
    })
}

fn key(written: &str) -> Option<Key> {
    let (namespace, name) = written.split_once('/')?;
    Some(Key::new(namespace, name))
}

/// The addresses of the Service: those of its load balancer, else those that its owner has given it.
fn addresses(cluster: &Cluster, settings: &Settings) -> Vec<IngressLoadBalancerIngress> {
    let service = settings
        .publish_service
        .as_deref()
        .and_then(key)
        .and_then(|key| cluster.services.get(&key));
    let Some(service) = service else { return Vec::new() };
    let status = service.status.as_ref();
    let balancer = status.and_then(|status| status.load_balancer.as_ref());
    let balanced = balancer.and_then(|balancer| balancer.ingress.as_ref());
    let balanced = balanced
        .into_iter()
        .flatten()
        .map(|address| IngressLoadBalancerIngress {
            hostname: address.hostname.clone(),
            ip: address.ip.clone(),
            ports: None,
        });
    let mut addresses: Vec<_> = balanced.collect();
    if addresses.is_empty() {
        let spec = service.spec.as_ref();
        let given = spec.and_then(|spec| spec.external_ips.as_ref());
        addresses.extend(given.into_iter().flatten().map(|ip| IngressLoadBalancerIngress {
            ip: Some(ip.clone()),
            ..IngressLoadBalancerIngress::default()
        }));
    }
    addresses.sort_by_key(|address| (address.ip.clone(), address.hostname.clone()));
    addresses
}

fn written(ingress: &Ingress) -> Vec<IngressLoadBalancerIngress> {
    let status = ingress.status.as_ref();
    let balancer = status.and_then(|status| status.load_balancer.as_ref());
    balancer
        .and_then(|balancer| balancer.ingress.clone())
        .unwrap_or_default()
}

// === impl StatusWriter ===

impl StatusWriter {
    pub(super) fn new(
        client: Client,
        leases: Leases,
        orders: watch::Receiver<Orders>,
        settings: &Settings,
    ) -> Self {
        let warner = Warner::new(client.clone(), &settings.controller, &settings.identity);
        Self {
            client,
            leases,
            orders,
            retry: settings.lease / 3,
            held: false,
            warner,
        }
    }

    /// Writes what is ordered until it is stopped; then it gives the lease back.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            let orders = self.orders.borrow_and_update().clone();
            let again = tokio::select! {
                () = stop.cancelled() => break,
                again = self.round(&orders) => again,
            };
            tokio::select! {
                () = stop.cancelled() => break,
                changed = self.orders.changed() => if changed.is_err() { break },
                () = sleep(again.unwrap_or_default()), if again.is_some() => {}
            }
        }
        if self.held
            && let Ok(Err(error)) = timeout(PATIENCE, self.leases.release()).await
        {
            debug!(%error, "the lease was not given back");
        }
    }

    /// One round. Says after how long another is needed, if one is.
    async fn round(&mut self, orders: &Orders) -> Option<Duration> {
        let has_news = self.warner.has_news(&orders.warnings);
        if orders.ingresses.is_empty() && !has_news {
            return None;
        }
        self.held = match timeout(PATIENCE, self.leases.acquire()).await {
            Ok(Ok(held)) => held,
            Ok(Err(error)) => {
                warn!(%error, "nobody knows who writes the status of Ingresses");
                false
            }
            Err(_) => false,
        };
        if !self.held {
            return Some(self.retry);
        }
        self.warner.tell(&orders.warnings).await;
        let since = Instant::now();
        let mut again = None;
        for key in &orders.ingresses {
            if since.elapsed() > self.retry {
                // The lease must be taken again before it ends.
                return Some(Duration::ZERO);
            }
            let written = timeout(PATIENCE, self.write(key, &orders.addresses)).await;
            if let Err(error) = written.unwrap_or(Err(StatusError::Slow)) {
                warn!(%error, "status not written");
                again = Some(self.retry);
            }
        }
        again
    }

    /// Writes one status, on the condition that the Ingress is as it was read.
    async fn write(&self, key: &Key, addresses: &[IngressLoadBalancerIngress]) -> Result<(), StatusError> {
        let api: Api<Ingress> = Api::namespaced(self.client.clone(), &key.namespace);
        let failed = |source: kube::Error| StatusError::Write {
            ingress: key.clone(),
            source: Box::new(source),
        };
        for _ in 0..TRIES {
            let Some(ingress) = api.get_opt(&key.name).await.map_err(failed)? else {
                return Ok(());
            };
            if written(&ingress) == addresses {
                return Ok(());
            }
            let patch = json!({
                "metadata": { "resourceVersion": ingress.metadata.resource_version },
                "status": { "loadBalancer": { "ingress": addresses } },
            });
            let params = PatchParams::default();
            match api.patch_status(&key.name, &params, &Patch::Merge(&patch)).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
                Err(error) => return Err(failed(error)),
            }
        }
        Err(StatusError::Conflict(key.clone()))
    }
}
