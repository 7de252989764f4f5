//! How it is found out which upstreams can be taken.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

use super::{super::is_false, nanos};

/// How it is found out which upstreams can be taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HealthChecks {
    /// By asking them now and then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<ActiveChecks>,
    /// By what becomes of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passive: Option<PassiveChecks>,
}

/// Checks by requests of the proxy's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ActiveChecks {
    /// The path, as it was called once; `uri` comes before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Path and query to ask for; `None` is `/`. This, `port`, `upstream` or `tcp` turns the checks on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Whether it is enough that a connection can be opened: nothing is asked for then, and `uri` and all that is about
    /// answers has no meaning. Turns the checks on. Doorway's own.
    #[serde(skip_serializing_if = "is_false")]
    pub tcp: bool,
    /// Where to ask, instead of the upstream's own address. Turns the checks on; in Caddy it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The port to ask at, if not that of the upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Fields of the request, with placeholders.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Vec<String>>,
    /// `None` is GET.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The body of the request, with placeholders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Whether redirects are followed.
    #[serde(skip_serializing_if = "is_false")]
    pub follow_redirects: bool,
    /// The time between two checks; `None` is 30 seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub interval: Option<Duration>,
    /// How long an answer may take; `None` is five seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub timeout: Option<Duration>,
    /// Good answers in a row that make an upstream healthy; `None` is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
    /// Bad answers in a row that make an upstream unhealthy; `None` is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fails: Option<u32>,
    /// Bytes of an answer's body that are read; `None` is no limit in Caddy, 1 MiB in Doorway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_size: Option<u64>,
    /// The status of a good answer, or below 10 its class; `None` is any 2xx.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_status: Option<u16>,
    /// A regular expression that the body of a good answer matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_body: Option<String>,
}

/// Checks by what becomes of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PassiveChecks {
    /// How long a failure counts; `None` is not at all, which turns the checks off.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub fail_duration: Option<Duration>,
    /// Failures that make an upstream unhealthy; `None` is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_fails: Option<u32>,
    /// Requests in flight beyond which an upstream is not chosen; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unhealthy_request_count: Option<u32>,
    /// Statuses that count as failures; below 10, all of a class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unhealthy_status: Vec<u16>,
    /// Answers that take longer count as failures.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub unhealthy_latency: Option<Duration>,
}

// === impl ActiveChecks ===

impl ActiveChecks {
    /// The placeholder that stands for the upstream that is checked, in `headers` and `body`.
    pub const TARGET: &str = "{http.reverse_proxy.active.target_upstream}";

    /// Whether anything turns the checks on.
    pub const fn is_on(&self) -> bool {
        self.uri.is_some()
            || self.path.is_some()
            || self.port.is_some()
            || self.upstream.is_some()
            || self.tcp
    }
}
