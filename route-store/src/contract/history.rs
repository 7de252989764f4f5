//! Earlier versions, and going back to them.

use std::sync::Arc;

use super::{HISTORY, Subject, by, document, list_cases, put, route, text};
use crate::store::{ChangeKind, Document, StoreError};

list_cases![
    changes_are_listed_latest_first_with_their_authors,
    a_rollback_brings_an_earlier_version_back_under_its_number,
    a_version_that_never_was_is_refused_and_changes_nothing,
    a_deleted_route_keeps_its_versions_and_can_come_back,
    only_the_latest_changes_and_versions_are_kept,
    a_version_in_use_is_kept_however_often_one_goes_back,
    other_hosts_are_left_alone,
    a_version_keeps_the_schema_that_it_was_written_in,
];

async fn changes_are_listed_latest_first_with_their_authors(subject: Arc<dyn Subject>) {
    let store = subject.store();
    store.put("a.test", document("1"), by("ann")).await.unwrap();
    store.rollback("a.test", 1, by("bob")).await.unwrap();
    store.delete("A.test", by("ä 'c'")).await.unwrap();
    let changes = store.history("A.test").await.unwrap();
    let told: Vec<(u64, &str)> = changes
        .iter()
        .map(|change| (change.revision, change.author.as_str()))
        .collect();
    assert_eq!(told, [(3, "ä 'c'"), (2, "bob"), (1, "ann")]);
    assert_eq!(changes[0].kind, ChangeKind::Delete);
    assert_eq!(changes[1].kind, ChangeKind::Rollback { version: 1 });
    assert_eq!(changes[2].kind, written("1"));
    assert!(changes[0].at >= changes[2].at);
    assert!(changes[2].at > 1_600_000_000, "seconds since 1970");
    assert!(changes[0].at < 10_000_000_000, "seconds since 1970");
}

async fn a_rollback_brings_an_earlier_version_back_under_its_number(subject: Arc<dyn Subject>) {
    let store = subject.store();
    put(&*store, "a.test", "1").await;
    put(&*store, "a.test", "2").await;
    let revision = store.rollback("A.test", 1, by("tester")).await.unwrap();
    assert_eq!(revision.number, 3);
    let now = route(&*store, "a.test").await.unwrap();
    assert_eq!((now.version, now.revision, now.document.as_str()), (1, 3, "1"));
    assert_eq!(store.routes().await.unwrap().routes, [now]);
}

async fn a_version_that_never_was_is_refused_and_changes_nothing(subject: Arc<dyn Subject>) {
    let store = subject.store();
    put(&*store, "b.test", "1").await;
    let before = put(&*store, "a.test", "2").await;
    for (host, version) in [
        ("a.test", 1),
        ("a.test", 3),
        ("a.test", u64::MAX),
        ("none.test", 1),
    ] {
        let answer = store.rollback(host, version, by("tester")).await;
        assert!(
            matches!(&answer, Err(StoreError::UnknownVersion { host: of, version: named }) if of == host && *named == version),
            "{answer:?}"
        );
    }
    assert_eq!(store.revision().await.unwrap(), before);
    assert_eq!(text(&*store, "a.test").await, "2");
}

async fn a_deleted_route_keeps_its_versions_and_can_come_back(subject: Arc<dyn Subject>) {
    let store = subject.store();
    put(&*store, "a.test", "1").await;
    put(&*store, "a.test", "2").await;
    store.delete("a.test", by("tester")).await.unwrap();
    assert_eq!(store.history("a.test").await.unwrap().len(), 3);
    store.rollback("a.test", 1, by("tester")).await.unwrap();
    assert_eq!(text(&*store, "a.test").await, "1");
}

async fn only_the_latest_changes_and_versions_are_kept(subject: Arc<dyn Subject>) {
    let store = subject.store();
    for number in 1..=HISTORY + 1 {
        put(&*store, "a.test", &number.to_string()).await;
    }
    let changes = store.history("a.test").await.unwrap();
    let numbers: Vec<u64> = changes.iter().map(|change| change.revision).collect();
    assert_eq!(numbers, [4, 3, 2]);
    assert_eq!(changes[2].kind, written("2"));
    let answer = store.rollback("a.test", 1, by("tester")).await;
    assert!(
        matches!(answer, Err(StoreError::UnknownVersion { version: 1, .. })),
        "{answer:?}"
    );
    store.rollback("a.test", 2, by("tester")).await.unwrap();
}

async fn a_version_in_use_is_kept_however_often_one_goes_back(subject: Arc<dyn Subject>) {
    let store = subject.store();
    put(&*store, "a.test", "1").await;
    put(&*store, "a.test", "2").await;
    for _ in 0..HISTORY {
        store.rollback("a.test", 2, by("tester")).await.unwrap();
        store.rollback("a.test", 1, by("tester")).await.unwrap();
    }
    store.delete("a.test", by("tester")).await.unwrap();
    store.rollback("a.test", 1, by("tester")).await.unwrap();
    assert_eq!(text(&*store, "a.test").await, "1");
    assert_eq!(store.history("a.test").await.unwrap().len(), HISTORY);
}

async fn other_hosts_are_left_alone(subject: Arc<dyn Subject>) {
    let store = subject.store();
    put(&*store, "a.test", "1").await;
    for host in ["b.a.test", "*.a.test", "a.test.test"] {
        for number in 0..HISTORY + 1 {
            put(&*store, host, &number.to_string()).await;
        }
        store.delete(host, by("tester")).await.unwrap();
    }
    assert_eq!(store.history("a.test").await.unwrap().len(), 1);
    assert_eq!(text(&*store, "a.test").await, "1");
}

async fn a_version_keeps_the_schema_that_it_was_written_in(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let newer = Document {
        schema_version: 7,
        text: "seven",
    };
    store.put("a.test", newer, by("tester")).await.unwrap();
    put(&*store, "a.test", "one").await;
    store.rollback("a.test", 1, by("tester")).await.unwrap();
    let now = route(&*store, "a.test").await.unwrap();
    assert_eq!((now.schema_version, now.document.as_str()), (7, "seven"));
}

fn written(text: &str) -> ChangeKind {
    ChangeKind::Put {
        schema_version: 1,
        document: Some(text.to_owned()),
    }
}
