//! Counters: written by each worker for itself, summed when read.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Reason, Side};

/// What a proxy has counted since it was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Client connections accepted.
    pub connections: u64,
    /// Requests received.
    pub requests: u64,
    /// Requests refused because of the client: a bad head or body.
    pub client_errors: u64,
    /// Requests whose client left before the head of the answer.
    pub client_gone: u64,
    /// System requests whose token does not decode or lies outside every CIDR.
    pub bad_tokens: u64,
    /// System requests whose pod refuses connections.
    pub dead_pods: u64,
    /// Requests that failed because of the upstream, dead pods apart.
    pub upstream_errors: u64,
    /// Requests that were sent again because nothing of them can have reached an application.
    pub retries: u64,
    /// Connections opened to upstreams.
    pub upstream_connects: u64,
    /// Access log lines that were dropped because the log could not be written fast enough.
    pub log_lines_dropped: u64,
}

/// The counters of one worker.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) connections: Counter,
    pub(crate) requests: Counter,
    pub(crate) retries: Counter,
    pub(crate) upstream_connects: Counter,
    pub(crate) log_lines_dropped: Counter,
    client_errors: Counter,
    client_gone: Counter,
    bad_tokens: Counter,
    dead_pods: Counter,
    upstream_errors: Counter,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

// === impl Counters ===

impl Counters {
    /// Counts a failed request.
    pub(crate) fn failed(&self, reason: Reason) {
        let counter = match (reason, reason.side()) {
            // As configured: nothing failed.
            (Reason::Raised, _) => return,
            (Reason::BadToken, _) => &self.bad_tokens,
            (Reason::DeadPod, _) => &self.dead_pods,
            (Reason::ClientGone, _) => &self.client_gone,
            (_, Side::Client) => &self.client_errors,
            (_, Side::Upstream | Side::Proxy) => &self.upstream_errors,
        };
        counter.add();
    }

    /// Adds these counters to `sum`.
    pub(crate) fn add_to(&self, sum: &mut Stats) {
        sum.connections += self.connections.get();
        sum.requests += self.requests.get();
        sum.client_errors += self.client_errors.get();
        sum.client_gone += self.client_gone.get();
        sum.bad_tokens += self.bad_tokens.get();
        sum.dead_pods += self.dead_pods.get();
        sum.upstream_errors += self.upstream_errors.get();
        sum.retries += self.retries.get();
        sum.upstream_connects += self.upstream_connects.get();
        sum.log_lines_dropped += self.log_lines_dropped.get();
    }
}

// === impl Counter ===

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
