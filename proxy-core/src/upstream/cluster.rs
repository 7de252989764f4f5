//! The upstreams of one `reverse_proxy`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use eskip::filters::{BackendLimit, BackendLimits};
use http::{HeaderValue, StatusCode};
use tokio::time::{self, Instant};
use tracing::{info, warn};

use super::breaker::Pass;
use super::budget::Budget;
use super::discovery::Dynamic;
use super::health::{Flaw, Health, Trouble};
use super::load::{Slot, Slots};
use super::resolve::{Answer, Name, State, Wishes};
use super::retry::Retry;
use super::transport::{Transport, Way};
use crate::error::{Failure, Reason};
use crate::failure_log::FailureGates;

/// A compiled `reverse_proxy`.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) source: Source,
    /// How connections to them are made and kept.
    pub(crate) transport: Arc<Transport>,
    /// HTTP/2 may be spoken to some of them.
    pub(crate) multiplexes: bool,
    /// Some of them are told their own host and port as the Host.
    pub(crate) sets_host: bool,
    /// How often and how long another attempt is made.
    pub(crate) retry: Retry,
    /// What further attempts at failing upstreams may cost.
    pub(crate) budget: Budget,
    /// What few proxies have.
    pub(crate) rare: Option<Box<Rare>>,
    /// Health is not looked at, as too few upstreams are available.
    pub(crate) panics: AtomicBool,
    /// The time until an answer is measured.
    pub(crate) measures: bool,
    /// Each attempt at an upstream has a line in the log, at the level debug.
    pub(crate) verbose: bool,
    pub(crate) gates: FailureGates,
}

/// What few proxies have, apart: there may be many that have nothing of it.
#[derive(Debug, Default)]
pub(crate) struct Rare {
    /// How long an upstream that came takes fewer requests.
    pub(crate) slow_start: Option<SlowStart>,
    /// If a larger part of the upstreams than this fails, the shares of those stay as they are; `None`: no share changes.
    pub(crate) most_shed: Option<f64>,
    /// How many requests each upstream gets in a time.
    pub(crate) limit: Option<(BackendLimit, Arc<BackendLimits>)>,
    /// In percent; see [`Cluster::note_panic`].
    pub(crate) panic_threshold: Option<u32>,
}

/// How an upstream that came begins: with a share of (age / time) to the power of the exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SlowStart {
    pub(crate) time: Duration,
    pub(crate) exponent: f64,
}

/// Where the upstreams come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// The configuration names them.
    Fixed(Vec<Upstream>),
    /// A `doors_handler` before the proxy decides; here are the servers of each one that can.
    Doors(Vec<(usize, Vec<Upstream>)>),
    /// They are found out at run time.
    Dynamic(Dynamic),
}

/// One upstream: a name or address, and a port.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    name: Arc<Name>,
    port: u16,
    slot: Arc<Slot>,
    way: Arc<Way>,
    /// Those of the name that led to it, if it was found out.
    found_by: Option<Arc<Wishes>>,
    /// Requests in flight beyond which it is not chosen.
    max_requests: Option<u32>,
    /// Its share beside the others, where there are weights.
    weight: u16,
    health: Health,
}

/// The addresses of an upstream, beginning at one of them.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    answer: Arc<Answer>,
    port: u16,
    first: usize,
    way: Arc<Way>,
}

// === impl Cluster ===

impl Cluster {
    /// How long an upstream that came takes fewer requests.
    pub(crate) fn slow_start(&self) -> Option<SlowStart> {
        self.rare.as_ref()?.slow_start
    }

    /// See [`Rare::most_shed`].
    pub(crate) fn most_shed(&self) -> Option<f64> {
        self.rare.as_ref()?.most_shed
    }

    /// How many requests each upstream gets in a time.
    pub(crate) fn limit(&self) -> Option<&(BackendLimit, Arc<BackendLimits>)> {
        self.rare.as_ref()?.limit.as_ref()
    }

    /// In percent; see [`Cluster::note_panic`].
    pub(crate) fn panic_threshold(&self) -> Option<u32> {
        self.rare.as_ref()?.panic_threshold
    }

    /// Logs once when so few upstreams are available that all are taken for it, and once when that is over.
    pub(crate) fn note_panic(&self, panics: bool) {
        if self.panics.load(Ordering::Relaxed) == panics
            || self.panics.swap(panics, Ordering::Relaxed) == panics
        {
            return;
        }
        let upstreams: Vec<String> = self.source.known().iter().map(ToString::to_string).collect();
        let upstreams = upstreams.join(" ");
        if panics {
            warn!(%upstreams, "too few upstreams are healthy: all are used");
        } else {
            info!(%upstreams, "enough upstreams are healthy: the others are not used");
        }
    }
}

