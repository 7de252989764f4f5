//! What an agent with many applications pays for a change, and for a look that finds none.

#![allow(clippy::unwrap_used, reason = "a benchmark stops by panicking")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use shipwick_routes::{App, Desired, RenderOptions, Replica, Upstream, render};

/// Applications, each with two replicas.
const APPS: usize = 10_000;

fn desired() -> Desired {
    let mut desired = Desired::new("unix//run/caddy/admin.sock".parse().unwrap());
    for app in 0..APPS {
        let replica = |number| {
            let name = format!("shipwick_app-{app}_7_{number}");
            Replica::running(Upstream::new(&name, 8080).unwrap())
        };
        let value = App {
            domain: Some(format!("app-{app}.example.com").parse().unwrap()),
            replicas: Some(vec![replica(1), replica(2)]),
            ..App::default()
        };
        desired.apps.insert(format!("app-{app}"), value);
    }
    desired
}

fn benches(criterion: &mut Criterion) {
    let (desired, same) = (desired(), desired());
    let options = RenderOptions::default();
    criterion.bench_function("render 10,000 apps", |bencher| {
        bencher.iter(|| render(black_box(&desired), black_box(&options)).fingerprint());
    });
    // What a source and a look that finds nothing new cost.
    criterion.bench_function("copy 10,000 apps and find them unchanged", |bencher| {
        bencher.iter(|| black_box(&desired).clone() == *black_box(&same));
    });
}

criterion_group!(group, benches);
criterion_main!(group);
