//! What is told of the proxy in its metrics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use super::hosts::SourceCounts;
use super::{BreakerState, Reconciler, UpstreamState};
use crate::metrics::{Exposition, Facts, names};
use crate::skipper::table::Table;
use crate::stats::Stats;

// === impl Reconciler ===

impl Facts for Reconciler {
    fn write(&self, page: &mut Exposition) {
        let mut sum = Stats::default();
        let mut open = 0;
        for worker in &self.workers {
            worker.counters.add_to(&mut sum);
            open += worker.connections.len() as u64;
        }
        page.family(&names::CONNECTIONS).sample(&[], sum.connections);
        page.family(&names::CONNECTIONS_OPEN).sample(&[], open);
        page.family(&names::REQUESTS).sample(&[], sum.requests);
        let mut failed = page.family(&names::FAILED_REQUESTS);
        for (reason, count) in [
            ("bad_token", sum.bad_tokens),
            ("client", sum.client_errors),
            ("client_gone", sum.client_gone),
            ("dead_pod", sum.dead_pods),
            ("upstream", sum.upstream_errors),
        ] {
            failed.sample(&[("reason", reason)], count);
        }
        page.family(&names::RETRIES).sample(&[], sum.retries);
        page.family(&names::UPSTREAM_CONNECTS)
            .sample(&[], sum.upstream_connects);
        page.family(&names::LOG_LINES_DROPPED)
            .sample(&[], sum.log_lines_dropped);
        self.surroundings.geo.write(page);
        routes(page, &self.views.current().tables);
        self.hosts(page);
        let upstreams = self.upstreams();
        if upstreams.is_empty() {
            return;
        }
        let mut healthy = page.family(&names::UPSTREAM_HEALTHY);
        for upstream in &upstreams {
            healthy.sample(&[("upstream", &upstream.address)], u64::from(upstream.healthy));
        }
        breakers(page, &upstreams);
        let mut panic = page.family(&names::UPSTREAM_PANIC);
        for upstream in &upstreams {
            panic.sample(&[("upstream", &upstream.address)], u64::from(upstream.panic));
        }
        let mut in_flight = page.family(&names::UPSTREAM_IN_FLIGHT);
        for upstream in &upstreams {
            in_flight.sample(&[("upstream", &upstream.address)], upstream.requests.into());
        }
    }
}

impl Reconciler {
    /// What sources of hosts say.
    fn hosts(&self, page: &mut Exposition) {
        let counts = self.hosts_counted();
        if counts.sources.is_empty() {
            return;
        }
        let mut family = |family, value: fn(&SourceCounts) -> u64| {
            let mut samples = page.family(family);
            for (kind, counts) in &counts.sources {
                samples.sample(&[("source", kind.as_str())], value(counts));
            }
        };
        family(&names::ROUTES, |counts| as_u64(counts.routes));
        family(&names::ROUTES_INVALID, |counts| as_u64(counts.invalid));
        family(&names::ROUTES_STALE, |counts| u64::from(counts.is_stale));
        family(&names::ROUTES_UPDATED, |counts| counts.came);
        page.family(&names::ROUTE_NAMES).sample(&[], as_u64(counts.names));
        page.family(&names::ROUTE_CONFLICTS)
            .sample(&[], as_u64(counts.conflicts));
        page.family(&names::ROUTES_UNBUILT)
            .sample(&[], as_u64(counts.unbuilt));
        if let Some(applied) = *self.applied().borrow() {
            page.family(&names::ROUTES_APPLIED)
                .sample(&[], applied.revision.number);
        }
    }
}

fn routes(page: &mut Exposition, tables: &[Arc<Table>]) {
    let Some(updated) = tables.iter().map(|table| table.made).max() else {
        return;
    };
    let count: usize = tables.iter().map(|table| table.routes.len()).sum();
    page.family(&names::ESKIP_ROUTES).sample(&[], as_u64(count));
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for invalid in tables.iter().flat_map(|table| &table.invalid) {
        *reasons.entry(invalid.reason.name()).or_default() += 1;
    }
    if !reasons.is_empty() {
        let mut samples = page.family(&names::ESKIP_ROUTES_INVALID);
        for (reason, count) in reasons {
            samples.sample(&[("reason", reason)], as_u64(count));
        }
    }
    let seconds = updated.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    page.family(&names::ESKIP_UPDATED).sample(&[], seconds);
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn breakers(page: &mut Exposition, upstreams: &[UpstreamState]) {
    let known: Vec<(&str, BreakerState)> = upstreams
        .iter()
        .filter_map(|upstream| Some((upstream.address.as_str(), upstream.breaker?)))
        .collect();
    if known.is_empty() {
        return;
    }
    let mut samples = page.family(&names::UPSTREAM_BREAKER);
    for (upstream, stands) in known {
        for state in [BreakerState::Closed, BreakerState::HalfOpen, BreakerState::Open] {
            let labels = [("state", state.as_str()), ("upstream", upstream)];
            samples.sample(&labels, u64::from(state == stands));
        }
    }
}
