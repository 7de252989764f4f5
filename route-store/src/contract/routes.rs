//! Writing, reading and removing routes.

use std::sync::Arc;

use futures_util::future::join_all;

use super::{Subject, by, document, list_cases, put, route, text, when};
use crate::store::{Document, Expected, StoreError, StoredRoute};

list_cases![
    a_new_store_is_empty_at_number_0,
    each_write_adds_one_to_the_number,
    a_route_is_kept_under_its_lowercase_host_as_it_was_written,
    a_route_is_replaced,
    an_unknown_schema_version_is_kept,
    a_deleted_route_is_gone_whatever_the_case_of_its_host,
    deleting_what_is_not_there_changes_nothing,
    routes_are_sorted_and_of_the_revision_beside_them,
    a_write_on_a_stale_condition_is_refused_and_changes_nothing,
    a_write_on_a_true_condition_happens,
    of_100_writers_on_one_condition_exactly_one_wins,
    of_100_creators_exactly_one_wins,
    a_hundred_writers_of_different_hosts_all_win_at_revisions_of_their_own,
    odd_texts_come_back_unchanged,
    another_connection_sees_every_write,
];

async fn a_new_store_is_empty_at_number_0(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let revision = store.revision().await.unwrap();
    assert_eq!(revision.number, 0);
    let all = store.routes().await.unwrap();
    assert_eq!((all.revision, all.routes), (revision, Vec::new()));
    assert_eq!(store.revision().await.unwrap(), revision, "the epoch stays");
    assert_eq!(route(&*store, "a.test").await, None);
    assert_eq!(store.history("a.test").await.unwrap(), []);
}

async fn each_write_adds_one_to_the_number(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let epoch = store.revision().await.unwrap().epoch;
    for number in 1..=3 {
        let revision = put(&*store, "a.test", "{}").await;
        assert_eq!((revision.epoch, revision.number), (epoch, number));
        assert_eq!(store.revision().await.unwrap(), revision);
    }
}

async fn a_route_is_kept_under_its_lowercase_host_as_it_was_written(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let text = "{ \"b\":1,\n \"a\" : 1.0 }";
    put(&*store, "Shop.TEST", text).await;
    let expected = StoredRoute {
        host: "shop.test".to_owned(),
        version: 1,
        revision: 1,
        schema_version: 1,
        document: text.to_owned(),
    };
    assert_eq!(route(&*store, "shop.test").await, Some(expected.clone()));
    assert_eq!(route(&*store, "SHOP.test").await, Some(expected.clone()));
    assert_eq!(store.routes().await.unwrap().routes, [expected]);
}

async fn a_route_is_replaced(subject: Arc<dyn Subject>) {
    let store = subject.store();
    put(&*store, "a.test", "1").await;
    put(&*store, "A.test", "2").await;
    let routes = store.routes().await.unwrap().routes;
    assert_eq!(routes.len(), 1);
    assert_eq!((routes[0].document.as_str(), routes[0].version), ("2", 2));
}

async fn an_unknown_schema_version_is_kept(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let newer = Document {
        schema_version: 99,
        text: "from the future",
    };
    store.put("a.test", newer, by("tester")).await.unwrap();
    let kept = route(&*store, "a.test").await.unwrap();
    assert_eq!((kept.schema_version, kept.document.as_str()), (99, newer.text));
}

async fn a_deleted_route_is_gone_whatever_the_case_of_its_host(subject: Arc<dyn Subject>) {
    let store = subject.store();
    put(&*store, "a.test", "1").await;
    put(&*store, "b.test", "1").await;
    let revision = store.delete("A.TEST", by("tester")).await.unwrap();
    assert_eq!(revision.number, 3);
    assert_eq!(route(&*store, "a.test").await, None);
    let all = store.routes().await.unwrap();
    assert_eq!(all.revision, revision);
    assert_eq!(all.routes.len(), 1, "the other one stays");
}

async fn deleting_what_is_not_there_changes_nothing(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let before = put(&*store, "a.test", "1").await;
    assert_eq!(store.delete("b.test", by("tester")).await.unwrap(), before);
    assert_eq!(store.revision().await.unwrap(), before);
    assert_eq!(store.history("b.test").await.unwrap(), []);
}

async fn routes_are_sorted_and_of_the_revision_beside_them(subject: Arc<dyn Subject>) {
    let store = subject.store();
    for host in ["b.test", "a-b.test", "a.test", "*.a.test", "10.0.0.1", "a_b.test"] {
        put(&*store, host, "{}").await;
    }
    let all = store.routes().await.unwrap();
    let hosts: Vec<&str> = all.routes.iter().map(|route| route.host.as_str()).collect();
    let mut sorted = hosts.clone();
    sorted.sort_unstable();
    assert_eq!(hosts, sorted);
    assert_eq!((hosts.len(), all.revision.number), (6, 6));
}