// === impl Rare ===

impl Rare {
    /// The same, unless there is nothing of it.
    pub(crate) fn boxed(self) -> Option<Box<Self>> {
        let Self {
            slow_start,
            most_shed,
            limit,
            panic_threshold,
        } = &self;
        let is_any =
            slow_start.is_some() || most_shed.is_some() || limit.is_some() || panic_threshold.is_some();
        is_any.then(|| Box::new(self))
    }
}

// === impl SlowStart ===

impl SlowStart {
    /// With a share that grows as the time passes.
    pub(crate) fn even(time: Duration) -> Self {
        Self { time, exponent: 1.0 }
    }

    /// Whether an upstream of this age takes a request; `chance` is one number from 0 to 1 for all upstreams.
    pub(crate) fn is_warm(&self, age: Duration, chance: f64) -> bool {
        let part = age.as_secs_f64() / self.time.as_secs_f64();
        part >= 1.0 || part.powf(self.exponent) >= chance
    }
}

// === impl Source ===

impl Source {
    /// The servers of the `doors_handler` with `id`.
    pub(crate) fn doors(&self, id: usize) -> Option<&[Upstream]> {
        match self {
            Self::Fixed(_) | Self::Dynamic(_) => None,
            Self::Doors(all) => all
                .iter()
                .find(|(doors, _)| *doors == id)
                .map(|(_, list)| list.as_slice()),
        }
    }

    /// Every upstream that the configuration names.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Upstream> {
        let (fixed, doors): (&[Upstream], &[_]) = match self {
            Self::Fixed(list) => (list, &[]),
            Self::Doors(all) => (&[], all),
            Self::Dynamic(_) => (&[], &[]),
        };
        let doors = doors.iter().flat_map(|(_, list)| list);
        let others = self.dynamic().into_iter().flat_map(Dynamic::fixed);
        fixed.iter().chain(doors).chain(others)
    }

    /// Every upstream that is known now.
    pub(crate) fn known(&self) -> Vec<Upstream> {
        match self {
            Self::Dynamic(dynamic) => dynamic.known(),
            Self::Fixed(_) | Self::Doors(_) => self.upstreams().cloned().collect(),
        }
    }

    /// What is found out at run time.
    pub(crate) fn dynamic(&self) -> Option<&Dynamic> {
        match self {
            Self::Dynamic(dynamic) => Some(dynamic),
            Self::Fixed(_) | Self::Doors(_) => None,
        }
    }
}

// === impl Upstream ===

impl Upstream {
    /// `slots` gives where its requests are counted.
    pub(crate) fn new(name: Arc<Name>, port: u16, way: Arc<Way>, slots: &Slots) -> Self {
        let label = match &way.unix {
            None => label(name.host(), port),
            Some(path) => format!("unix/{path}"),
        };
        Self::labelled(&label, name, port, way, slots)
    }

