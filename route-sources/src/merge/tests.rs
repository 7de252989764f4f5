//! The rules one by one, and all of them against a plain reading of them.

mod model;
mod speed;

use std::sync::Arc;

use route_store::HostDocument;
use route_store::document::{Raw, RawUpstream};

use super::*;
use crate::snapshot::Held;
use crate::status::{Status, owners};

fn name(text: &str) -> HostName {
    text.parse().unwrap()
}

/// A document for a host, with aliases, that sends requests to `upstream`.
fn document(host: &str, aliases: &[&str], upstream: &str) -> Route {
    let mut raw = Raw {
        schema_version: 2,
        host: host.to_owned(),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        ..Raw::default()
    };
    raw.target.upstreams = Some(vec![RawUpstream {
        address: upstream.to_owned(),
        ..RawUpstream::default()
    }]);
    Route::Document(Arc::new(HostDocument::check(raw).unwrap()))
}

fn held(host: &str) -> Route {
    Route::Held(Arc::new(Held {
        host: name(host),
        reason: "it cannot be read".to_owned(),
    }))
}

fn snapshot(routes: &[Route]) -> Arc<Snapshot> {
    Arc::new(Snapshot {
        routes: routes.to_vec(),
        ..Snapshot::default()
    })
}

/// Where requests for a name go to, and whose it is.
fn whose(merge: &Merge, name: &str) -> Option<(Kind, String)> {
    let served = merge.served(name)?;
    Some((served.kind, said(&served.route)))
}

fn said(route: &Route) -> String {
    match route {
        Route::Document(document) => document.raw().target.upstreams.as_ref().unwrap()[0]
            .address
            .clone(),
        Route::Held(_) => "503".to_owned(),
        Route::Configured(_) => "configured".to_owned(),
    }
}

fn is(kind: Kind, upstream: &str) -> Option<(Kind, String)> {
    Some((kind, upstream.to_owned()))
}

/// What a delta says, sorted.
fn told(delta: &Delta) -> Vec<String> {
    let set = delta
        .set
        .iter()
        .map(|(name, route)| format!("{name} {}", said(route)));
    let mut told: Vec<_> = set
        .chain(delta.removed.iter().map(|name| format!("{name} -")))
        .collect();
    told.sort();
    told
}

#[test]
fn one_source_is_served_as_it_is() {
    let mut merge = Merge::default();
    let delta = merge.update(
        Kind::File,
        snapshot(&[document("a.test", &["b.test"], "u:1"), held("c.test")]),
    );
    assert_eq!(told(&delta), ["a.test u:1", "b.test u:1", "c.test 503"]);
    assert_eq!(merge.name_count(), 3);
    assert_eq!(merge.without_upstreams(), [name("c.test")]);
    assert_eq!(merge.without_upstreams_count(), 1);
}

#[test]
fn the_store_beats_kubernetes_beats_docker_beats_files() {
    let mut merge = Merge::default();
    for (kind, upstream) in [
        (Kind::Docker, "docker:1"),
        (Kind::Store, "store:1"),
        (Kind::File, "file:1"),
        (Kind::Kubernetes, "kubernetes:1"),
    ] {
        merge.update(kind, snapshot(&[document("a.test", &[], upstream)]));
    }
    assert_eq!(
        merge.conflicts(),
        [Conflict {
            host: name("a.test"),
            winner: Kind::Store,
            shadowed: vec![Kind::Kubernetes, Kind::Docker, Kind::File],
        }]
    );
    for (kind, upstream) in [
        (Kind::Store, "store:1"),
        (Kind::Kubernetes, "kubernetes:1"),
        (Kind::Docker, "docker:1"),
        (Kind::File, "file:1"),
    ] {
        assert_eq!(whose(&merge, "a.test"), is(kind, upstream));
        merge.update(kind, snapshot(&[]));
    }
    assert_eq!(whose(&merge, "a.test"), None);
    assert_eq!(merge.conflict_count(), 0);
    assert!(merge.names.is_empty(), "nothing is left behind");
}

