//! The Redis store, against servers of its own or the one that `DOORWAY_TEST_REDIS_URL` names.

mod faults;
mod node;

use std::sync::Arc;

use route_store::StoreKind;
use route_store::contract::{self, Subject};

use crate::server::told;
use crate::subject::{Opened, prefix, settings};
pub(crate) use node::Node;

#[tokio::test(flavor = "multi_thread")]
async fn the_redis_store_keeps_the_contract() {
    let named = told("DOORWAY_TEST_REDIS_URL");
    let own = match named {
        None => Node::start(&[]).await,
        Some(_) => None,
    };
    let Some(url) = named.or_else(|| own.as_ref().map(Node::url)) else {
        println!("skipped: the Redis store, as there is neither `redis-server` nor DOORWAY_TEST_REDIS_URL");
        return;
    };
    let failed = contract::run(|| async { subject(&url) }).await;
    assert_eq!(failed, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_redis_store_keeps_the_contract_on_a_cluster() {
    let Some(node) = Node::start_cluster().await else {
        println!("skipped: the Redis store on a cluster, as there is no `redis-server`");
        return;
    };
    let failed = contract::run(|| async { subject(&node.url()) }).await;
    assert_eq!(failed, []);
}

/// A store with keys of its own, which are deleted to lose the data.
fn subject(url: &str) -> Arc<dyn Subject> {
    let prefix = prefix();
    let settings = settings(StoreKind::Redis, url, &prefix);
    let url = url.to_owned();
    let lose = move || {
        let (url, prefix) = (url.clone(), prefix.clone());
        Box::pin(async move {
            let mut connection = node::connect(&url).await;
            let keys: Vec<String> = redis::cmd("KEYS")
                .arg(format!("{{{prefix}}}:*"))
                .query_async(&mut connection)
                .await
                .unwrap();
            let _count: usize = redis::cmd("DEL")
                .arg(keys)
                .query_async(&mut connection)
                .await
                .unwrap();
        }) as _
    };
    Opened::subject(&settings, Box::new(lose))
}
