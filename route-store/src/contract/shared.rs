//! Replicas, leases and values.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::{Subject, list_cases, put, until};
use crate::revision::{Epoch, Revision};
use crate::store::{Expected, Replica, StoreError};

list_cases![
    a_report_replaces_the_one_before_it,
    a_replica_that_says_no_more_is_forgotten,
    a_lease_has_one_holder,
    its_holder_takes_a_lease_again,
    only_its_holder_gives_a_lease_back,
    leases_of_other_names_are_independent,
    a_lease_that_ran_out_is_free,
    of_100_holders_exactly_one_takes_a_lease,
    a_value_is_written_read_and_removed,
    namespaces_are_separate,
    a_value_has_a_version_that_no_other_had,
    values_are_written_on_conditions,
    of_100_writers_of_a_value_exactly_one_wins,
    a_value_that_ran_out_is_gone,
    a_value_written_anew_without_an_end_stays,
    keys_are_those_of_a_prefix_sorted,
    values_leave_the_revision_of_routes_alone,
];

const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(120);

async fn a_report_replaces_the_one_before_it(subject: Arc<dyn Subject>) {
    let (store, other) = (subject.store(), subject.other());
    assert_eq!(store.replicas().await.unwrap(), []);
    store.report(&replica("b", 1), LONG).await.unwrap();
    other.report(&replica("a", 1), LONG).await.unwrap();
    store.report(&replica("b", 2), LONG).await.unwrap();
    assert_eq!(
        store.replicas().await.unwrap(),
        [replica("a", 1), replica("b", 2)]
    );
    assert_eq!(
        other.replicas().await.unwrap(),
        [replica("a", 1), replica("b", 2)]
    );
}

async fn a_replica_that_says_no_more_is_forgotten(subject: Arc<dyn Subject>) {
    let store = subject.store();
    store.report(&replica("stays", 1), LONG).await.unwrap();
    store.report(&replica("goes", 1), SHORT).await.unwrap();
    until(&*subject, || async {
        store.replicas().await.unwrap() == [replica("stays", 1)]
    })
    .await;
    store.report(&replica("goes", 2), LONG).await.unwrap();
    assert_eq!(store.replicas().await.unwrap().len(), 2);
}

async fn a_lease_has_one_holder(subject: Arc<dyn Subject>) {
    let (store, other) = (subject.store(), subject.other());
    assert!(store.acquire("renewal", "a", LONG).await.unwrap());
    assert!(!other.acquire("renewal", "b", LONG).await.unwrap());
    assert!(!store.acquire("renewal", "b", LONG).await.unwrap());
}

async fn its_holder_takes_a_lease_again(subject: Arc<dyn Subject>) {
    let store = subject.store();
    for _ in 0..3 {
        assert!(store.acquire("renewal", "a", LONG).await.unwrap());
    }
    assert!(
        store.acquire("renewal", "a", SHORT).await.unwrap(),
        "for a shorter time"
    );
    until(&*subject, || async {
        store.acquire("renewal", "b", LONG).await.unwrap()
    })
    .await;
}

async fn only_its_holder_gives_a_lease_back(subject: Arc<dyn Subject>) {
    let store = subject.store();
    assert!(store.acquire("renewal", "a", LONG).await.unwrap());
    store.release("renewal", "b").await.unwrap();
    store.release("none", "b").await.unwrap();
    assert!(!store.acquire("renewal", "b", LONG).await.unwrap());
    store.release("renewal", "a").await.unwrap();
    assert!(store.acquire("renewal", "b", LONG).await.unwrap());
}

async fn leases_of_other_names_are_independent(subject: Arc<dyn Subject>) {
    let store = subject.store();
    assert!(store.acquire("one", "a", LONG).await.unwrap());
    assert!(store.acquire("two", "b", LONG).await.unwrap());
    store.release("one", "a").await.unwrap();
    assert!(!store.acquire("two", "a", LONG).await.unwrap());
}