#[test]
fn of_two_for_one_host_in_a_source_the_first_counts_and_the_other_is_told() {
    let (first, second) = (
        document("a.test", &[], "first:1"),
        document("a.test", &[], "second:1"),
    );
    let mut merge = Merge::default();
    merge.update(Kind::File, snapshot(&[first.clone(), second.clone()]));
    assert_eq!(whose(&merge, "a.test"), is(Kind::File, "first:1"));
    let invalid = merge.invalid_of(Kind::File);
    assert_eq!(merge.invalid_count(Kind::File), 1);
    assert_eq!(invalid[0].host.as_deref(), Some("a.test"));
    assert_eq!(invalid[0].place, "route 2 of the file source");
    // The other order, and each of them alone.
    let delta = merge.update(Kind::File, snapshot(&[second.clone(), first.clone()]));
    assert_eq!(told(&delta), ["a.test second:1"]);
    let delta = merge.update(Kind::File, snapshot(std::slice::from_ref(&first)));
    assert_eq!(told(&delta), ["a.test first:1"]);
    assert_eq!(merge.invalid_count(Kind::File), 0);
    let delta = merge.update(Kind::File, snapshot(&[second, first]));
    assert_eq!(told(&delta), ["a.test second:1"]);
}

#[test]
fn the_second_counts_once_the_first_has_gone_however_far_it_is() {
    let others: Vec<_> = (0..100).map(|number| held(&format!("h{number}.test"))).collect();
    let (first, second) = (
        document("a.test", &[], "first:1"),
        document("a.test", &[], "second:1"),
    );
    let mut all = vec![first];
    all.extend(others);
    all.push(second);
    let mut merge = Merge::default();
    merge.update(Kind::File, snapshot(&all));
    let delta = merge.update(Kind::File, snapshot(&all[1..]));
    assert_eq!(told(&delta), ["a.test second:1"]);
    // And the first again, in front of it.
    let delta = merge.update(Kind::File, snapshot(&all));
    assert_eq!(told(&delta), ["a.test first:1"]);
}

#[test]
fn a_route_that_is_held_wins_like_a_document() {
    let mut merge = Merge::default();
    merge.update(Kind::File, snapshot(&[document("a.test", &[], "file:1")]));
    let delta = merge.update(Kind::Store, snapshot(&[held("a.test")]));
    assert_eq!(told(&delta), ["a.test 503"]);
    assert_eq!(merge.conflicts()[0].shadowed, [Kind::File]);
}

#[test]
fn a_host_of_the_configuration_wins_its_place_too() {
    let mut merge = Merge::default();
    merge.update(Kind::Docker, snapshot(&[document("a.test", &[], "docker:1")]));
    let configured = snapshot(&[
        Route::Configured(Arc::new(name("a.test"))),
        Route::Configured(Arc::new(name("b.test"))),
    ]);
    let delta = merge.update(Kind::File, configured);
    assert_eq!(told(&delta), ["b.test configured"]);
    let delta = merge.update(Kind::Docker, snapshot(&[]));
    assert_eq!(told(&delta), ["a.test configured"]);
}

#[test]
fn an_equal_document_is_no_news_and_the_old_value_stays() {
    let old = document("a.test", &["b.test"], "u:1");
    let mut merge = Merge::default();
    merge.update(Kind::File, snapshot(std::slice::from_ref(&old)));
    // Read again, and then from another source, which is told all the same.
    for (kind, routes) in [(Kind::File, 1), (Kind::Docker, 1), (Kind::File, 0)] {
        let routes: Vec<_> = (0..routes)
            .map(|_| document("a.test", &["b.test"], "u:1"))
            .collect();
        assert!(merge.update(kind, snapshot(&routes)).is_empty());
        assert!(merge.served("a.test").unwrap().route.is_same(&old));
        assert!(merge.served("b.test").unwrap().route.is_same(&old));
    }
    assert_eq!(merge.served("a.test").unwrap().kind, Kind::Docker);
    assert_eq!(merge.served("b.test").unwrap().kind, Kind::Docker);
}

#[test]
fn the_host_of_a_document_beats_an_alias_even_of_a_larger_source() {
    let mut merge = Merge::default();
    merge.update(
        Kind::Store,
        snapshot(&[document("a.test", &["b.test"], "store:1")]),
    );
    let delta = merge.update(Kind::File, snapshot(&[document("b.test", &[], "file:1")]));
    assert_eq!(told(&delta), ["b.test file:1"]);
    let store = Claim {
        kind: Kind::Store,
        host: name("a.test"),
    };
    let file = Claim {
        kind: Kind::File,
        host: name("b.test"),
    };
    let collision = Collision {
        name: name("b.test"),
        winner: file.clone(),
        losers: vec![store.clone()],
    };
    assert_eq!(merge.collisions(), [collision]);
    assert_eq!((merge.collision_count(), merge.conflict_count()), (1, 0));
    assert_eq!(owners(&merge)["b.test"], file);
    let delta = merge.update(Kind::File, snapshot(&[]));
    assert_eq!(told(&delta), ["b.test store:1"]);
    assert_eq!(owners(&merge)["b.test"], store);
    assert_eq!(merge.collision_count(), 0);
}

