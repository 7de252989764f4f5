//! What filters say of all requests of a route.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use http::StatusCode;

use crate::Template;

/// What holds for all requests of a route. Of two filters that say the same thing the later one is right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteSettings {
    /// Whether the backend is told the Host of the request, not its own. Default: as the whole proxy does.
    pub preserve_host: Option<bool>,
    /// How long the backend has for everything: the connection, the head and the body. Default: no limit.
    pub backend_timeout: Option<Duration>,
    /// How long the client has for the body of its request. Default: that of the server.
    pub read_timeout: Option<Duration>,
    /// How long the client has to take the answer. Default: that of the server.
    pub write_timeout: Option<Duration>,
    /// The breaker of the backend. Default: that of its host, else that of the whole proxy.
    pub breaker: Option<Breaker>,
    /// What `consistentHash` goes by. Default: the address of the client.
    pub hash_key: Option<Template>,
    /// How far above the average an endpoint's load may be with `consistentHash`, as a factor. Default: any load.
    pub balance_factor: Option<f64>,
    /// How new endpoints begin. Default: as all others.
    pub fade_in: Option<FadeIn>,
    /// When endpoints were made, by their host and port in lower case. Default: when they were first seen.
    pub created: Vec<(String, SystemTime)>,
    /// Which answers have a line in the access log. Default: as the server says.
    pub access_log: Option<AccessLog>,
    /// Whether the backend is a proxy, and gets the whole URL of the request.
    pub backend_is_proxy: bool,
    /// How many requests each endpoint gets in a time; see [`BackendLimits`](super::BackendLimits). Default: any number.
    pub backend_limit: Option<BackendLimit>,
    /// Whether limits of how many requests there may be in a time are switched off.
    pub is_unlimited: bool,
    /// What `annotate` says.
    pub annotations: Vec<(String, String)>,
    /// What the route was made of, if it says so.
    pub origin: Option<Origin>,
    /// The last filter of each kind of which only the last one of a route works, by the name of the kind.
    pub last: Vec<(&'static str, Switch)>,
}

/// What a route was made of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Origin {
    /// What kind of thing, such as `ingress`.
    pub kind: String,
    /// Which one.
    pub id: String,
    /// When it was created.
    pub created: SystemTime,
}

/// Turns a filter off that a later one of its route replaces.
#[derive(Clone, Debug)]
pub struct Switch(Arc<AtomicBool>);

/// When a backend is left alone.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Breaker {
    /// What opens it; `None` leaves that to less specific settings.
    pub kind: Option<BreakerKind>,
    /// How long it stays open. Default 60 s.
    pub timeout: Option<Duration>,
    /// How many requests try the backend then, and how many of them must succeed. Default 1.
    pub half_open: Option<u32>,
    /// How long it is remembered without requests. Default 1 h.
    pub idle_ttl: Option<Duration>,
}

/// What opens a breaker.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BreakerKind {
    /// So many failures in a row.
    Consecutive {
        /// How many.
        failures: u32,
    },
    /// So many failures among the last requests.
    Rate {
        /// How many.
        failures: u32,
        /// Among how many requests.
        window: u32,
    },
    /// Nothing: there is no breaker.
    Disabled,
}

/// How many requests an endpoint gets in a time.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct BackendLimit {
    /// Routes with the same limit of the same group are counted together.
    pub group: String,
    /// How many, in every stretch of time of the window's length.
    pub most: u32,
    /// The length.
    pub window: Duration,
    /// The status of the answer to what is above. Default 503.
    pub status: StatusCode,
}

/// How the share of an endpoint that is new grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FadeIn {
    /// How long it takes.
    pub duration: Duration,
    /// The share is (age / duration) to the power of this. Default 1.
    pub exponent: f64,
}

/// Which answers have a line in the access log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AccessLog {
    /// Whether those of the list have one and the others have none, or the other way round.
    pub enabled: bool,
    /// One digit is a class of statuses, two are the first two digits, three are a status. Empty: all.
    pub statuses: Vec<u16>,
}

// === impl RouteSettings ===

impl RouteSettings {
    /// Takes a filter for the last one of its kind, and turns off the one that was it.
    pub fn set_last(&mut self, kind: &'static str, switch: &Switch) {
        match self.last.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, last)) => std::mem::replace(last, switch.clone()).turn_off(),
            None => self.last.push((kind, switch.clone())),
        }
    }
}

// === impl Switch ===

impl Switch {
    /// Whether the filter works.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn turn_off(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Default for Switch {
    /// Turned on.
    fn default() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

impl PartialEq for Switch {
    /// Whether it is the switch of the same filter.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

// === impl AccessLog ===

impl AccessLog {
    /// Whether an answer with this status has a line.
    #[must_use]
    pub fn has(&self, status: u16) -> bool {
        let is_meant = |prefix: &u16| match prefix {
            0..=9 => status / 100 == *prefix,
            10..=99 => status / 10 == *prefix,
            _ => status == *prefix,
        };
        let listed = self.statuses.is_empty() || self.statuses.iter().any(is_meant);
        listed == self.enabled
    }
}
