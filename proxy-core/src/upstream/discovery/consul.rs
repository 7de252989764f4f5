//! Upstreams that Consul knows.
//!
//! The crate `consul-upstreams` asks, keeps and chooses; here its answers become lists of upstreams, each made once for
//! as long as the answer stays the same.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use consul_upstreams::{
    Answer, ConsulUpstreams, Driver, Instance, Look, LookupError, Pending, ServiceName, Settings,
    SettingsError, Tier,
};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::cluster::Upstream;
use super::super::resolve::When;
use super::listing::Making;

/// More lists than a source keeps answers mean that some of them are of no use any more.
const MOST_LISTS: usize = 180;

/// Every Consul that a configuration names, from one configuration to the next. Share it behind an [`Arc`];
/// [`run`](Self::run) must run for any to be asked.
#[derive(Debug, Default)]
pub(crate) struct Consuls {
    known: Mutex<Vec<(Settings, Weak<ConsulUpstreams>)>>,
    catalogs: Mutex<Vec<(Key, Weak<Catalog>)>>,
    /// Their drivers that have not run yet.
    added: Mutex<Vec<Driver>>,
    changed: Notify,
}

/// What tells one source of a proxy from another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) settings: Settings,
    /// The service as it is configured, placeholders and all.
    pub(crate) text: String,
    /// Whether upstreams have Consul's weights.
    pub(crate) weights: bool,
    /// How many requests each upstream may have in flight.
    pub(crate) max_requests: Option<u32>,
    /// How upstreams are reached and taken care of.
    pub(crate) care: String,
}

/// The services of one source, as lists of upstreams.
#[derive(Debug)]
pub(crate) struct Catalog {
    text: String,
    consul: Arc<ConsulUpstreams>,
    /// How long one look-up takes at most.
    timeout: Duration,
    weights: bool,
    making: Making,
    lists: Mutex<HashMap<ServiceName, Listed>>,
}

#[derive(Debug)]
struct Listed {
    answer: Arc<Answer>,
    upstreams: Arc<[Upstream]>,
}

/// What one request knows of its service.
#[derive(Debug)]
pub(super) struct Seen {
    catalog: Arc<Catalog>,
    service: ServiceName,
    said: Said,
}

#[derive(Debug)]
enum Said {
    Instances(Arc<[Upstream]>, Tier),
    Failed(LookupError),
    Pending(Pending),
}

// === impl Consuls ===

impl Consuls {
    /// The source that `key` describes, whose upstreams are made as `making` says.
    ///
    /// # Errors
    ///
    /// Settings that are of no use.
    pub(crate) fn of(&self, key: &Key, making: Making) -> Result<Arc<Catalog>, SettingsError> {
        let mut catalogs = lock(&self.catalogs);
        catalogs.retain(|(_, catalog)| catalog.strong_count() > 0);
        let known = catalogs.iter().find(|(known, _)| known == key);
        if let Some(known) = known.and_then(|(_, catalog)| catalog.upgrade()) {
            return Ok(known);
        }
        let catalog = Arc::new(Catalog {
            text: format!("consul {}", key.text),
            consul: self.consul(&key.settings)?,
            timeout: key.settings.timeout,
            weights: key.weights,
            making,
            lists: Mutex::default(),
        });
        catalogs.push((key.clone(), Arc::downgrade(&catalog)));
        Ok(catalog)
    }

    fn consul(&self, settings: &Settings) -> Result<Arc<ConsulUpstreams>, SettingsError> {
        let mut known = lock(&self.known);
        known.retain(|(_, consul)| consul.strong_count() > 0);
        let same = known.iter().find(|(known, _)| known == settings);
        if let Some(consul) = same.and_then(|(_, consul)| consul.upgrade()) {
            return Ok(consul);
        }
        let seed = RandomState::new().hash_one(0);
        let (consul, driver) = ConsulUpstreams::try_new(settings, seed)?;
        let consul = Arc::new(consul);
        known.push((settings.clone(), Arc::downgrade(&consul)));
        lock(&self.added).push(driver);
        self.changed.notify_one();
        Ok(consul)
    }

    /// Asks for what requests want to know until `stop` is cancelled. Run it once.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut drivers = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.changed.notified() => {
                    let added = std::mem::take(&mut *lock(&self.added));
                    drivers.extend(added.into_iter().map(|driver| driver.run(stop.clone())));
                }
                Some(()) = drivers.next() => {}
            }
        }
    }
}

// === impl Catalog ===

