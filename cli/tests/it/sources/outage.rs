//! A store that is away, at a start and later.

use std::fs;

use super::{Replica, document, eventually, shared, sqlite};

/// What was applied last, below the home of a process.
const KEPT: &str = ".local/share/doorway/routes/applied";

#[test]
fn a_start_while_the_store_is_away_serves_what_was_applied_last_and_says_so() {
    let (directory, one) = shared();
    let place = directory.path().join("store");
    fs::create_dir(&place).unwrap();
    let mut replica = Replica::start(&sqlite(&place.join("routes.db")));
    replica.routes_done(&["put", "a.test", "--wait"], &document("a.test", &one));
    replica.end();
    let kept = replica.home().path().join(KEPT);
    assert!(
        fs::read_to_string(&kept).unwrap().contains("a.test"),
        "a process that ends in order keeps what it served"
    );
    let away = directory.path().join("away");
    fs::rename(&place, &away).unwrap();

    replica.begin();
    assert_eq!(replica.get("a.test", "/").body, "one");
    let told = replica.source("store");
    assert!(told["stale"].is_string(), "{told:#}");
    let status = replica.routes(&["status"], "");
    assert_eq!(status.code, Some(1), "{}", status.stdout);
    assert!(status.stdout.contains("stale"), "{}", status.stdout);
    let refused = replica.routes(&["put", "b.test"], &document("b.test", &one));
    assert_ne!(refused.code, Some(0), "{}", refused.stderr);

    fs::rename(&away, &place).unwrap();
    eventually("the store is there again", || {
        replica.source("store")["stale"].is_null().then_some(())
    });
    replica.routes_done(&["put", "b.test", "--wait"], &document("b.test", &one));
    assert_eq!(replica.get("b.test", "/").body, "one");
    assert_eq!(replica.get("a.test", "/").body, "one");
}

#[test]
fn what_was_applied_last_is_kept_when_the_process_is_killed() {
    let (directory, one) = shared();
    let place = directory.path().join("store");
    fs::create_dir(&place).unwrap();
    let mut replica = Replica::start(&sqlite(&place.join("routes.db")));
    replica.routes_done(&["put", "a.test", "--wait"], &document("a.test", &one));
    let kept = replica.home().path().join(KEPT);
    eventually("it is on the disk", || {
        replica.status();
        fs::read(&kept)
            .ok()
            .filter(|kept| String::from_utf8_lossy(kept).contains("a.test"))
    });
    replica.kill();
    fs::rename(&place, directory.path().join("away")).unwrap();
    replica.begin();
    assert_eq!(replica.get("a.test", "/").body, "one");
}
