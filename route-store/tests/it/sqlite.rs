//! The SQLite store.

mod faults;

use std::path::Path;
use std::sync::Arc;

use route_store::StoreKind;
use route_store::contract::{self, Subject};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use tempfile::TempDir;

use crate::subject::{Opened, settings};

const TABLES: [&str; 8] = [
    "meta", "routes", "deleted", "versions", "changes", "replicas", "leases", "values",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_sqlite_store_keeps_the_contract() {
    let directory = TempDir::new().unwrap();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let failed = contract::run(|| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = directory.path().join(format!("{number}.db"));
        async move { subject(&path) }
    })
    .await;
    assert_eq!(failed, []);
}

fn subject(path: &Path) -> Arc<dyn Subject> {
    let settings = settings(StoreKind::Sqlite, path.to_str().unwrap(), "doorway");
    let path = path.to_owned();
    let lose = move || {
        let path = path.clone();
        Box::pin(async move {
            let mut connection = connect(&path).await;
            for table in TABLES {
                let sql = format!("DELETE FROM doorway_{table}");
                sqlx::query(AssertSqlSafe(sql))
                    .execute(&mut connection)
                    .await
                    .unwrap();
            }
            connection.close().await.unwrap();
        }) as _
    };
    Opened::subject(&settings, Box::new(lose))
}

async fn connect(path: &Path) -> SqliteConnection {
    SqliteConnection::connect(&format!("sqlite://{}", path.display()))
        .await
        .unwrap()
}
