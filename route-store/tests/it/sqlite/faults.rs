//! Files that are gone, damaged, locked or of no use.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use route_store::{Changes, Document, Expected, Store, StoreError, StoreKind, StoreSettings, Terms};
use sqlx::{Connection, Executor};
use tempfile::TempDir;

use super::connect;
use crate::subject::{opened, settings};

#[tokio::test(flavor = "multi_thread")]
async fn routes_outlive_the_process_that_wrote_them() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.db");
    let store = open(&path);
    let written = put(&*store, "a.test").await.unwrap();
    drop(store);
    let store = open(&path);
    assert_eq!(store.revision().await.unwrap(), written);
    assert_eq!(store.routes().await.unwrap().routes.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_made_is_an_outage_that_ends_when_it_can() {
    let directory = TempDir::new().unwrap();
    let folder = directory.path().join("later");
    let store = open(&folder.join("a.db"));
    for _ in 0..2 {
        let error = put(&*store, "a.test").await.unwrap_err();
        assert!(
            matches!(error, StoreError::Unavailable { kind: "sqlite", .. }),
            "{error:?}"
        );
    }
    fs::create_dir(&folder).unwrap();
    assert_eq!(put(&*store, "a.test").await.unwrap().number, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_removed_is_a_store_that_lost_its_data() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.db");
    let store = open(&path);
    let before = put(&*store, "a.test").await.unwrap();
    let mut watch = store.watch().await.unwrap().unwrap();
    for name in ["a.db", "a.db-wal", "a.db-shm"] {
        let _ignored = fs::remove_file(directory.path().join(name));
    }
    assert_eq!(watch.next().await, None, "a watch of a file that is gone ends");
    let after = store.revision().await.unwrap();
    assert_ne!(after.epoch, before.epoch);
    assert_eq!(after.number, 0);
    assert_eq!(put(&*store, "b.test").await.unwrap().epoch, after.epoch);
    assert!(path.is_file());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_database_is_a_clear_error() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.db");
    fs::write(
        &path,
        "this is a text and not a database, however long one makes it ".repeat(100),
    )
    .unwrap();
    let error = put(&*open(&path), "a.test").await.unwrap_err().to_string();
    assert!(error.contains("a.db is damaged or no SQLite database"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_file_is_an_error_and_no_panic() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.db");
    let store = open(&path);
    for number in 0..50 {
        put(&*store, &format!("h{number}.test")).await.unwrap();
    }
    drop(store);
    let mut connection = connect(&path).await;
    connection
        .execute("PRAGMA wal_checkpoint(TRUNCATE)")
        .await
        .unwrap();
    connection.close().await.unwrap();
    let whole = fs::read(&path).unwrap();
    for share in [3, 2] {
        fs::write(&path, &whole[..whole.len() / share]).unwrap();
        for name in ["a.db-wal", "a.db-shm"] {
            let _ignored = fs::remove_file(directory.path().join(name));
        }
        let store = open(&path);
        let read = store.routes().await;
        assert!(read.is_err(), "{read:?}");
        let write = put(&*store, "new.test").await;
        assert!(write.is_err(), "{write:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_file_is_an_outage_for_writers_that_ends_with_the_lock() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.db");
    let short = StoreSettings {
        timeout: Some(Duration::from_millis(300)),
        ..settings(StoreKind::Sqlite, path.to_str().unwrap(), "doorway")
    };
    put(&*open(&path), "a.test").await.unwrap();
    let store = opened(&short);
    let mut holder = connect(&path).await;
    holder.execute("BEGIN IMMEDIATE").await.unwrap();
    let error = put(&*store, "b.test").await.unwrap_err();
    assert!(
        matches!(error, StoreError::Unavailable { kind: "sqlite", .. }),
        "{error:?}"
    );
    holder.execute("COMMIT").await.unwrap();
    assert_eq!(put(&*open(&path), "b.test").await.unwrap().number, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_a_newer_layout_are_left_alone() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.db");
    put(&*open(&path), "a.test").await.unwrap();
    let mut connection = connect(&path).await;
    connection
        .execute("INSERT INTO doorway_layout (step, at) VALUES (99, 0)")
        .await
        .unwrap();
    let error = put(&*open(&path), "b.test").await.unwrap_err().to_string();
    assert!(
        error.contains("layout 99") && error.contains("newer version"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_makes_nothing_and_a_migration_makes_the_tables() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory.path().join("a.db"));
    let report = store.check().await.unwrap();
    assert_eq!((report.layout, report.revision, report.routes), (0, None, 0));
    let migrated = store.migrate().await.unwrap();
    assert_eq!((migrated.from, migrated.to), (0, 1));
    let migrated = store.migrate().await.unwrap();
    assert_eq!((migrated.from, migrated.to), (1, 1));
    put(&*store, "a.test").await.unwrap();
    let newer = Document {
        schema_version: 99,
        text: "{}",
    };
    store.put("b.test", newer, TERMS).await.unwrap();
    let report = store.check().await.unwrap();
    assert_eq!((report.layout, report.routes), (1, 2));
    assert_eq!(report.unreadable.len(), 1);
    assert_eq!(report.unreadable[0].host, "b.test");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oldest_deletions_are_forgotten_with_the_past_of_their_hosts() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.db");
    let store = open(&path);
    put(&*store, "old.test").await.unwrap();
    let known = put(&*store, "stays.test").await.unwrap();
    store.delete("old.test", TERMS).await.unwrap();
    let mut connection = connect(&path).await;
    connection
        .execute("UPDATE doorway_meta SET revision = 20000")
        .await
        .unwrap();
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) \
        INSERT INTO doorway_deleted (host, revision) SELECT 'h' || i || '.test', 10000 + i FROM n";
    connection.execute(many).await.unwrap();
    assert!(matches!(
        store.changes(known).await.unwrap(),
        Changes::Some { .. }
    ));
    store.delete("stays.test", TERMS).await.unwrap();
    assert!(matches!(store.changes(known).await.unwrap(), Changes::All(_)));
    assert_eq!(store.history("old.test").await.unwrap(), []);
    assert_eq!(store.history("stays.test").await.unwrap().len(), 2);
}

const TERMS: Terms<'static> = Terms {
    author: "tester",
    expected: Expected::Any,
};

fn open(path: &Path) -> Arc<dyn Store> {
    opened(&settings(StoreKind::Sqlite, path.to_str().unwrap(), "doorway"))
}

async fn put(store: &dyn Store, host: &str) -> Result<route_store::Revision, StoreError> {
    let text =
        format!(r#"{{"schema_version":2,"host":"{host}","upstreams":[{{"address":"127.0.0.1:80"}}]}}"#);
    let document = Document {
        schema_version: 2,
        text: &text,
    };
    store.put(host, document, TERMS).await
}
