//! How long changes of hosts take where there are many.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caddy_config::Config;
use route_sources::{HostDocument, Kind, Merge, Route, Snapshot};
use route_store::document::{Raw, RawTarget, RawUpstream};

use super::{Options, Proxy};

const HOSTS: usize = 100_000;

fn route(number: usize, port: u16) -> Route {
    let [a, b, c] = [number / 65536 % 256, number / 256 % 256, number % 256];
    let raw = Raw {
        host: format!("host{number}.example.test"),
        target: RawTarget {
            upstreams: Some(vec![RawUpstream {
                address: format!("10.{a}.{b}.{c}:{port}"),
                ..RawUpstream::default()
            }]),
            ..RawTarget::default()
        },
        ..Raw::default()
    };
    Route::Document(Arc::new(HostDocument::check(raw).unwrap()))
}

fn snapshot(routes: Vec<Route>) -> Arc<Snapshot> {
    Arc::new(Snapshot {
        routes,
        ..Snapshot::default()
    })
}

fn told(what: &str, time: Duration) {
    println!("  {what:<55} {:>9.3} ms", time.as_secs_f64() * 1000.0);
}

#[tokio::test]
#[ignore = "prints times that mean something in a release build only; `cargo xtask bench --hosts` runs it"]
#[expect(clippy::disallowed_methods, reason = "it measures")]
async fn the_time_that_changes_take() {
    let options = Options {
        listen: false,
        ..Options::default()
    };
    let mut routes: Vec<Route> = (0..HOSTS).map(|number| route(number, 8080)).collect();
    let before = resident();
    let all = snapshot(routes.clone());
    let other = snapshot((0..HOSTS).map(|number| route(number, 8081)).collect());
    let start = Instant::now();
    let merged = route_sources::merge(&[
        (Kind::Docker, Arc::clone(&other)),
        (Kind::Store, Arc::clone(&all)),
    ]);
    told("merge of two sources with 100,000 hosts each", start.elapsed());
    assert_eq!(merged.conflicts.len(), HOSTS);
    drop((merged, other));
    let mut merge = Merge::default();
    let start = Instant::now();
    let delta = merge.update(Kind::Store, Arc::clone(&all));
    told("merge of one source with 100,000 hosts", start.elapsed());
    assert_eq!(delta.set.len(), HOSTS);
    drop((delta, merge));

    let proxy = Proxy::build(&Config::default(), &options).unwrap();
    let reconciler = proxy.reconciler();
    let start = Instant::now();
    reconciler.take_snapshot(Kind::Store, all).await;
    told("100,000 hosts built and served", start.elapsed());
    let mut times = Vec::new();
    for round in 0..50_u16 {
        let number = usize::from(round) * 1999 % HOSTS;
        routes[number] = route(number, 9000 + round);
        let next = snapshot(routes.clone());
        let start = Instant::now();
        reconciler.take_snapshot(Kind::Store, next).await;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    told("one host changed, median", times[times.len() / 2]);
    told("one host changed, slowest of 50", times[times.len() - 1]);
    if let (Some(before), Some(after)) = (before, resident()) {
        println!(
            "  memory for each host, documents and all {:>25} bytes",
            after.saturating_sub(before) / HOSTS
        );
    }
}

/// Bytes of memory that the process has, if the system tells.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: usize = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
