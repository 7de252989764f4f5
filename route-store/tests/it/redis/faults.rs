//! Servers that are away, slow, restarted, emptied, or talk nonsense.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use route_store::{
    Changes, Document, Expected, Revision, Store, StoreError, StoreKind, StoreSettings, Terms,
};

use super::node::{Node, PASSWORD, connect};
use crate::faults;
use crate::proxy::Proxy;
use crate::subject::{opened, settings};

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_network_is_an_outage_that_ends_with_it() {
    let Some(node) = Node::start(&[]).await else {
        return skipped();
    };
    let proxy = Proxy::before(node.port()).await;
    let store = short(&format!("redis://127.0.0.1:{}", proxy.port()));
    faults::every_operation_survives_a_bad_network(&*store, &proxy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_killed_and_keeps_its_data_goes_on_in_the_same_epoch() {
    let Some(mut node) = Node::start(&["--appendonly", "yes", "--appendfsync", "always"]).await else {
        return skipped();
    };
    let store = open(&node.url());
    let before = put(&*store, "a.test").await.unwrap();
    let mut watch = store.watch().await.unwrap().unwrap();
    node.kill();
    assert_eq!(watch.next().await, None, "a watch ends with its connection");
    faults::is_away(&put(&*store, "b.test").await.map(|_| ()));
    faults::is_away(&store.watch().await.map(|_| ()));
    node.begin_again().await;
    drop(connect(&node.url()).await);
    let after = faults::until_it_works(|| put(&*store, "b.test")).await;
    assert_eq!((after.epoch, after.number), (before.epoch, before.number + 1));
    let mut watch = store.watch().await.unwrap().unwrap();
    put(&*store, "c.test").await.unwrap();
    assert_eq!(watch.next().await, Some(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lost_its_data_begins_another_epoch() {
    let Some(mut node) = Node::start(&[]).await else {
        return skipped();
    };
    let store = open(&node.url());
    let before = put(&*store, "a.test").await.unwrap();
    let mut connection = connect(&node.url()).await;
    let _ok: String = redis::cmd("FLUSHALL").query_async(&mut connection).await.unwrap();
    let flushed = store.revision().await.unwrap();
    assert_ne!(flushed.epoch, before.epoch);
    assert_eq!(flushed.number, 0);
    let Changes::All(all) = store.changes(before).await.unwrap() else {
        panic!("changes across epochs");
    };
    assert_eq!((all.revision, all.routes), (flushed, vec![]));
    node.kill();
    node.begin_again().await;
    let restarted = faults::until_it_works(|| store.revision()).await;
    assert_ne!(restarted.epoch, flushed.epoch);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_epoch_that_was_evicted_alone_begins_another_one_after_the_numbers_that_are_left() {
    let Some(node) = Node::start(&[]).await else {
        return skipped();
    };
    let store = open(&node.url());
    put(&*store, "a.test").await.unwrap();
    let before = put(&*store, "b.test").await.unwrap();
    let mut connection = connect(&node.url()).await;
    let _count: u8 = redis::cmd("DEL")
        .arg("{doorway}:meta")
        .query_async(&mut connection)
        .await
        .unwrap();
    let after = store.revision().await.unwrap();
    assert_ne!(after.epoch, before.epoch);
    assert_eq!(after.number, before.number);
    assert_eq!(store.routes().await.unwrap().routes.len(), 2);
    assert_eq!(put(&*store, "c.test").await.unwrap().number, before.number + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_opens_while_its_server_is_away() {
    let Some(mut node) = Node::start(&[]).await else {
        return skipped();
    };
    node.kill();
    let store = open(&node.url());
    faults::is_away(&store.routes().await.map(|_| ()));
    node.begin_again().await;
    assert_eq!(faults::until_it_works(|| store.routes()).await.routes, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_refused_and_in_no_message() {
    let Some(node) = Node::start(&["--requirepass", PASSWORD]).await else {
        return skipped();
    };
    let right = open(&format!("redis://:{PASSWORD}@127.0.0.1:{}", node.port()));
    assert_eq!(put(&*right, "a.test").await.unwrap().number, 1);
    assert!(!format!("{right:?}").contains(PASSWORD), "{right:?}");
    for login in [":wr0ng-word@", "user:wr0ng-word@", ""] {
        let store = open(&format!("redis://{login}127.0.0.1:{}", node.port()));
        let error = put(&*store, "a.test").await.unwrap_err();
        let told = format!("{error} {error:?} {store:?}");
        assert!(!told.contains("wr0ng-word"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_of_other_prefixes_share_a_server_and_nothing_else() {
    let Some(node) = Node::start(&[]).await else {
        return skipped();
    };
    let one = opened(&settings(StoreKind::Redis, &node.url(), "one"));
    let two = opened(&settings(StoreKind::Redis, &node.url(), "two"));
    put(&*one, "a.test").await.unwrap();
    assert_eq!(two.revision().await.unwrap().number, 0);
    assert_eq!(two.routes().await.unwrap().routes, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_an_expired_kind_leave_no_names_behind() {
    let Some(node) = Node::start(&[]).await else {
        return skipped();
    };
    let store = open(&node.url());
    let short = Some(Duration::from_millis(1));
    store
        .set("challenges", "a", b"1", Expected::Any, short)
        .await
        .unwrap();
    faults::until_true(async || store.keys("challenges", "").await.unwrap().is_empty()).await;
    let mut connection = connect(&node.url()).await;
    let keys: Vec<String> = redis::cmd("KEYS")
        .arg("*")
        .query_async(&mut connection)
        .await
        .unwrap();
    assert_eq!(keys, ["{doorway}:meta"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_program_wrote_is_an_error_and_no_panic() {
    let Some(node) = Node::start(&[]).await else {
        return skipped();
    };
    let store = open(&node.url());
    let mut connection = connect(&node.url()).await;
    let writes: [&[&str]; 4] = [
        &["HSET", "{doorway}:routes", "a.test", "nonsense"],
        &["SET", "{doorway}:value:1:a:b", "nonsense"],
        &["LPUSH", "{doorway}:history:a.test", "nonsense"],
        &["SET", "{doorway}:order", "not a sorted set"],
    ];
    for write in writes {
        let _answer: redis::Value = redis::cmd(write[0])
            .arg(&write[1..])
            .query_async(&mut connection)
            .await
            .unwrap();
    }
    assert!(matches!(
        store.route("a.test").await,
        Err(StoreError::Failed { .. })
    ));
    assert!(matches!(
        store.get("a", "b").await,
        Err(StoreError::Failed { .. })
    ));
    assert!(matches!(
        store.history("a.test").await,
        Err(StoreError::Failed { .. })
    ));
    assert!(matches!(store.routes().await, Err(StoreError::Failed { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_another_layout_are_left_alone() {
    let Some(node) = Node::start(&[]).await else {
        return skipped();
    };
    let store = open(&node.url());
    put(&*store, "a.test").await.unwrap();
    let mut connection = connect(&node.url()).await;
    let _count: u8 = redis::cmd("HSET")
        .arg(&["{doorway}:meta", "layout", "7"])
        .query_async(&mut connection)
        .await
        .unwrap();
    let error = put(&*store, "a.test").await.unwrap_err().to_string();
    assert!(error.contains("another layout, 7"), "{error}");
    assert!(matches!(store.routes().await, Err(StoreError::Failed { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_makes_nothing() {
    let Some(node) = Node::start(&[]).await else {
        return skipped();
    };
    let store = open(&node.url());
    let report = store.check().await.unwrap();
    assert_eq!((report.layout, report.revision), (0, None));
    let mut connection = connect(&node.url()).await;
    let keys: usize = redis::cmd("DBSIZE").query_async(&mut connection).await.unwrap();
    assert_eq!(keys, 0);
    assert_eq!(
        (
            store.migrate().await.unwrap().from,
            store.migrate().await.unwrap().from
        ),
        (0, 1)
    );
    put(&*store, "a.test").await.unwrap();
    let report = store.check().await.unwrap();
    assert_eq!((report.layout, report.routes, report.unreadable.len()), (1, 1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_deletions_are_forgotten_with_the_past_of_their_hosts() {
    let Some(node) = Node::start(&[]).await else {
        return skipped();
    };
    let store = open(&node.url());
    put(&*store, "old.test").await.unwrap();
    let known = put(&*store, "stays.test").await.unwrap();
    let terms = Terms {
        author: "tester",
        expected: Expected::Any,
    };
    store.delete("old.test", terms).await.unwrap();
    let mut connection = connect(&node.url()).await;
    let mut many = redis::pipe();
    many.cmd("HSET")
        .arg(&["{doorway}:meta", "revision", "20000"])
        .ignore();
    for number in 0..9_999 {
        many.cmd("ZADD")
            .arg("{doorway}:deleted")
            .arg(10_000 + number)
            .arg(format!("h{number}.test"))
            .ignore();
    }
    let () = many.query_async(&mut connection).await.unwrap();
    assert!(matches!(
        store.changes(known).await.unwrap(),
        Changes::Some { .. }
    ));
    store.delete("stays.test", terms).await.unwrap();
    assert!(matches!(store.changes(known).await.unwrap(), Changes::All(_)));
    assert_eq!(store.history("old.test").await.unwrap(), []);
    assert_eq!(store.history("stays.test").await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_an_outage_for_one_who_wants_it() {
    let Some(node) = Node::start(&[]).await else {
        return skipped();
    };
    let store = short(&format!("rediss://127.0.0.1:{}", node.port()));
    faults::is_away(&store.revision().await.map(drop));
}

fn skipped() {
    println!("skipped: faults of the Redis store, as there is no `redis-server`");
}

fn open(url: &str) -> Arc<dyn Store> {
    opened(&settings(StoreKind::Redis, url, "doorway"))
}

/// One that gives up early.
fn short(url: &str) -> Arc<dyn Store> {
    opened(&StoreSettings {
        timeout: Some(faults::SHORT),
        ..settings(StoreKind::Redis, url, "doorway")
    })
}

async fn put(store: &dyn Store, host: &str) -> Result<Revision, StoreError> {
    let document = Document {
        schema_version: 2,
        text: "{}",
    };
    let terms = Terms {
        author: "tester",
        expected: Expected::Any,
    };
    store.put(host, document, terms).await
}
