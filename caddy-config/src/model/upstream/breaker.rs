//! When an upstream that fails is left alone for a while.

use std::time::Duration;

use serde::Serialize;

use super::nanos;

/// A circuit breaker for each upstream: while it is open, the upstream gets no requests. Doorway's own; Caddy has only
/// the place for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CircuitBreaker {
    /// What opens it; `type` in JSON, with its numbers beside.
    #[serde(flatten)]
    pub rule: BreakerRule,
    /// How long it stays open before requests are let through to try the upstream; `None` is a minute.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub timeout: Option<Duration>,
    /// How many requests at once may try then, and how many of them must succeed; `None` is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_open_requests: Option<u32>,
}

/// What opens a circuit breaker. A request fails if it gets no answer, or one of 500 or above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BreakerRule {
    /// So many failures in a row.
    Consecutive {
        /// At least one.
        failures: u32,
    },
    /// So many failures among the last requests.
    Rate {
        /// At least one, and at most `window`.
        failures: u32,
        /// How many requests are looked back on; at most 65,536.
        window: u32,
    },
}

// === impl BreakerRule ===

impl BreakerRule {
    /// The names in a configuration.
    pub(crate) const NAMES: [&str; 2] = ["consecutive", "rate"];
}