impl Catalog {
    /// What is known of `service` `now`. The first to ask for it begins the look-up.
    pub(super) fn see(self: &Arc<Self>, service: ServiceName, now: Instant) -> Seen {
        Seen {
            said: self.say(&service, self.consul.look(&service, now)),
            catalog: Arc::clone(self),
            service,
        }
    }

    /// The source as it is configured.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether its upstreams have weights.
    pub(super) fn is_weighted(&self) -> bool {
        self.weights
    }

    /// The lists of all services that requests asked for.
    pub(super) fn known(&self) -> Vec<Arc<[Upstream]>> {
        let lists = lock(&self.lists);
        lists
            .values()
            .map(|listed| Arc::clone(&listed.upstreams))
            .collect()
    }

    /// Forgets the lists of answers that are not kept any more.
    pub(super) fn forget_idle(&self) {
        let gone: Vec<_> = {
            let is_gone = |_: &ServiceName, listed: &mut Listed| Arc::strong_count(&listed.answer) == 1;
            lock(&self.lists).extract_if(is_gone).collect()
        };
        // The names of its upstreams may end with a list, which takes another lock.
        drop(gone);
    }

    fn say(&self, service: &ServiceName, look: Look) -> Said {
        match look {
            Look::Known(answer) => Said::Instances(self.list(service, &answer), answer.tier()),
            Look::Failed(error) => Said::Failed(error),
            Look::Pending(pending) => Said::Pending(pending),
        }
    }

    fn list(&self, service: &ServiceName, answer: &Arc<Answer>) -> Arc<[Upstream]> {
        let lists = lock(&self.lists);
        if let Some(listed) = lists
            .get(service)
            .filter(|known| Arc::ptr_eq(&known.answer, answer))
        {
            return Arc::clone(&listed.upstreams);
        }
        let is_full = lists.len() >= MOST_LISTS;
        drop(lists);
        if is_full {
            self.forget_idle();
        }
        let instances = answer.instances().iter();
        let upstreams: Arc<[Upstream]> = instances.filter_map(|instance| self.upstream(instance)).collect();
        let listed = Listed {
            answer: Arc::clone(answer),
            upstreams: Arc::clone(&upstreams),
        };
        let before = lock(&self.lists).insert(service.clone(), listed);
        drop(before);
        upstreams
    }

    fn upstream(&self, instance: &Instance) -> Option<Upstream> {
        let Making {
            resolvers, targets, ..
        } = &self.making;
        let name = resolvers.watch_as(instance.host(), targets, When::Now);
        let upstream = self.making.upstream(name, instance.port())?;
        let weight = if self.weights { instance.weight() } else { 1 };
        Some(upstream.with_weight(weight))
    }
}

// === impl Seen ===

impl Seen {
    /// The upstreams, if Consul has told any, or that there are none.
    pub(super) fn current(&self) -> Arc<[Upstream]> {
        match &self.said {
            Said::Instances(upstreams, _) => Arc::clone(upstreams),
            Said::Failed(_) | Said::Pending(_) => Arc::default(),
        }
    }

    /// Which instances they are.
    pub(super) fn tier(&self) -> Option<Tier> {
        match &self.said {
            Said::Instances(_, tier) => Some(*tier),
            Said::Failed(_) | Said::Pending(_) => None,
        }
    }

    pub(super) fn error(&self) -> Option<&LookupError> {
        match &self.said {
            Said::Failed(error) => Some(error),
            Said::Instances(..) | Said::Pending(_) => None,
        }
    }

    /// How long its look-up takes at most, if one is under way.
    pub(super) fn pending(&self) -> Option<Duration> {
        matches!(self.said, Said::Pending(_)).then_some(self.catalog.timeout)
    }

    /// Waits for a look-up that is under way. The caller bounds the time.
    pub(super) async fn ready(&mut self) {
        let Said::Pending(pending) = &self.said else {
            return;
        };
        let look = match pending.clone().wait().await {
            Ok(answer) => Look::Known(answer),
            Err(error) => Look::Failed(error),
        };
        self.said = self.catalog.say(&self.service, look);
    }

    /// Asks Consul again, as what it said did not hold, and waits for what it says. The caller bounds the time.
    pub(super) async fn look_again(&mut self) {
        let now = Instant::now();
        self.catalog.consul.reset(&self.service, now);
        self.said = self
            .catalog
            .say(&self.service, self.catalog.consul.look(&self.service, now));
        self.ready().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is a whole one: a panic elsewhere leaves nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