#[test]
fn of_aliases_the_larger_source_counts_and_then_the_first_host() {
    let mut merge = Merge::default();
    let two = [
        document("d.test", &["x.test"], "d:1"),
        document("c.test", &["x.test"], "c:1"),
    ];
    merge.update(Kind::Docker, snapshot(&two));
    assert_eq!(whose(&merge, "x.test"), is(Kind::Docker, "c:1"));
    merge.update(Kind::File, snapshot(&[document("a.test", &["x.test"], "a:1")]));
    assert_eq!(whose(&merge, "x.test"), is(Kind::Docker, "c:1"));
    merge.update(
        Kind::Kubernetes,
        snapshot(&[document("z.test", &["x.test"], "z:1")]),
    );
    assert_eq!(whose(&merge, "x.test"), is(Kind::Kubernetes, "z:1"));
    let losers: Vec<_> = merge.collisions()[0]
        .losers
        .iter()
        .map(|claim| claim.host.to_string())
        .collect();
    assert_eq!(losers, ["c.test", "d.test", "a.test"]);
}

#[test]
fn the_aliases_of_a_document_that_is_shadowed_do_not_count() {
    let mut merge = Merge::default();
    merge.update(
        Kind::File,
        snapshot(&[document("a.test", &["old.test"], "file:1")]),
    );
    let delta = merge.update(
        Kind::Store,
        snapshot(&[document("a.test", &["new.test"], "store:1")]),
    );
    assert_eq!(told(&delta), ["a.test store:1", "new.test store:1", "old.test -"]);
    let delta = merge.update(Kind::Store, snapshot(&[]));
    assert_eq!(told(&delta), ["a.test file:1", "new.test -", "old.test file:1"]);
}

#[test]
fn a_wildcard_and_a_name_that_it_matches_are_two_hosts() {
    let mut merge = Merge::default();
    merge.update(Kind::Store, snapshot(&[document("*.a.test", &[], "store:1")]));
    merge.update(Kind::File, snapshot(&[document("x.a.test", &[], "file:1")]));
    assert_eq!(merge.name_count(), 2);
    assert_eq!((merge.collision_count(), merge.conflict_count()), (0, 0));
}

#[test]
fn the_status_tells_everything_and_is_json() {
    let mut merge = Merge::default();
    merge.update(
        Kind::File,
        snapshot(&[document("a.test", &["b.test"], "file:1"), held("c.test")]),
    );
    let stored = Snapshot {
        routes: vec![
            document("a.test", &[], "store:1"),
            document("b.test", &["a.test"], "store:2"),
        ],
        invalid: vec![Invalid {
            host: Some("d.test".to_owned()),
            place: "version 4".to_owned(),
            reason: "no JSON".to_owned(),
            kept: false,
        }],
        revision: None,
        stale: Some("the store cannot be reached".to_owned()),
    };
    merge.update(Kind::Store, Arc::new(stored));
    let status = Status::of(&merge, |kind| (kind == Kind::Store).then_some(1_800_000_000));
    let json = serde_json::to_value(&status).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "sources": [
                {
                    "kind": "store", "routes": 2, "stale": "the store cannot be reached", "revision": null, "at": 1_800_000_000,
                    "invalid": [{"host": "d.test", "place": "version 4", "reason": "no JSON", "kept": false}],
                },
                {"kind": "file", "routes": 2, "stale": null, "revision": null, "at": null, "invalid": []},
            ],
            "names": 3,
            "conflicts": [{"host": "a.test", "winner": "store", "shadowed": ["file"]}],
            "collisions": [{
                "name": "a.test",
                "winner": {"kind": "store", "host": "a.test"},
                "losers": [{"kind": "store", "host": "b.test"}],
            }],
            "without_upstreams": ["c.test"],
            "unbuilt": [],
        })
    );
}

#[test]
fn the_snapshot_that_counts_no_more_is_given_back() {
    let mut merge = Merge::default();
    let first = snapshot(&[]);
    assert!(merge.update(Kind::File, Arc::clone(&first)).replaced.is_none());
    let replaced = merge.update(Kind::File, snapshot(&[])).replaced.unwrap();
    assert!(Arc::ptr_eq(&replaced, &first));
}