    /// The upstream is told apart by `label`.
    pub(super) fn labelled(label: &str, name: Arc<Name>, port: u16, way: Arc<Way>, slots: &Slots) -> Self {
        Self {
            name,
            port,
            slot: slots.of(label),
            way,
            found_by: None,
            max_requests: None,
            weight: 1,
            health: Health::default(),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What leads to it, beside its addresses.
    pub(crate) fn way(&self) -> &Arc<Way> {
        &self.way
    }

    /// Its host and port, as placeholders name them.
    pub(crate) fn host(&self) -> (&str, u16) {
        let host = self.name.host();
        match &self.way.unix {
            Some(path) => (path, 0),
            // What SRV records name ends with a dot.
            None if self.found_by.is_some() => (host.trim_end_matches('.'), self.port),
            None => (host, self.port),
        }
    }

    /// It was found behind the name that has these wishes.
    pub(super) fn found_by(self, wishes: Arc<Wishes>) -> Self {
        let found_by = Some(wishes);
        Self { found_by, ..self }
    }

    /// With at most so many requests in flight.
    pub(crate) fn with_max_requests(self, max_requests: Option<u32>) -> Self {
        Self { max_requests, ..self }
    }

    /// With a share other than that of the rest.
    pub(super) fn with_weight(self, weight: u16) -> Self {
        Self { weight, ..self }
    }

    /// Its share beside the others.
    pub(crate) fn weight(&self) -> u16 {
        self.weight
    }

    /// With what is known of its health.
    pub(crate) fn with_health(self, health: Health) -> Self {
        Self { health, ..self }
    }

    /// Whether it may be chosen.
    pub(crate) fn is_available(&self) -> bool {
        self.has_room() && self.health.trouble(&self.slot, Instant::now).is_none()
    }

    /// Why it may not be chosen.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let trouble = self.health.trouble(&self.slot, Instant::now);
        trouble.or_else(|| (!self.has_room()).then_some(Trouble::Full))
    }

    /// How long until that may change, as far as it is known.
    pub(crate) fn waits(&self, now: Instant) -> Option<Duration> {
        self.health.waits(self.trouble()?, &self.slot, now)
    }

    /// What is known of its health.
    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// Whether it has fewer requests in flight than it may have.
    pub(crate) fn has_room(&self) -> bool {
        self.max_requests.is_none_or(|most| self.slot.in_flight() < most)
    }

    /// Where its requests are counted.
    pub(crate) fn slot(&self) -> &Arc<Slot> {
        &self.slot
    }

    pub(crate) fn name(&self) -> &Arc<Name> {
        &self.name
    }

    /// The addresses now. Only a request that comes before the first look-up ended waits, for at most
    /// `patience`. `turn` chooses the first one.
    pub(crate) async fn addresses(&self, patience: Duration, turn: usize) -> Result<Addresses, Failure> {
        let mut answer = self.name.current();
        if answer.addresses().is_empty() {
            answer = time::timeout(patience, self.name.ready()).await.unwrap_or(answer);
        }
        match answer.addresses().len() {
            0 => Err(unresolved(&answer)),
            count => Ok(Addresses {
                answer,
                port: self.port,
                first: turn % count,
                way: Arc::clone(&self.way),
            }),
        }
    }

    /// Whether its name leads to `ip` now.
    pub(crate) fn leads_to(&self, ip: IpAddr) -> bool {
        self.name.current().addresses().contains(&ip)
    }

    /// A request has failed because of it.
    pub(crate) fn failed(&self, pass: Option<Pass<'_>>, failure: &Failure) {
        if let Some(shed) = &self.health.shed {
            shed.count(true, Instant::now());
        }
        Health::leave(&self.slot, pass, true);
        self.health.failed(&self.slot, failure);
    }

    /// It answered. Gives what is wrong with that, for [`Upstream::flawed`].
    pub(crate) fn answered(
        &self,
        pass: Option<Pass<'_>>,
        status: StatusCode,
        latency: Option<Duration>,
    ) -> Option<Flaw> {
        if let Some(shed) = &self.health.shed {
            shed.count(false, Instant::now());
        }
        Health::leave(&self.slot, pass, status.is_server_error());
        self.health.flaw(status, latency)
    }

    /// An answer with a flaw is the one that the client gets.
    pub(crate) fn flawed(&self, flaw: Flaw) {
        self.health.failed(&self.slot, &flaw);
    }

    /// A connection failed: it is asked last for a while, and as the name may have moved, that is looked up soon.
    pub(crate) fn connect_failed(&self) {
        self.slot.standing().suspect(Instant::now());
        self.name.hint_failed();
        if let Some(found_by) = &self.found_by {
            found_by.look_up();
        }
    }
}

impl std::fmt::Display for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.slot.label())
    }
}

/// Both as `host:port`.
pub(crate) fn label(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// What an upstream calls itself: with its port, if that is another one than usual.
pub(crate) fn own_host(host: &str, port: u16, usual: u16) -> Option<HeaderValue> {
    let label = label(host, port);
    let name = label.strip_suffix(&format!(":{usual}")).filter(|_| port == usual);
    HeaderValue::try_from(name.unwrap_or(&label)).ok()
}

fn unresolved(answer: &Answer) -> Failure {
    match answer.state() {
        State::Stale(error) => Failure::from(Reason::Unresolved).with_source(error.clone()),
        State::Fresh | State::Never => Reason::Unresolved.into(),
    }
}

// === impl Addresses ===

impl Addresses {
    /// What else leads there.
    pub(crate) fn way(&self) -> &Way {
        &self.way
    }

    /// The address whose turn it is.
    pub(crate) fn first(&self) -> Option<SocketAddr> {
        self.iter().next()
    }

    /// All of them, beginning at the first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SocketAddr> + Send {
        let all = self.answer.addresses();
        let (before, from) = all.split_at(self.first.min(all.len()));
        from.iter()
            .chain(before)
            .map(|ip| SocketAddr::new(*ip, self.port))
    }
}
