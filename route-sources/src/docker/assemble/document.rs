//! How routes of one host are written as one document.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use route_store::document::{Raw, RawPath, RawTarget, RawUpstream, SCHEMA_VERSION};

use crate::docker::labels::Definition;

/// The pattern of all paths.
const EVERYTHING: &str = "/*";

/// One document of the routes of a host, of which the first says what is the same for all paths.
///
/// Longer patterns are before shorter ones; what is for all paths is last.
pub(super) fn raw(targets: &[(&Definition, Vec<RawUpstream>)]) -> Raw {
    let Some((first, _)) = targets.first() else {
        return Raw::default();
    };
    let mut hosts = first.hosts.iter().cloned();
    let mut raw = Raw {
        schema_version: SCHEMA_VERSION,
        host: hosts.next().unwrap_or_default(),
        aliases: hosts.collect(),
        tls: first.tls.clone().map(Box::new),
        ..Raw::default()
    };
    for (definition, upstreams) in targets {
        let headers = definition.headers.clone().map(Box::new);
        let target = target(definition, upstreams.clone());
        // The fields of the host are changed at all paths, so those of one of several routes stay with it.
        if definition.paths.is_empty() && (targets.len() == 1 || headers.is_none()) {
            raw.headers = headers;
            raw.target = target;
            continue;
        }
        let mut patterns = definition.paths.clone();
        if patterns.is_empty() {
            patterns.push(EVERYTHING.to_owned());
        }
        raw.paths.push(RawPath {
            patterns,
            headers,
            target,
        });
    }
    raw.paths.sort_by_key(|path| {
        let longest = path.patterns.iter().map(String::len).max();
        (Reverse(longest), path.patterns.clone())
    });
    raw
}

/// The patterns of a route that others before it leave to it; those that only differ in case are one.
pub(super) fn left(definition: &Definition, taken: &mut BTreeSet<String>) -> Vec<String> {
    let paths = definition.paths.iter();
    paths
        .filter(|pattern| taken.insert(pattern.to_lowercase()))
        .cloned()
        .collect()
}

fn target(definition: &Definition, mut upstreams: Vec<RawUpstream>) -> RawTarget {
    let is_weighted = |policy: &str| policy == "weighted_round_robin";
    if definition
        .load_balancing
        .as_deref()
        .is_some_and(|policy| !is_weighted(policy))
    {
        // Another one with this route may have a weight, which this policy does not look at.
        upstreams.iter_mut().for_each(|upstream| upstream.weight = None);
    }
    RawTarget {
        upstreams: Some(upstreams),
        load_balancing: definition.load_balancing.clone(),
        handlers: definition.handlers.clone(),
        eskip: None,
    }
}

/// What differs of that which is the same for all paths.
pub(super) fn differs_for_host(one: &Definition, other: &Definition) -> Option<&'static str> {
    if one.hosts != other.hosts {
        return Some("aliases");
    }
    (one.tls != other.tls).then_some("files of TLS")
}

/// What differs of that which each path has.
pub(super) fn differs_for_paths(one: &Definition, other: &Definition) -> Option<&'static str> {
    if one.handlers != other.handlers {
        return Some("handlers or logins, without which it gets no requests,");
    }
    if one.headers != other.headers {
        return Some("header fields");
    }
    (one.load_balancing != other.load_balancing).then_some("labels of load balancing")
}
