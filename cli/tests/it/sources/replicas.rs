//! Two processes that share a store in one file.

use std::path::Path;

use serde_json::Value;

use super::{Origin, Replica, document, shared, sqlite};

fn two(file: &Path) -> [Replica; 2] {
    [(); 2].map(|()| Replica::start(&sqlite(file)))
}

#[test]
fn a_route_is_added_and_removed_through_the_store_and_each_replica_follows() {
    let (directory, one) = shared();
    let [here, there] = two(&directory.path().join("store.db"));
    assert_eq!(here.status_of("a.test"), 404);
    let (_, said) = here.routes_done(&["put", "a.test", "--wait"], &document("a.test", &one));
    assert!(said.contains("applied by 2 replicas"), "{said}");
    // It was waited for, so nothing is left to wait for.
    assert_eq!(there.get("a.test", "/").body, "one");
    assert_eq!(here.get("a.test", "/").body, "one");

    // Without `--wait` it comes all the same.
    there.routes_done(&["put", "b.test"], &document("b.test", &one));
    here.answers("b.test", "one");

    there.routes_done(&["delete", "a.test", "--wait"], "");
    assert_eq!((here.status_of("a.test"), there.status_of("a.test")), (404, 404));
    assert_eq!(here.get("b.test", "/").body, "one");
}

#[test]
fn each_replica_knows_the_others_and_what_they_have_applied() {
    let (directory, one) = shared();
    let [here, there] = two(&directory.path().join("store.db"));
    here.routes_done(&["put", "a.test", "--wait"], &document("a.test", &one));
    for replica in [&here, &there] {
        let (status, told) = replica.ask("GET", "/replicas", "");
        let all = told["replicas"].as_array().unwrap();
        assert_eq!((status, all.len()), (200, 2), "{told:#}");
        assert!(all.iter().all(|one| one["current"] == true), "{told:#}");
        let applied = &replica.status()["applied"]["revision"];
        assert_eq!(applied, &told["revision"]);
        let (table, _) = replica.routes_done(&["status"], "");
        assert_eq!(table.matches(", current").count(), 2, "{table}");
    }
}

#[test]
fn a_replica_that_died_is_not_waited_for_longer_than_three_intervals() {
    let (directory, one) = shared();
    let [here, mut there] = two(&directory.path().join("store.db"));
    here.routes_done(&["put", "a.test", "--wait"], &document("a.test", &one));
    there.kill();
    let (_, said) = here.routes_done(&["put", "b.test", "--wait"], &document("b.test", &one));
    assert!(said.contains("applied by 1 replica"), "{said}");
}

#[test]
fn an_earlier_version_comes_back_and_so_does_a_deleted_host() {
    let (directory, one) = shared();
    let two_ = Origin::start("two");
    let [here, there] = two(&directory.path().join("store.db"));
    here.routes_done(&["put", "a.test", "--wait"], &document("a.test", &one));
    there.routes_done(&["put", "a.test", "--wait"], &document("a.test", &two_));
    assert_eq!(here.get("a.test", "/").body, "two");
    let (history, _) = here.routes_done(&["history", "a.test", "--json"], "");
    let history: Value = serde_json::from_str(&history).unwrap();
    let first = history.as_array().unwrap().last().unwrap()["revision"].to_string();

    here.routes_done(&["rollback", "a.test", &first, "--wait"], "");
    assert_eq!(there.get("a.test", "/").body, "one");
    here.routes_done(&["delete", "a.test", "--wait"], "");
    assert_eq!(there.status_of("a.test"), 404);
    there.routes_done(&["rollback", "a.test", &first, "--wait"], "");
    assert_eq!(here.get("a.test", "/").body, "one");
}

#[test]
fn of_two_writers_who_know_the_same_version_one_is_told_of_the_other() {
    let (directory, one) = shared();
    let [here, there] = two(&directory.path().join("store.db"));
    here.routes_done(&["put", "a.test", "--create"], &document("a.test", &one));
    let again = there.routes(&["put", "a.test", "--create"], &document("a.test", &one));
    assert_eq!(again.code, Some(1), "{again:?}");
    let (_, said) = there.routes_done(&["get", "a.test"], "");
    let version = said.trim().rsplit(' ').next().unwrap().to_owned();
    there.routes_done(
        &["put", "a.test", "--if-match", &version],
        &document("a.test", &one),
    );
    let late = here.routes(&["delete", "a.test", "--if-match", &version], "");
    assert_eq!(late.code, Some(1), "{late:?}");
    there.answers("a.test", "one");
}

#[test]
fn what_one_store_has_is_exported_and_imported_into_another() {
    let (directory, one) = shared();
    let from = Replica::start(&sqlite(&directory.path().join("from.db")));
    let to = Replica::start(&sqlite(&directory.path().join("to.db")));
    for host in ["a.test", "b.test", "*.c.test"] {
        from.routes_done(&["put", host], &document(host, &one));
    }
    to.routes_done(&["put", "old.test", "--wait"], &document("old.test", &one));
    let (exported, _) = from.routes_done(&["export"], "");
    to.routes_done(&["import", "--dry-run", "--replace"], &exported);
    assert_eq!(to.status_of("a.test"), 404, "nothing was written");
    to.routes_done(&["import", "--replace", "--wait"], &exported);
    for host in ["a.test", "b.test", "x.c.test"] {
        assert_eq!(to.get(host, "/").body, "one", "{host}");
    }
    assert_eq!(to.status_of("old.test"), 404);
    assert_eq!(to.routes_done(&["export"], "").0, exported);

    // One wrong document, and nothing is written.
    let wrong = format!(
        "[{}, {{\"host\": \"d.test\", \"upstrems\": []}}]",
        document("e.test", &one)
    );
    assert_ne!(to.routes(&["import", "--wait"], &wrong).code, Some(0));
    assert_eq!(to.routes_done(&["export"], "").0, exported);
}