async fn a_lease_that_ran_out_is_free(subject: Arc<dyn Subject>) {
    let (store, other) = (subject.store(), subject.other());
    assert!(store.acquire("renewal", "a", SHORT).await.unwrap());
    until(&*subject, || async {
        other.acquire("renewal", "b", LONG).await.unwrap()
    })
    .await;
    assert!(!store.acquire("renewal", "a", LONG).await.unwrap());
    store.release("renewal", "a").await.unwrap();
    assert!(
        !store.acquire("renewal", "a", LONG).await.unwrap(),
        "its late release is no matter"
    );
}

async fn of_100_holders_exactly_one_takes_a_lease(subject: Arc<dyn Subject>) {
    let stores = [subject.store(), subject.other()];
    let holders: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let takes = holders
        .iter()
        .enumerate()
        .map(|(index, holder)| stores[index % 2].acquire("renewal", holder, LONG));
    let taken = join_all(takes)
        .await
        .into_iter()
        .filter(|answer| *answer.as_ref().unwrap())
        .count();
    assert_eq!(taken, 1);
}

async fn a_value_is_written_read_and_removed(subject: Arc<dyn Subject>) {
    let (store, other) = (subject.store(), subject.other());
    let bytes: Vec<u8> = (0..=255).collect();
    for bytes in [&bytes[..], b"", &[b'x'; 1 << 20]] {
        let version = store
            .set("certificates", "A.test", bytes, Expected::Any, None)
            .await
            .unwrap();
        let value = other.get("certificates", "A.test").await.unwrap().unwrap();
        assert_eq!((value.version, &value.bytes[..]), (version, bytes));
        assert_eq!(
            store.get("certificates", "a.test").await.unwrap(),
            None,
            "keys have a case"
        );
    }
    store
        .remove("certificates", "A.test", Expected::Any)
        .await
        .unwrap();
    store
        .remove("certificates", "A.test", Expected::Any)
        .await
        .unwrap();
    assert_eq!(other.get("certificates", "A.test").await.unwrap(), None);
}

async fn namespaces_are_separate(subject: Arc<dyn Subject>) {
    let store = subject.store();
    store.set("a", "b:c", b"1", Expected::Any, None).await.unwrap();
    store.set("a:b", "c", b"2", Expected::Any, None).await.unwrap();
    assert_eq!(store.get("a", "b:c").await.unwrap().unwrap().bytes, b"1");
    assert_eq!(store.get("a:b", "c").await.unwrap().unwrap().bytes, b"2");
    assert_eq!(store.keys("a", "").await.unwrap(), ["b:c"]);
    assert_eq!(store.keys("b", "").await.unwrap(), [""; 0]);
}

async fn a_value_has_a_version_that_no_other_had(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let mut versions = std::collections::BTreeSet::new();
    for round in 0..10 {
        let version = store.set("a", "b", b"same", Expected::Any, None).await.unwrap();
        assert!(
            versions.insert(version),
            "{version} was there in an earlier round than {round}"
        );
        if round % 3 == 0 {
            store.remove("a", "b", Expected::Version(version)).await.unwrap();
        }
    }
}

async fn values_are_written_on_conditions(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let first = store.set("a", "b", b"1", Expected::Absent, None).await.unwrap();
    let answer = store.set("a", "b", b"2", Expected::Absent, None).await;
    assert!(matches!(answer, Err(StoreError::Conflict { current: Some(there) }) if there == first));
    let second = store
        .set("a", "b", b"2", Expected::Version(first), None)
        .await
        .unwrap();
    let answer = store.remove("a", "b", Expected::Version(first)).await;
    assert!(matches!(answer, Err(StoreError::Conflict { current: Some(there) }) if there == second));
    assert_eq!(store.get("a", "b").await.unwrap().unwrap().bytes, b"2");
    store.remove("a", "b", Expected::Version(second)).await.unwrap();
    let answer = store.set("a", "b", b"3", Expected::Version(second), None).await;
    assert!(matches!(answer, Err(StoreError::Conflict { current: None })));
    assert_eq!(store.get("a", "b").await.unwrap(), None);
}

