//! How long it takes: printed, for whoever measures. `cargo test --release -p route-sources speed -- --ignored --nocapture`

use tokio::time::Instant;

use super::*;

const HOSTS: usize = 100_000;

fn routes(upstream: &str) -> Vec<Route> {
    let host = |number| format!("host-{number:06}.shops.example.com");
    (0..HOSTS)
        .map(|number| document(&host(number), &[], upstream))
        .collect()
}

#[test]
#[ignore = "prints times, which say something in release mode only"]
fn speed_of_a_hundred_thousand_hosts_of_two_sources() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (file, mut stored) = (routes("file:1"), routes("store:1"));
        let snapshots = (snapshot(&file), snapshot(&stored));
        let start = Instant::now();
        let mut merge = Merge::default();
        let first = merge.update(Kind::File, snapshots.0);
        let second = merge.update(Kind::Store, snapshots.1);
        println!("from scratch: {:?}", start.elapsed());
        assert_eq!((first.set.len(), second.set.len()), (HOSTS, HOSTS));

        for number in [0, HOSTS / 2, HOSTS - 1] {
            let host = stored[number].host().to_string();
            stored[number] = document(&host, &[], "other:1");
            let next = snapshot(&stored);
            let start = Instant::now();
            let delta = merge.update(Kind::Store, next);
            let updated = start.elapsed();
            assert_eq!(delta.set.len(), 1);
            drop(delta);
            println!(
                "one of {HOSTS} changed: {updated:?}, with the drop of the old list {:?}",
                start.elapsed()
            );
        }
        let start = Instant::now();
        let status = Status::of(&merge, |_| None);
        println!(
            "a whole status with {} conflicts: {:?}",
            status.conflicts.len(),
            start.elapsed()
        );
    });
}
