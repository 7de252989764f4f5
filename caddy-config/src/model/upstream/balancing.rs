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
}

/// The rule of choice; `policy` in JSON. Only available upstreams are looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "policy", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SelectionPolicy {
    /// By the hash of the client's address, found out through trusted proxies.
    ClientIpHash {},
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
    pub(crate) const NAMES: [&'static str; 12] = [
        "client_ip_hash",
        "cookie",
        "first",
        "header",
        "ip_hash",
        "least_conn",
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
            Self::Cookie(_) => "cookie",
            Self::First {} => "first",
            Self::Header(_) => "header",
            Self::IpHash {} => "ip_hash",
            Self::LeastConn {} => "least_conn",
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
            "random" => Some(Self::Random {}),
            "round_robin" => Some(Self::RoundRobin {}),
            "uri_hash" => Some(Self::UriHash {}),
            _ => None,
        }
    }
}