async fn of_100_writers_of_a_value_exactly_one_wins(subject: Arc<dyn Subject>) {
    let stores = [subject.store(), subject.other()];
    let version = stores[0].set("a", "b", b"0", Expected::Any, None).await.unwrap();
    let writes =
        (0..100).map(|index| stores[index % 2].set("a", "b", b"1", Expected::Version(version), None));
    let won = join_all(writes)
        .await
        .iter()
        .filter(|answer| answer.is_ok())
        .count();
    assert_eq!(won, 1);
}

async fn a_value_that_ran_out_is_gone(subject: Arc<dyn Subject>) {
    let store = subject.store();
    store
        .set("challenges", "stays", b"1", Expected::Any, Some(LONG))
        .await
        .unwrap();
    store
        .set("challenges", "goes", b"1", Expected::Any, Some(SHORT))
        .await
        .unwrap();
    until(&*subject, || async {
        store.get("challenges", "goes").await.unwrap().is_none()
    })
    .await;
    assert_eq!(store.keys("challenges", "").await.unwrap(), ["stays"]);
    store
        .remove("challenges", "goes", Expected::Absent)
        .await
        .unwrap();
    store
        .set("challenges", "goes", b"2", Expected::Absent, None)
        .await
        .unwrap();
}

async fn a_value_written_anew_without_an_end_stays(subject: Arc<dyn Subject>) {
    let store = subject.store();
    store
        .set("a", "b", b"1", Expected::Any, Some(SHORT))
        .await
        .unwrap();
    store.set("a", "b", b"2", Expected::Any, None).await.unwrap();
    subject.pass(SHORT * 2).await;
    assert_eq!(store.get("a", "b").await.unwrap().unwrap().bytes, b"2");
}

async fn keys_are_those_of_a_prefix_sorted(subject: Arc<dyn Subject>) {
    let store = subject.store();
    for key in ["b/2", "a/1", "b/1", "b%", "B/1", "b_1", "c[", "ä", "*"] {
        store.set("a", key, b"", Expected::Any, None).await.unwrap();
    }
    assert_eq!(store.keys("a", "b/").await.unwrap(), ["b/1", "b/2"]);
    assert_eq!(store.keys("a", "b%").await.unwrap(), ["b%"], "no pattern");
    assert_eq!(store.keys("a", "b_").await.unwrap(), ["b_1"], "no pattern");
    assert_eq!(store.keys("a", "*").await.unwrap(), ["*"], "no pattern");
    assert_eq!(store.keys("a", "c[").await.unwrap(), ["c["], "no pattern");
    assert_eq!(store.keys("a", "ä").await.unwrap(), ["ä"]);
    assert_eq!(store.keys("a", "z").await.unwrap(), [""; 0]);
    let all = store.keys("a", "").await.unwrap();
    assert_eq!(all, ["*", "B/1", "a/1", "b%", "b/1", "b/2", "b_1", "c[", "ä"]);
}

async fn values_leave_the_revision_of_routes_alone(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let before = put(&*store, "a.test", "1").await;
    store.set("a", "b", b"", Expected::Any, None).await.unwrap();
    store.report(&replica("a", 1), LONG).await.unwrap();
    store.acquire("renewal", "a", LONG).await.unwrap();
    assert_eq!(store.revision().await.unwrap(), before);
}

fn replica(id: &str, number: u64) -> Replica {
    Replica {
        id: id.to_owned(),
        revision: Revision {
            epoch: epoch(),
            number,
        },
        applied_at: 1_790_000_000,
        version: "0.1.0".to_owned(),
        hostname: "ä.internal".to_owned(),
        invalid: 2,
    }
}

fn epoch() -> Epoch {
    "0123456789abcdef0123456789abcdef".parse().unwrap()
}
