//! The watches of a cluster, and what they have told.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, SelectAll, StreamExt};
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

pub(super) use self::failure::Failure;
pub(super) use self::known::{Kind, Known, Part};

mod failure;
mod known;

/// What a watch says. Neither this nor what it holds is shown, as there are Secrets among it.
pub(super) struct Told {
    /// Which watch.
    pub(super) part: usize,
    /// What.
    pub(super) what: Result<Change, Failure>,
}

/// A change of one kind.
pub(super) enum Change {
    /// Everything is listed from here on; what is known counts until that is complete.
    Begin,
    /// This is in the list.
    Listed(Object),
    /// The list is complete.
    Complete,
    /// This is new or other.
    Put(Object),
    /// This is gone.
    Gone(Object),
}

/// A resource of any kind.
pub(super) enum Object {
    Ingress(Box<Ingress>),
    Class(Box<IngressClass>),
    Service(Box<Service>),
    Slice(Box<EndpointSlice>),
    Secret(Box<Secret>),
}

/// Releases of Helm are many, large, and of no use here.
const SECRETS: &str = "type!=helm.sh/release.v1";

/// After a failure everything is listed anew, so the first thing that is heard after it tells that the API is back.
pub(super) fn watches(
    client: &Client,
    parts: &[Part],
    retry: Duration,
) -> SelectAll<BoxStream<'static, Told>> {
    parts
        .iter()
        .enumerate()
        .map(|(number, part)| match part.kind {
            Kind::Ingresses => follow(api(client, part), number, retry, |one| {
                Object::Ingress(Box::new(one))
            }),
            Kind::Classes => follow(Api::all(client.clone()), number, retry, |one| {
                Object::Class(Box::new(one))
            }),
            Kind::Services => follow(api(client, part), number, retry, |one| {
                Object::Service(Box::new(one))
            }),
            Kind::Slices => follow(api(client, part), number, retry, |one| {
                Object::Slice(Box::new(one))
            }),
            Kind::Secrets => follow(api(client, part), number, retry, |one| {
                Object::Secret(Box::new(one))
            }),
        })
        .collect()
}

fn api<K>(client: &Client, part: &Part) -> Api<K>
where
    K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
    K::DynamicType: Default,
{
    match &part.namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// One watch, from its first list on.
struct Follower<K: Clone + 'static> {
    api: Api<K>,
    config: watcher::Config,
    events: Option<BoxStream<'static, watcher::Result<Event<K>>>>,
    since: Instant,
    failures: u32,
    retry: Duration,
}

fn follow<K>(api: Api<K>, part: usize, retry: Duration, wrap: fn(K) -> Object) -> BoxStream<'static, Told>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let config = match is_secret::<K>() {
        true => watcher::Config::default().fields(SECRETS),
        false => watcher::Config::default(),
    };
    let follower = Follower {
        api,
        config,
        events: None,
        since: Instant::now(),
        failures: 0,
        retry,
    };
    let told = stream::unfold(follower, move |mut follower| async move {
        let what = follower.next().await.map(|event| change(event, wrap));
        Some((Told { part, what }, follower))
    });
    told.boxed()
}

/// Whether resources of this type are Secrets.
fn is_secret<K: 'static>() -> bool {
    std::any::TypeId::of::<K>() == std::any::TypeId::of::<Secret>()
}

// === impl Follower ===

impl<K> Follower<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    async fn next(&mut self) -> Result<Event<K>, Failure> {
        if self.events.is_none() {
            sleep(self.pause()).await;
            self.since = Instant::now();
        }
        let events = self
            .events
            .get_or_insert_with(|| watcher(self.api.clone(), self.config.clone()).boxed());
        let failure = match events.next().await {
            Some(Ok(event)) => return Ok(event),
            Some(Err(error)) => Failure::of(&error),
            None => Failure::ended(),
        };
        self.events = None;
        let lasted = self.since.elapsed() > self.retry.saturating_mul(LONGEST);
        self.failures = if lasted {
            1
        } else {
            self.failures.saturating_add(1)
        };
        Err(failure)
    }

    /// None at first, then twice as long from failure to failure.
    fn pause(&self) -> Duration {
        let Some(doublings) = self.failures.checked_sub(1) else {
            return Duration::ZERO;
        };
        let factor = 2_u32.saturating_pow(doublings).min(LONGEST);
        self.retry.saturating_mul(factor)
    }
}

/// The longest pause, as a multiple of the first.
const LONGEST: u32 = 60;

fn change<K>(event: Event<K>, wrap: fn(K) -> Object) -> Change {
    match event {
        Event::Init => Change::Begin,
        Event::InitApply(object) => Change::Listed(wrap(object)),
        Event::InitDone => Change::Complete,
        Event::Apply(object) => Change::Put(wrap(object)),
        Event::Delete(object) => Change::Gone(wrap(object)),
    }
}

/// The watches that settings ask for.
pub(super) fn parts(namespaces: &[String]) -> Vec<Part> {
    let mut parts = vec![Part::new(Kind::Classes, None)];
    for kind in [Kind::Ingresses, Kind::Services, Kind::Slices, Kind::Secrets] {
        if namespaces.is_empty() {
            parts.push(Part::new(kind, None));
        }
        let unique: BTreeMap<_, _> = namespaces.iter().map(|namespace| (namespace, ())).collect();
        parts.extend(
            unique
                .keys()
                .map(|namespace| Part::new(kind, Some((*namespace).clone()))),
        );
    }
    parts
}
