//! Host documents as sites.

use std::sync::Arc;

use route_sources::{Kind, Merge, Route, Snapshot};

use super::*;
use crate::forward::hosts::Hosts;
use crate::memory::surroundings;

/// As it comes out of a store.
fn document(number: usize) -> HostDocument {
    let [a, b, c] = [number / 65536 % 256, number / 256 % 256, number % 256];
    let text = format!(
        r#"{{"host": "host{number}.example.test", "upstreams": [{{"address": "10.{a}.{b}.{c}:8080"}}]}}"#
    );
    route_store::document::read(&text).unwrap()
}

#[test]
fn a_host_takes_little_memory() {
    const HOSTS: usize = 10_000;
    let around = surroundings();
    let (mut parts, mut last) = (Vec::new(), 0);
    let mut kept = None;
    let all = allocation_counter::measure(|| {
        let mut routes = Vec::with_capacity(HOSTS);
        let cost = allocation_counter::measure(|| {
            routes.extend((0..HOSTS).map(|number| Route::Document(Arc::new(document(number)))));
        });
        parts.push(("the document", cost.bytes_current));
        let mut merge = Merge::default();
        let mut delta = None;
        let cost = allocation_counter::measure(|| {
            let snapshot = Snapshot {
                routes,
                ..Snapshot::default()
            };
            delta = Some(merge.update(Kind::Store, Arc::new(snapshot)));
        });
        parts.push(("its place in the merge, and what changes", cost.bytes_current));
        let cost = allocation_counter::measure(|| {
            let sites = delta.iter().flat_map(|delta| &delta.set).map(|(name, route)| {
                let Route::Document(document) = route else {
                    panic!("all are documents")
                };
                let site = site(&around, document, 443).unwrap();
                (name.clone(), Some(Arc::new(site)))
            });
            let hosts = Hosts::default().with(sites);
            last = hosts.len();
            kept = Some((hosts, merge));
        });
        parts.push(("its site", cost.bytes_current));
    });
    let each = |bytes: i64| bytes / HOSTS as i64;
    for (part, bytes) in parts {
        println!("  {part:<45} {:>6} bytes", each(bytes));
    }
    println!("  {:<45} {:>6} bytes", "a host in all", each(all.bytes_current));
    assert_eq!(last, HOSTS);
    assert!(each(all.bytes_current) < 2048);
}

#[test]
fn every_policy_that_a_document_may_name_can_be_built() {
    let around = surroundings();
    for policy in LOAD_BALANCING {
        let mut raw = document(1).raw().clone();
        raw.target.load_balancing = Some(policy.to_owned());
        let document = HostDocument::check(raw).unwrap();
        let built = site(&around, &document, 443);
        assert!(built.is_ok(), "{policy}: {built:?}");
    }
}
