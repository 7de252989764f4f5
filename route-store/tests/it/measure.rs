//! How long things take: figures to read, not to assert.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use route_store::{Document, Expected, Store, StoreKind, StoreSettings, Terms};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::postgres::Cluster;
use crate::redis::Node;
use crate::subject::opened;

/// As long as a plain site's.
const DOCUMENT: &str = r#"{"schema_version":2,"host":"shop.test","paths":[{"patterns":["/api/*"],"upstreams":[{"address":"10.0.0.1:8080"},{"address":"10.0.0.2:8080"}]}],"upstreams":[{"address":"10.0.0.3:8080"}]}"#;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures; run it with --nocapture"]
async fn ten_thousand_routes_take_so_long() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.db");
    measure(StoreKind::Memory, "").await;
    measure(StoreKind::Sqlite, path.to_str().unwrap()).await;
    if let Some(node) = Node::start(&[]).await {
        measure(StoreKind::Redis, &node.url()).await;
    }
    if let Some(cluster) = Cluster::start().await {
        measure(StoreKind::Postgres, &cluster.url()).await;
    }
}

async fn measure(kind: StoreKind, url: &str) {
    let store = opened(&StoreSettings {
        timeout: Some(Duration::from_secs(60)),
        ..StoreSettings::new(kind, url)
    });
    let begun = Instant::now();
    for number in 0..500 {
        put(&store, number).await;
    }
    let alone = begun.elapsed() / 500;
    let begun = Instant::now();
    for first in (500..10_000).step_by(50) {
        join_all((first..first + 50).map(|number| put(&store, number))).await;
    }
    let together = begun.elapsed() / 9_500;
    let begun = Instant::now();
    let all = store.routes().await.unwrap();
    let load = begun.elapsed();
    assert_eq!(all.routes.len(), 10_000);
    put(&store, 5_000).await;
    let begun = Instant::now();
    store.changes(all.revision).await.unwrap();
    let changes = begun.elapsed();
    let begun = Instant::now();
    for _ in 0..100 {
        store.revision().await.unwrap();
    }
    let revision = begun.elapsed() / 100;
    println!(
        "{kind}: put {alone:?} alone, {together:?} each of 50 at once; load {load:?}; changes of one {changes:?}; revision {revision:?}"
    );
}

async fn put(store: &Arc<dyn Store>, number: usize) {
    let document = Document {
        schema_version: 2,
        text: DOCUMENT,
    };
    let terms = Terms {
        author: "tester",
        expected: Expected::Any,
    };
    store
        .put(&format!("h{number}.test"), document, terms)
        .await
        .unwrap();
}
