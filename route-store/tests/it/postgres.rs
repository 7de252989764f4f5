//! The PostgreSQL store, against a server of its own or the one that `DOORWAY_TEST_POSTGRES_URL` names.

mod cluster;
mod faults;

use std::sync::Arc;

use route_store::StoreKind;
use route_store::contract::{self, Subject};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::server::told;
use crate::subject::{Opened, prefix, settings};
pub(crate) use cluster::Cluster;

const TABLES: [&str; 9] = [
    "layout", "meta", "routes", "deleted", "versions", "changes", "replicas", "leases", "values",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_postgres_store_keeps_the_contract() {
    let named = told("DOORWAY_TEST_POSTGRES_URL");
    let own = match named {
        None => Cluster::start().await,
        Some(_) => None,
    };
    let Some(url) = named.or_else(|| own.as_ref().map(Cluster::url)) else {
        println!(
            "skipped: the PostgreSQL store, as there is neither `postgres` nor DOORWAY_TEST_POSTGRES_URL"
        );
        return;
    };
    let failed = contract::run(|| async { subject(&url) }).await;
    assert_eq!(failed, []);
}

/// A store with tables of its own, which are dropped to lose the data.
fn subject(url: &str) -> Arc<dyn Subject> {
    let prefix = prefix();
    let settings = settings(StoreKind::Postgres, url, &prefix);
    let url = url.to_owned();
    let lose = move || {
        let (url, prefix) = (url.clone(), prefix.clone());
        Box::pin(async move {
            let mut connection = PgConnection::connect(&url).await.unwrap();
            for table in TABLES {
                let sql = format!("DROP TABLE {prefix}_{table}");
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
