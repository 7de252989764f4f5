//! What is running, for those who ask.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::Reconciler;
use crate::clock;
use crate::metrics::{Format, Page};
use crate::upstream::breaker::Stand;
use crate::upstream::cluster::Upstream;
use crate::upstream::health::{self, Trouble};

/// An upstream, and what it has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamState {
    /// The upstream as `host:port`.
    pub address: String,
    /// Requests in flight. One counts until its answer has ended, or the connection that it was upgraded to.
    pub requests: u32,
    /// How many of the last requests failed, as a passive health check counts them. 0 without one.
    pub fails: u32,
    /// Whether it takes requests, as far as its health is concerned: for each proxy that has it as an upstream.
    pub healthy: bool,
    /// Whether its checks pass; `None`: it is not checked. For several proxies: all of them.
    pub active: Option<bool>,
    /// Its circuit breaker, if it has one. Of several the one that stands worst.
    pub breaker: Option<BreakerState>,
    /// Whether a proxy uses it whatever is known of its health, as too few of its upstreams are healthy.
    pub panic: bool,
}

/// The routes of `eskip` handlers, those of one handler behind those of another.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RouteListing {
    /// As they run: with default filters, changes and clones.
    pub routes: Vec<eskip::Route>,
    /// The ids of those that were left out, and why.
    pub invalid: Vec<(String, String)>,
    /// When the newest of them were read.
    pub made: SystemTime,
}

/// How a circuit breaker stands, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BreakerState {
    /// All requests go through.
    Closed,
    /// A few requests try the upstream.
    HalfOpen,
    /// No request goes through.
    Open,
}

/// A pod of a Doors app that requests with a token reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PodState {
    /// Where it is.
    pub address: SocketAddr,
    /// Its server, as `host:port`: the name that leads to the fresh pod.
    pub server: String,
    /// Requests that wait for an answer.
    pub requests: u32,
    /// Answers that have begun and not ended, and upgraded connections.
    pub streams: u32,
    /// The time since the last request with a token came, in whole seconds.
    pub idle: Duration,
    /// Whether the name of its server leads to it now. One that is not fresh is draining, and empty once it has neither
    /// requests nor streams and its sessions have ended.
    pub fresh: bool,
}

/// A database of the countries of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GeoState {
    /// Where its archive comes from, without user, password and query; `ipverse` for the usual place.
    pub source: String,
    /// How long ago the source last said that the data is current; `None` without data.
    pub age: Option<Duration>,
    /// How many countries have networks.
    pub countries: usize,
    /// How many IPv4 networks there are.
    pub ipv4: usize,
    /// How many IPv6 networks there are.
    pub ipv6: usize,
    /// Bytes of memory that the table takes.
    pub bytes: usize,
    /// Why the last try to fetch the archive failed; `None` if it succeeded.
    pub last_error: Option<String>,
    /// Tries that failed since the last that succeeded.
    pub failures: u32,
    /// How long it is until the next try; `None` if none is due.
    pub next_try: Option<Duration>,
}

/// The internal certificate authority.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Authority {
    /// The common name of its root.
    pub name: String,
    /// The root certificate in DER form.
    pub root: Vec<u8>,
}

// === impl GeoState ===

impl GeoState {
    fn of(source: String, status: &geo_db::Status, now: SystemTime) -> Self {
        let loaded = status.loaded.as_ref();
        let prefixes = loaded.map(|loaded| loaded.prefixes).unwrap_or_default();
        Self {
            source,
            age: status.age(now),
            countries: loaded.map_or(0, |loaded| loaded.countries),
            ipv4: prefixes.ipv4,
            ipv6: prefixes.ipv6,
            bytes: loaded.map_or(0, |loaded| loaded.bytes),
            last_error: status.last_error.clone(),
            failures: status.failures,
            next_try: status
                .next_try
                .map(|next| next.duration_since(now).unwrap_or_default()),
        }
    }
}

// === impl UpstreamState ===

impl UpstreamState {
    /// What does not depend on who asks for it.
    fn of(upstream: &Upstream) -> Self {
        Self {
            address: upstream.to_string(),
            requests: upstream.slot().in_flight(),
            fails: health::fails(upstream.slot(), Instant::now),
            healthy: true,
            active: None,
            breaker: None,
            panic: false,
        }
    }

