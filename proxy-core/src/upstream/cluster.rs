//! The upstreams of one `reverse_proxy`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::StatusCode;
use tokio::time::{self, Instant};
use tracing::{info, warn};

use super::breaker::Pass;
use super::budget::Budget;
use super::channel::Protocol;
use super::health::{Flaw, Health, Trouble};
use super::load::{Slot, Slots};
use super::pool::PoolLimits;
use super::resolve::{Answer, Name, State};
use super::retry::Retry;
use crate::error::{Failure, Reason};
use crate::failure_log::FailureGates;

/// A compiled `reverse_proxy`.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) source: Source,
    pub(crate) protocol: Protocol,
    /// How long a connection may take to open. Default 3 seconds.
    pub(crate) dial_timeout: Duration,
    /// How long the head of an answer may take. Default: no limit, as a Doors sync stream is silent for
    /// up to 20 seconds and others may be for longer.
    pub(crate) head_timeout: Option<Duration>,
    /// How connections are kept for more than one request; `None`: not at all.
    pub(crate) keep: Option<PoolLimits>,
    /// How often and how long another attempt is made.
    pub(crate) retry: Retry,
    /// What further attempts at failing upstreams may cost.
    pub(crate) budget: Budget,
    /// How long an upstream that came takes fewer requests.
    pub(crate) slow_start: Option<Duration>,
    /// In percent; see [`Cluster::note_panic`].
    pub(crate) panic_threshold: Option<u32>,
    /// Health is not looked at, as too few upstreams are available.
    pub(crate) panics: AtomicBool,
    /// The time until an answer is measured.
    pub(crate) measures: bool,
    /// Each attempt at an upstream has a line in the log, at the level debug.
    pub(crate) verbose: bool,
    pub(crate) gates: FailureGates,
}

/// Where the upstreams come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// The configuration names them.
    Fixed(Vec<Upstream>),
    /// A `doors_handler` before the proxy decides; here are the servers of each one that can.
    Doors(Vec<(usize, Vec<Upstream>)>),
}

/// One upstream: a name or address, and a port.
#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    name: Arc<Name>,
    port: u16,
    slot: Arc<Slot>,
    /// Requests in flight beyond which it is not chosen.
    max_requests: Option<u32>,
    health: Health,
}

/// The addresses of an upstream, beginning at one of them.
#[derive(Clone, Debug)]
pub(crate) struct Addresses {
    answer: Arc<Answer>,
    port: u16,
    first: usize,
}

// === impl Cluster ===

impl Cluster {
    /// Logs once when so few upstreams are available that all are taken for it, and once when that is over.
    pub(crate) fn note_panic(&self, panics: bool) {
        if self.panics.load(Ordering::Relaxed) == panics
            || self.panics.swap(panics, Ordering::Relaxed) == panics
        {
            return;
        }
        let upstreams: Vec<String> = self.source.upstreams().map(ToString::to_string).collect();
        let upstreams = upstreams.join(" ");
        if panics {
            warn!(%upstreams, "too few upstreams are healthy: all are used");
        } else {
            info!(%upstreams, "enough upstreams are healthy: the others are not used");
        }
    }
}

// === impl Source ===

impl Source {
    /// The servers of the `doors_handler` with `id`.
    pub(crate) fn doors(&self, id: usize) -> Option<&[Upstream]> {
        match self {
            Self::Fixed(_) => None,
            Self::Doors(all) => all
                .iter()
                .find(|(doors, _)| *doors == id)
                .map(|(_, list)| list.as_slice()),
        }
    }

    /// Every name that is looked up for this source.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Upstream> {
        let (fixed, doors): (&[Upstream], &[_]) = match self {
            Self::Fixed(list) => (list, &[]),
            Self::Doors(all) => (&[], all),
        };
        fixed.iter().chain(doors.iter().flat_map(|(_, list)| list))
    }
}

// === impl Upstream ===

impl Upstream {
    /// `slots` gives where its requests are counted.
    pub(crate) fn new(name: Arc<Name>, port: u16, slots: &Slots) -> Self {
        let slot = slots.of(&label(name.host(), port));
        Self {
            name,
            port,
            slot,
            max_requests: None,
            health: Health::default(),
        }
    }

    /// With at most so many requests in flight.
    pub(crate) fn with_max_requests(self, max_requests: Option<u32>) -> Self {
        Self { max_requests, ..self }
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

    pub(crate) fn port(&self) -> u16 {
        self.port
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
            }),
        }
    }

    /// Whether its name leads to `ip` now.
    pub(crate) fn leads_to(&self, ip: IpAddr) -> bool {
        self.name.current().addresses().contains(&ip)
    }

    /// A request has failed because of it.
    pub(crate) fn failed(&self, pass: Option<Pass<'_>>, failure: &Failure) {
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

fn unresolved(answer: &Answer) -> Failure {
    match answer.state() {
        State::Stale(error) => Failure::from(Reason::Unresolved).with_source(error.clone()),
        State::Fresh | State::Never => Reason::Unresolved.into(),
    }
}

// === impl Addresses ===

impl Addresses {
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
