//! Tables that are replaced while requests come.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use proxy_core::Options;
use tokio::time;

use crate::support::origin::{Recorder, Reply};
use crate::support::rig::get;

use super::filters::Seen;
use super::{RoutesFile, backend, site};

/// How many tables there are in all, and how far they are apart.
const VERSIONS: usize = 30;
const BETWEEN: Duration = Duration::from_millis(100);

/// Routes of one version: every way of a request notes it, at each of its places.
fn version(number: usize, to: &str) -> String {
    let mut routes = String::new();
    let mark = format!("setResponseHeader(\"X-Version\", \"{number}\")");
    let note = format!("appendResponseHeader(\"X-Version\", \"{number}\")");
    for (path, rest) in [
        ("direct", format!("-> {to}")),
        ("balanced", format!("-> <roundRobin, {to}, {to}>")),
        ("shunt", "-> serve(200, \"ok\") -> <shunt>".to_owned()),
        ("dynamic", format!("-> setDynamicBackendUrl({to}) -> <dynamic>")),
        (
            "breaker",
            format!("-> consecutiveBreaker(3) -> backendTimeout(\"1m\") -> {to}"),
        ),
    ] {
        writeln!(
            routes,
            "{path}: Path(\"/{path}\") -> {note} {rest};
             {path}_out: Path(\"/loop/{path}\") -> {note} -> setRequestHeader(\"X-Inner\", \"{path}{number}\") -> <loopback>;
             {path}_in: Path(\"/loop/{path}\") && Header(\"X-Inner\", \"{path}{number}\") -> {mark} {rest};"
        )
        .expect("writing to memory");
    }
    routes
}

#[tokio::test]
async fn requests_are_answered_by_one_version_each_while_tables_change() {
    let origin = Recorder::start(Ipv4Addr::LOCALHOST, |_| Reply::ok("ok")).await;
    let to = backend(origin.addr());
    let file = RoutesFile::new(&version(0, &to));
    let options = Options {
        workers: 2,
        ..Seen::new().options()
    };
    let rig = Arc::new(site(&options, &file.directives()));
    let (over, newest) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let mut clients = Vec::new();
    for client in 0..8 {
        let (rig, over, newest) = (Arc::clone(&rig), Arc::clone(&over), Arc::clone(&newest));
        clients.push(tokio::spawn(async move {
            let mut wire = rig.wire().await;
            let mut last = 0;
            let mut count = 0_usize;
            let paths = ["direct", "balanced", "shunt", "dynamic", "breaker"];
            while !over.load(Ordering::Relaxed) {
                let is_loop = (count + client).is_multiple_of(2);
                let path = paths[count % paths.len()];
                let path = if is_loop {
                    format!("/loop/{path}")
                } else {
                    format!("/{path}")
                };
                let answer = wire.ask(get(&path)).await;
                assert_eq!(
                    (answer.head.status(), answer.body.as_slice()),
                    (200, b"ok".as_slice()),
                    "{path}"
                );
                let versions = answer.head.all("x-version");
                assert_eq!(versions.len(), 1 + usize::from(is_loop), "{path}: {versions:?}");
                assert!(
                    versions.iter().all(|version| *version == versions[0]),
                    "{path}: {versions:?}"
                );
                let version: usize = versions[0].parse().expect("a number");
                assert!(version >= last, "{version} after {last}: no table comes back");
                assert!(version <= newest.load(Ordering::Relaxed));
                last = version;
                count += 1;
            }
            (count, last)
        }));
    }
    let mut ticks = time::interval(BETWEEN);
    for number in 1..=VERSIONS {
        ticks.tick().await;
        newest.store(number, Ordering::Relaxed);
        file.write(&version(number, &to));
    }
    // The last one is seen by all who still ask.
    super::until_version(&rig, VERSIONS).await;
    over.store(true, Ordering::Relaxed);
    for client in clients {
        let (count, last) = client.await.expect("no request fails");
        assert!(count > 0 && last > 0, "{count} requests, the last by {last}");
    }
    // Kept connections outlive tables: there are not many more than clients.
    assert!(origin.accepted() < 8 * 5 * VERSIONS / 3, "{}", origin.accepted());
}