async fn a_write_on_a_stale_condition_is_refused_and_changes_nothing(subject: Arc<dyn Subject>) {
    let store = subject.store();
    put(&*store, "a.test", "1").await;
    let before = put(&*store, "a.test", "2").await;
    for expected in [Expected::Version(1), Expected::Version(7), Expected::Absent] {
        let put = store.put("a.test", document("3"), when(expected)).await;
        assert!(is_conflict(&put, Some(2)), "{put:?}");
        let delete = store.delete("a.test", when(expected)).await;
        assert!(is_conflict(&delete, Some(2)), "{delete:?}");
        let rollback = store.rollback("a.test", 1, when(expected)).await;
        assert!(is_conflict(&rollback, Some(2)), "{rollback:?}");
    }
    let put = store
        .put("b.test", document("3"), when(Expected::Version(2)))
        .await;
    assert!(is_conflict(&put, None), "{put:?}");
    let delete = store.delete("b.test", when(Expected::Version(2))).await;
    assert!(is_conflict(&delete, None), "{delete:?}");
    assert_eq!(store.revision().await.unwrap(), before);
    assert_eq!(text(&*store, "a.test").await, "2");
    assert_eq!(store.history("a.test").await.unwrap().len(), 2);
}

async fn a_write_on_a_true_condition_happens(subject: Arc<dyn Subject>) {
    let store = subject.store();
    store
        .put("a.test", document("1"), when(Expected::Absent))
        .await
        .unwrap();
    store
        .put("a.test", document("2"), when(Expected::Version(1)))
        .await
        .unwrap();
    store
        .rollback("a.test", 1, when(Expected::Version(2)))
        .await
        .unwrap();
    store.delete("a.test", when(Expected::Version(1))).await.unwrap();
    store.delete("a.test", when(Expected::Absent)).await.unwrap();
    let revision = store
        .put("a.test", document("3"), when(Expected::Absent))
        .await
        .unwrap();
    assert_eq!(revision.number, 5);
}

async fn of_100_writers_on_one_condition_exactly_one_wins(subject: Arc<dyn Subject>) {
    let stores = [subject.store(), subject.other()];
    put(&*stores[0], "a.test", "0").await;
    let texts: Vec<String> = (1..=100).map(|number| number.to_string()).collect();
    let writes = texts
        .iter()
        .enumerate()
        .map(|(index, text)| stores[index % 2].put("a.test", document(text), when(Expected::Version(1))));
    let answers = join_all(writes).await;
    let won: Vec<usize> = (0..100).filter(|index| answers[*index].is_ok()).collect();
    assert_eq!(won.len(), 1, "{answers:?}");
    assert!(
        answers
            .iter()
            .all(|answer| answer.is_ok() || is_conflict(answer, Some(2)))
    );
    assert_eq!(text(&*stores[0], "a.test").await, texts[won[0]]);
    assert_eq!(stores[1].revision().await.unwrap().number, 2);
}

async fn of_100_creators_exactly_one_wins(subject: Arc<dyn Subject>) {
    let stores = [subject.store(), subject.other()];
    let creates =
        (0..100).map(|index| stores[index % 2].put("new.test", document("{}"), when(Expected::Absent)));
    let won = join_all(creates)
        .await
        .iter()
        .filter(|answer| answer.is_ok())
        .count();
    assert_eq!(won, 1);
    assert_eq!(stores[0].revision().await.unwrap().number, 1);
}

async fn a_hundred_writers_of_different_hosts_all_win_at_revisions_of_their_own(subject: Arc<dyn Subject>) {
    let stores = [subject.store(), subject.other()];
    let hosts: Vec<String> = (0..100).map(|number| format!("h{number}.test")).collect();
    let writes = hosts
        .iter()
        .enumerate()
        .map(|(index, host)| stores[index % 2].put(host, document("{}"), by("tester")));
    let mut numbers: Vec<u64> = join_all(writes)
        .await
        .into_iter()
        .map(|answer| answer.unwrap().number)
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=100).collect::<Vec<u64>>());
    assert_eq!(stores[0].routes().await.unwrap().routes.len(), 100);
}

async fn odd_texts_come_back_unchanged(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let long = "x".repeat(1 << 20);
    for odd in [
        "",
        "null",
        "'; DROP TABLE doorway_routes; --",
        "ä€𝄞\u{1}\r\n\t\"\\",
        "$1 %s {}",
        &long,
    ] {
        put(&*store, "a.test", odd).await;
        assert_eq!(text(&*store, "a.test").await, odd);
        assert_eq!(store.routes().await.unwrap().routes[0].document, odd);
    }
}

async fn another_connection_sees_every_write(subject: Arc<dyn Subject>) {
    let (store, other) = (subject.store(), subject.other());
    let revision = put(&*store, "a.test", "1").await;
    assert_eq!(other.revision().await.unwrap(), revision);
    assert_eq!(text(&*other, "a.test").await, "1");
    let revision = put(&*other, "a.test", "2").await;
    assert_eq!(store.revision().await.unwrap(), revision);
    assert_eq!(text(&*store, "a.test").await, "2");
}

fn is_conflict<T>(answer: &Result<T, StoreError>, with: Option<u64>) -> bool {
    matches!(answer, Err(StoreError::Conflict { current }) if *current == with)
}
