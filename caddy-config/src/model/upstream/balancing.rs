//! Which of several upstreams is taken, and how often another one is tried.

use std::time::Duration;

use serde::Serialize;

use super::{super::Secret, MatcherSet, nanos};

/// Which of several upstreams is taken, and how often another one is tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoadBalancing {
    /// `None` is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection_policy: Option<SelectionPolicy>,
    /// Attempts beside the first; `None` is none, unless `try_duration` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How long further attempts are begun; `None` is no time, unless `retries` is set.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub try_duration: Option<Duration>,
    /// The pause between two attempts; `None` is a quarter of a second with `try_duration`, else none.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub try_interval: Option<Duration>,
    /// Which requests may be sent again after bytes of them were sent: any of these sets must match. Empty is those
    /// with the method GET.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retry_match: Vec<MatcherSet>,
    /// How many attempts may go to upstreams that are failing; `None` is the default of [`RetryBudget`]. Doorway's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_budget: Option<RetryBudget>,
    /// How long an upstream that came, or came back, takes fewer requests than the others; `None` is no time. Doorway's
    /// own.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub slow_start: Option<Duration>,
    /// If fewer than this many percent of the upstreams are healthy, health is not looked at: all share the load. `None`
    /// is never, as in Caddy: with none healthy the answer is 503. Doorway's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub panic_threshold: Option<u32>,
}

/// Limits of attempts beside the first that go to an upstream which is failing, or which may have worked on the request
/// already. Both together are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RetryBudget {
    /// So many for a hundred requests; `None` is 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u32>,
    /// So many a second, however few requests there are; `None` is 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_per_second: Option<u32>,
}

/// The rule of choice; `policy` in JSON. Only available upstreams are looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "policy", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SelectionPolicy {
    /// By the hash of the client's address, found out through trusted proxies.
    ClientIpHash {},
    /// By the hash of a text with placeholders. Doorway's own.
    ConsistentHash(KeyPolicy),
    /// By a cookie, which is set where it is missing.
    Cookie(CookiePolicy),
    /// The first one.
    First {},
    /// By the hash of a request field.
    Header(FieldPolicy),
    /// By the hash of the peer's address.
    IpHash {},
    /// The one with the fewest requests in flight.
    LeastConn {},
    /// Of two chosen at random, the one that is likely to answer sooner, by the latency of its answers and its requests
    /// in flight. Doorway's own.
    PeakEwma {},
    /// By the hash of a parameter of the query.
    Query(QueryPolicy),
    /// Any one, all equally likely.
    Random {},
    /// Of some chosen at random, the one with the fewest requests in flight.
    RandomChoose {
        /// How many; `None` is 2. At least 2.
        #[serde(skip_serializing_if = "Option::is_none")]
        choose: Option<u32>,
    },
    /// One after the other.
    RoundRobin {},
    /// By the hash of path and query.
    UriHash {},
    /// One after the other, each as often as its weight says.
    WeightedRoundRobin {
        /// One for each upstream, in their order; 0 leaves it out.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        weights: Vec<u32>,
    },
}

/// Chooses by a cookie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CookiePolicy {
    /// Its name; `None` is `lb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The key of the hash of the upstream's address that is its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<Secret>,
    /// How long browsers keep it; `None` is until they are closed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub max_age: Option<Duration>,
    /// The rule for requests without it; `None` is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Box<SelectionPolicy>>,
}

/// Chooses by a text with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyPolicy {
    /// The text. An empty one is a request without a key.
    pub key: String,
    /// The most requests in flight at one upstream, in percent of the average, before its keys go to others; `None` is no
    /// limit. At least 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<u32>,
    /// The rule for requests without a key; `None` is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Box<SelectionPolicy>>,
}

/// Chooses by a request field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FieldPolicy {
    /// Its name.
    pub field: String,
    /// The rule for requests without it; `None` is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Box<SelectionPolicy>>,
}

/// Chooses by a parameter of the query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueryPolicy {
    /// Its name.
    pub key: String,
    /// The rule for requests without it; `None` is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Box<SelectionPolicy>>,
}

// === impl SelectionPolicy ===

impl SelectionPolicy {
    /// The names of all policies, sorted.
    pub(crate) const NAMES: [&'static str; 14] = [
        "client_ip_hash",
        "consistent_hash",
        "cookie",
        "first",
        "header",
        "ip_hash",
        "least_conn",
        "peak_ewma",
        "query",
        "random",
        "random_choose",
        "round_robin",
        "uri_hash",
        "weighted_round_robin",
    ];

    /// Its name in the text.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::ClientIpHash {} => "client_ip_hash",
            Self::ConsistentHash(_) => "consistent_hash",
            Self::Cookie(_) => "cookie",
            Self::First {} => "first",
            Self::Header(_) => "header",
            Self::IpHash {} => "ip_hash",
            Self::LeastConn {} => "least_conn",
            Self::PeakEwma {} => "peak_ewma",
            Self::Query(_) => "query",
            Self::Random {} => "random",
            Self::RandomChoose { .. } => "random_choose",
            Self::RoundRobin {} => "round_robin",
            Self::UriHash {} => "uri_hash",
            Self::WeightedRoundRobin { .. } => "weighted_round_robin",
        }
    }

    /// The policy of a name that takes nothing.
    pub(crate) fn plain(name: &str) -> Option<Self> {
        match name {
            "client_ip_hash" => Some(Self::ClientIpHash {}),
            "first" => Some(Self::First {}),
            "ip_hash" => Some(Self::IpHash {}),
            "least_conn" => Some(Self::LeastConn {}),
            "peak_ewma" => Some(Self::PeakEwma {}),
            "random" => Some(Self::Random {}),
            "round_robin" => Some(Self::RoundRobin {}),
            "uri_hash" => Some(Self::UriHash {}),
            _ => None,
        }
    }
}
