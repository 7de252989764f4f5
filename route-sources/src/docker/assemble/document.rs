//! How routes of one host are written as one document.

use std::cmp::Reverse;

use route_store::document::{Raw, RawPath, RawTarget, RawUpstream, SCHEMA_VERSION};

use crate::docker::labels::Definition;

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
        let target = target(definition, upstreams.clone());
        // The fields of the host are changed at all paths, so those of one of several routes stay with it.
        if definition.paths.is_empty() && (targets.len() == 1 || definition.headers.is_none()) {
            raw.headers = definition.headers.clone().map(Box::new);
            raw.target = target;
            continue;
        }
        let mut patterns = definition.paths.clone();
        if patterns.is_empty() {
            patterns.push("/*".to_owned());
        }
        raw.paths.push(RawPath {
            patterns,
            headers: definition.headers.clone().map(Box::new),
            target,
        });
    }
    raw.paths.sort_by_key(|path| {
        let longest = path.patterns.iter().map(String::len).max();
        (Reverse(longest), path.patterns.clone())
    });
    raw
}

fn target(definition: &Definition, upstreams: Vec<RawUpstream>) -> RawTarget {
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
        return Some("handlers or logins");
    }
    if one.headers != other.headers {
        return Some("header fields");
    }
    (one.load_balancing != other.load_balancing).then_some("labels of load balancing")
}
