//! Epochs, and what has changed since a revision.

use std::sync::Arc;

use super::{Subject, by, list_cases, put, route};
use crate::revision::{Epoch, Revision};
use crate::store::{Changes, Store, StoredRoute};

list_cases![
    nothing_has_changed_since_now,
    changes_are_the_new_and_the_other_and_the_deleted,
    a_host_that_came_back_is_not_deleted,
    a_host_that_came_and_went_is_deleted,
    a_rollback_is_a_change,
    another_epoch_gives_all_routes,
    a_number_from_the_future_gives_all_routes,
    a_replica_that_follows_changes_has_what_a_full_load_gives,
    lost_data_begins_another_epoch,
    data_lost_and_written_anew_up_to_the_same_number_is_another_revision,
];

async fn nothing_has_changed_since_now(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let empty = store.revision().await.unwrap();
    assert_eq!(some(&*store, empty).await, (empty, vec![], vec![]));
    let now = put(&*store, "a.test", "1").await;
    assert_eq!(some(&*store, now).await, (now, vec![], vec![]));
}

async fn changes_are_the_new_and_the_other_and_the_deleted(subject: Arc<dyn Subject>) {
    let store = subject.store();
    for host in ["same.test", "other.test", "z-gone.test", "gone.test"] {
        put(&*store, host, "1").await;
    }
    let known = store.revision().await.unwrap();
    put(&*store, "other.test", "2").await;
    put(&*store, "new.test", "1").await;
    store.delete("z-gone.test", by("tester")).await.unwrap();
    let now = store.delete("gone.test", by("tester")).await.unwrap();
    let (revision, routes, deleted) = some(&*store, known).await;
    assert_eq!(revision, now);
    assert_eq!(routes[0], route(&*store, "new.test").await.unwrap());
    assert_eq!(routes[1], route(&*store, "other.test").await.unwrap());
    assert_eq!(routes.len(), 2);
    assert_eq!(deleted, ["gone.test", "z-gone.test"]);
}

async fn a_host_that_came_back_is_not_deleted(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let known = put(&*store, "a.test", "1").await;
    store.delete("a.test", by("tester")).await.unwrap();
    put(&*store, "a.test", "1").await;
    let (_, routes, deleted) = some(&*store, known).await;
    assert_eq!((routes.len(), deleted), (1, vec![]));
    store.delete("a.test", by("tester")).await.unwrap();
    store.rollback("a.test", 1, by("tester")).await.unwrap();
    let (_, routes, deleted) = some(&*store, known).await;
    assert_eq!((routes.len(), deleted), (1, vec![]));
}

async fn a_host_that_came_and_went_is_deleted(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let known = store.revision().await.unwrap();
    put(&*store, "a.test", "1").await;
    store.delete("a.test", by("tester")).await.unwrap();
    put(&*store, "a.test", "1").await;
    let now = store.delete("a.test", by("tester")).await.unwrap();
    assert_eq!(
        some(&*store, known).await,
        (now, vec![], vec!["a.test".to_owned()])
    );
}

async fn a_rollback_is_a_change(subject: Arc<dyn Subject>) {
    let store = subject.store();
    put(&*store, "a.test", "1").await;
    let known = put(&*store, "a.test", "2").await;
    let now = store.rollback("a.test", 1, by("tester")).await.unwrap();
    let (_, routes, _) = some(&*store, known).await;
    assert_eq!((routes[0].version, routes[0].revision), (1, now.number));
    assert_eq!(routes[0].document, "1");
}

async fn another_epoch_gives_all_routes(subject: Arc<dyn Subject>) {
    let store = subject.store();
    put(&*store, "a.test", "1").await;
    let foreign = Revision {
        epoch: Epoch::random().unwrap(),
        number: 1,
    };
    let all = store.routes().await.unwrap();
    assert_eq!(store.changes(foreign).await.unwrap(), Changes::All(all));
}

async fn a_number_from_the_future_gives_all_routes(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let now = put(&*store, "a.test", "1").await;
    let all = Changes::All(store.routes().await.unwrap());
    for number in [2, u64::from(u32::MAX), u64::MAX] {
        assert_eq!(store.changes(Revision { number, ..now }).await.unwrap(), all);
    }
}

async fn a_replica_that_follows_changes_has_what_a_full_load_gives(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let mut known = store.revision().await.unwrap();
    let mut follower = std::collections::BTreeMap::new();
    for step in 0..40_usize {
        let host = format!("h{}.test", step * 7 % 5);
        match step % 4 {
            3 => store.delete(&host, by("tester")).await.unwrap(),
            _ => put(&*store, &host, &step.to_string()).await,
        };
        if step % 3 == 0 {
            let (revision, routes, deleted) = some(&*store, known).await;
            known = revision;
            follower.retain(|host, _| !deleted.contains(host));
            follower.extend(routes.into_iter().map(|route| (route.host.clone(), route)));
            let all = store.routes().await.unwrap();
            assert_eq!(follower.values().cloned().collect::<Vec<_>>(), all.routes);
        }
    }
}

async fn lost_data_begins_another_epoch(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let before = put(&*store, "a.test", "1").await;
    subject.lose().await;
    let after = store.revision().await.unwrap();
    assert_ne!(after.epoch, before.epoch);
    assert_eq!(after.number, 0);
    assert_eq!(subject.other().revision().await.unwrap(), after);
    let Changes::All(all) = store.changes(before).await.unwrap() else {
        panic!("changes between epochs");
    };
    assert_eq!((all.revision, all.routes), (after, vec![]));
    assert_eq!(store.history("a.test").await.unwrap(), []);
}

async fn data_lost_and_written_anew_up_to_the_same_number_is_another_revision(subject: Arc<dyn Subject>) {
    let store = subject.store();
    let before = put(&*store, "a.test", "1").await;
    subject.lose().await;
    let after = put(&*store, "b.test", "1").await;
    assert_eq!(after.number, before.number);
    assert_ne!(after, before);
    let all = Changes::All(store.routes().await.unwrap());
    assert_eq!(store.changes(before).await.unwrap(), all);
}

/// What changed since a revision that the store must still know.
async fn some(store: &dyn Store, known: Revision) -> (Revision, Vec<StoredRoute>, Vec<String>) {
    match store.changes(known).await.unwrap() {
        Changes::Some {
            revision,
            routes,
            deleted,
        } => (revision, routes, deleted),
        Changes::All(all) => panic!("all of {all:?} instead of what changed since {known}"),
    }
}
