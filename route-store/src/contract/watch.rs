//! Being told that routes have changed.

use std::sync::Arc;

use futures_util::StreamExt;

use super::{Subject, by, list_cases, put};
use crate::store::Store;

list_cases![
    a_write_wakes_a_watcher,
    a_write_of_another_connection_wakes_a_watcher,
    a_delete_and_a_rollback_wake_a_watcher,
    every_watcher_is_woken,
];

async fn a_write_wakes_a_watcher(subject: Arc<dyn Subject>) {
    let store = subject.store();
    wakes(&*store, &*store).await;
}

async fn a_write_of_another_connection_wakes_a_watcher(subject: Arc<dyn Subject>) {
    wakes(&*subject.store(), &*subject.other()).await;
}

async fn a_delete_and_a_rollback_wake_a_watcher(subject: Arc<dyn Subject>) {
    let store = subject.store();
    put(&*store, "a.test", "1").await;
    let Some(mut watch) = store.watch().await.unwrap() else {
        return;
    };
    store.delete("a.test", by("tester")).await.unwrap();
    assert_eq!(watch.next().await, Some(()));
    store.rollback("a.test", 1, by("tester")).await.unwrap();
    assert_eq!(watch.next().await, Some(()));
}

async fn every_watcher_is_woken(subject: Arc<dyn Subject>) {
    let (store, other) = (subject.store(), subject.other());
    let watches = [
        store.watch().await.unwrap(),
        store.watch().await.unwrap(),
        other.watch().await.unwrap(),
    ];
    put(&*store, "a.test", "1").await;
    for mut watch in watches.into_iter().flatten() {
        assert_eq!(watch.next().await, Some(()));
    }
}

/// Each write wakes the watcher. One that sleeps on is ended by the bound of [`super::run`].
async fn wakes(watching: &dyn Store, writing: &dyn Store) {
    let Some(mut watch) = watching.watch().await.unwrap() else {
        return;
    };
    for number in 0..3 {
        put(writing, "a.test", &number.to_string()).await;
        assert_eq!(watch.next().await, Some(()));
    }
}
