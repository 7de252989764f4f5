//! Host documents as sites.

use std::sync::Arc;

use route_store::document::{Raw, RawTarget, RawUpstream};

use super::*;
use crate::forward::hosts::Hosts;
use crate::memory::surroundings;

fn document(number: usize) -> HostDocument {
    let [a, b, c] = [number / 65536 % 256, number / 256 % 256, number % 256];
    HostDocument::check(Raw {
        host: format!("host{number}.example.test"),
        target: RawTarget {
            upstreams: Some(vec![RawUpstream {
                address: format!("10.{a}.{b}.{c}:8080"),
                ..RawUpstream::default()
            }]),
            ..RawTarget::default()
        },
        ..Raw::default()
    })
    .unwrap()
}

#[test]
fn a_host_takes_little_memory() {
    const HOSTS: usize = 10_000;
    let around = surroundings();
    let mut kept = None;
    let documents: Vec<_> = (0..HOSTS).map(|number| Arc::new(document(number))).collect();
    let cost = allocation_counter::measure(|| {
        let sites = documents.iter().map(|document| {
            let site = site(&around, document, 443).unwrap();
            (document.host().clone(), Some(Arc::new(site)))
        });
        kept = Some(Hosts::default().with(sites));
    });
    let bytes = cost.bytes_current / HOSTS as i64;
    println!("  a host takes {bytes} bytes beside its document");
    assert_eq!(kept.unwrap().len(), HOSTS);
    assert!(bytes < 2048, "{bytes}");
}

#[test]
fn sizes() {
    macro_rules! size { ($($t:ty),*) => { $(println!("  {} {}", stringify!($t), size_of::<$t>());)* } }
    size!(
        Site,
        crate::forward::view::Rules,
        crate::routing::routes::Routes,
        crate::routing::host_index::HostIndex,
        crate::routing::routes::Route,
        crate::routing::routes::Handler,
        crate::upstream::cluster::Cluster,
        crate::upstream::cluster::Source,
        crate::upstream::cluster::Upstream,
        crate::upstream::transport::Transport,
        crate::upstream::transport::Way,
        crate::upstream::resolve::Name,
        crate::upstream::resolve::Answer,
        crate::upstream::load::Slot,
        crate::upstream::standing::Standing,
        crate::upstream::health::Failures,
        crate::upstream::retry::Retry,
        crate::upstream::budget::Budget,
        crate::failure_log::FailureGates,
        crate::upstream::discovery::Dynamic,
        Raw,
        HostDocument,
        crate::upstream::health::Health
    );
}