    /// What one of its proxies knows of it.
    fn add(&mut self, upstream: &Upstream, now: Instant) {
        self.healthy &= matches!(upstream.trouble(), None | Some(Trouble::Full));
        let health = upstream.health();
        if let Some(check) = &health.check {
            self.active = Some(self.active.unwrap_or(true) && check.is_healthy());
        }
        let breaker = health.breaker.as_ref().map(|breaker| breaker.stand(now).into());
        self.breaker = self.breaker.max(breaker);
    }
}

// === impl BreakerState ===

impl BreakerState {
    /// As configurations and metrics name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half_open",
            Self::Open => "open",
        }
    }
}

impl From<Stand> for BreakerState {
    fn from(stand: Stand) -> Self {
        match stand {
            Stand::Closed => Self::Closed,
            Stand::HalfOpen => Self::HalfOpen,
            Stand::Open => Self::Open,
        }
    }
}

// === impl Reconciler ===

impl Reconciler {
    /// See [`Control::upstreams`](super::Control::upstreams).
    pub(super) fn upstreams(&self) -> Vec<UpstreamState> {
        let (view, now) = (self.views.current(), Instant::now());
        let mut all: BTreeMap<Arc<str>, UpstreamState> = BTreeMap::new();
        for cluster in view.all_clusters() {
            let panics = cluster.panics.load(Ordering::Relaxed);
            for upstream in &cluster.source.known() {
                let label = Arc::clone(upstream.slot().label());
                let state = all.entry(label).or_insert_with(|| UpstreamState::of(upstream));
                state.add(upstream, now);
                state.panic |= panics;
            }
        }
        all.into_values().collect()
    }

    /// See [`Control::pods`](super::Control::pods).
    pub(super) fn pods(&self) -> Vec<PodState> {
        let servers = self.by_label();
        let mut pods: BTreeMap<SocketAddr, PodState> = BTreeMap::new();
        for worker in &self.workers {
            for seen in worker.pods.seen(worker.seconds()) {
                let server = servers.get(seen.server.label());
                let pod = pods.entry(seen.address).or_insert_with(|| PodState {
                    address: seen.address,
                    server: seen.server.label().to_string(),
                    requests: 0,
                    streams: 0,
                    idle: seen.idle,
                    fresh: server.is_some_and(|server| server.leads_to(seen.address.ip())),
                });
                pod.requests += seen.requests;
                pod.streams += seen.streams;
                pod.idle = pod.idle.min(seen.idle);
            }
        }
        pods.into_values().collect()
    }

    /// See [`Control::routes`](super::Control::routes).
    pub(super) fn routes(&self) -> RouteListing {
        let view = self.views.current();
        let invalid = view.tables.iter().flat_map(|table| &table.invalid);
        RouteListing {
            routes: view
                .tables
                .iter()
                .flat_map(|table| table.listed.clone())
                .collect(),
            invalid: invalid
                .map(|invalid| {
                    let id = invalid.id.as_deref().unwrap_or_default();
                    (id.to_owned(), invalid.reason.to_string())
                })
                .collect(),
            made: view
                .tables
                .iter()
                .map(|table| table.made)
                .max()
                .unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }

    /// See [`Control::geo`](super::Control::geo).
    pub(super) fn geo(&self) -> Vec<GeoState> {
        let now = clock::wall();
        let all = self.surroundings.geo.statuses().into_iter();
        all.map(|(source, status)| GeoState::of(source, &status, now))
            .collect()
    }

    /// See [`Control::metrics`](super::Control::metrics).
    pub(super) fn metrics(&self, accept: Option<&str>) -> Page {
        self.surroundings.metrics.page(Format::accepted(accept))
    }

    /// Counts a configuration that did not come so far as to be prepared.
    pub(super) fn refused(&self) {
        self.surroundings.metrics.loaded(false, clock::wall());
    }

    /// Counts a request to the admin API.
    pub(super) fn asked(&self, code: u16, method: &'static str, path: &'static str, failed: bool) {
        self.surroundings.metrics.asked(code, method, path, failed);
    }

    /// See [`Control::authority`](super::Control::authority).
    pub(super) fn authority(&self) -> Option<Authority> {
        let (name, root) = self.surroundings.certificates.known_root()?;
        Some(Authority { name, root })
    }

    /// The upstreams of the running configuration, each once.
    fn by_label(&self) -> BTreeMap<Arc<str>, Upstream> {
        let view = self.views.current();
        let all = view.all_clusters().flat_map(|cluster| cluster.source.known());
        all.map(|upstream| (Arc::clone(upstream.slot().label()), upstream))
            .collect()
    }
}
