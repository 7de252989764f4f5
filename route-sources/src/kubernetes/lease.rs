//! Which replica writes status.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use route_store::{Store, StoreError};
use thiserror::Error;
use tokio::time::Instant;

use super::settings::Settings;

/// The name of the lease in a store.
const IN_STORE: &str = "kubernetes-status";

/// The name of the Lease object in a cluster.
const IN_CLUSTER: &str = "doorway-status";

/// A lease, wherever it is kept.
#[derive(Debug)]
pub(super) struct Leases {
    place: Place,
    identity: String,
    length: Duration,
    clock: fn() -> SystemTime,
}

#[derive(Debug)]
enum Place {
    Store(Arc<dyn Store>),
    /// What another has written last, and since when it stands there by our own clock: clocks of others may be wrong.
    Cluster(Box<Api<Lease>>, Option<(Option<String>, Instant)>),
}

/// Why nobody knows whose a lease is.
#[derive(Debug, Error)]
pub(super) enum LeaseError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the Lease object {IN_CLUSTER} cannot be read or written")]
    Cluster(#[from] kube::Error),
}

// === impl Leases ===

impl Leases {
    pub(super) fn new(
        store: Option<Arc<dyn Store>>,
        client: &Client,
        settings: &Settings,
        clock: fn() -> SystemTime,
    ) -> Self {
        let service = settings.publish_service.as_deref();
        let namespace = service
            .and_then(|service| service.split_once('/'))
            .map_or("default", |(namespace, _)| namespace);
        let in_cluster = || Box::new(Api::namespaced(client.clone(), namespace));
        Self {
            place: store.map_or_else(|| Place::Cluster(in_cluster(), None), Place::Store),
            identity: settings.identity.clone(),
            length: settings.lease,
            clock,
        }
    }

    /// Takes the lease, or takes it again. Says whether it is this replica's.
    pub(super) async fn acquire(&mut self) -> Result<bool, LeaseError> {
        let renewed = self.spec(true);
        match &mut self.place {
            Place::Store(store) => Ok(store.acquire(IN_STORE, &self.identity, self.length).await?),
            Place::Cluster(api, seen) => {
                let there = api.get_opt(IN_CLUSTER).await?;
                if there
                    .as_ref()
                    .is_some_and(|lease| is_others(lease, &self.identity, seen))
                {
                    return Ok(false);
                }
                write(api, there, renewed).await
            }
        }
    }

    /// Gives the lease back, if it is this replica's.
    pub(super) async fn release(&mut self) -> Result<(), LeaseError> {
        let released = self.spec(false);
        match &mut self.place {
            Place::Store(store) => store.release(IN_STORE, &self.identity).await?,
            Place::Cluster(api, _) => {
                let there = api.get_opt(IN_CLUSTER).await?;
                let ours = there.filter(|lease| holder(lease) == Some(&self.identity));
                if ours.is_some() {
                    write(api, ours, released).await?;
                }
            }
        }
        Ok(())
    }

    fn spec(&self, held: bool) -> LeaseSpec {
        LeaseSpec {
            holder_identity: held.then(|| self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.length.as_secs()).ok(),
            renew_time: Timestamp::try_from((self.clock)()).ok().map(MicroTime),
            ..LeaseSpec::default()
        }
    }
}

/// Writes the object if it is as it was read; a conflict means that another was quicker.
async fn write(api: &Api<Lease>, there: Option<Lease>, spec: LeaseSpec) -> Result<bool, LeaseError> {
    let params = PostParams::default();
    let written = match there {
        Some(mut lease) => {
            lease.spec = Some(spec);
            api.replace(IN_CLUSTER, &params, &lease).await
        }
        None => {
            let metadata = ObjectMeta {
                name: Some(IN_CLUSTER.to_owned()),
                ..ObjectMeta::default()
            };
            let lease = Lease {
                metadata,
                spec: Some(spec),
            };
            api.create(&params, &lease).await
        }
    };
    match written {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn holder(lease: &Lease) -> Option<&String> {
    lease.spec.as_ref()?.holder_identity.as_ref()
}

/// Whether another holds the lease: for as long as it says, counted from when we first saw what is written there.
fn is_others(lease: &Lease, identity: &str, seen: &mut Option<(Option<String>, Instant)>) -> bool {
    let Some(other) = holder(lease).filter(|holder| !holder.is_empty()) else {
        return false;
    };
    if other == identity {
        return false;
    }
    let version = lease.metadata.resource_version.clone();
    let since = match seen {
        Some((there, since)) if *there == version => *since,
        _ => {
            let now = Instant::now();
            *seen = Some((version, now));
            now
        }
    };
    let spec = lease.spec.as_ref();
    let seconds = spec
        .and_then(|spec| spec.lease_duration_seconds)
        .unwrap_or_default();
    since.elapsed() < Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}
