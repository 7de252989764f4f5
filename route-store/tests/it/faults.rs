//! What every store on a server must survive.

use std::time::Duration;

use futures_util::FutureExt;
use route_store::{Document, Epoch, Expected, Replica, Revision, Store, StoreError, Terms};

use crate::proxy::{Network, Proxy};

/// How long operations of impatient stores may take.
pub(crate) const SHORT: Duration = Duration::from_millis(700);

/// Tries everything while the network is bad in each way, and once it is fine again.
pub(crate) async fn every_operation_survives_a_bad_network(store: &dyn Store, proxy: &Proxy) {
    until_it_works(|| store.revision()).await;
    for network in [Network::Cut, Network::Stalled, Network::Garbage] {
        proxy.set(network);
        for operation in 0..OPERATIONS {
            let answer = tokio::time::timeout(SHORT * 40, run(store, operation)).await;
            is_away(&answer.unwrap_or_else(|_| panic!("operation {operation} hangs on {network:?}")));
        }
        proxy.set(Network::Fine);
        for operation in 0..OPERATIONS {
            until_it_works(|| run(store, operation).boxed()).await;
        }
    }
}

pub(crate) fn is_away(answer: &Result<(), StoreError>) {
    assert!(
        matches!(answer, Err(StoreError::Unavailable { .. })),
        "{answer:?}"
    );
}

/// Tries until it works, which must be soon.
pub(crate) async fn until_it_works<T, F>(operation: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut last = None;
    for _ in 0..200 {
        match operation().await {
            Ok(answer) => return answer,
            Err(error) => last = Some(error),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it does not work again: {last:?}");
}

pub(crate) async fn until_true(is_so: impl AsyncFn() -> bool) {
    for _ in 0..600 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it has not come true");
}

const OPERATIONS: usize = 14;

async fn run(store: &dyn Store, operation: usize) -> Result<(), StoreError> {
    let known = Revision {
        epoch: Epoch::random().unwrap(),
        number: 0,
    };
    let document = Document {
        schema_version: 2,
        text: "{}",
    };
    let terms = Terms {
        author: "tester",
        expected: Expected::Any,
    };
    let long = Duration::from_secs(60);
    match operation {
        0 => store.revision().await.map(drop),
        1 => store.routes().await.map(drop),
        2 => store.changes(known).await.map(drop),
        3 => store.route("a.test").await.map(drop),
        4 => store.put("a.test", document, terms).await.map(drop),
        5 => store.delete("a.test", terms).await.map(drop),
        6 => store.history("a.test").await.map(drop),
        7 => store.report(&replica(known), long).await,
        8 => store.replicas().await.map(drop),
        9 => store.acquire("a", "b", long).await.map(drop),
        10 => store.release("a", "b").await,
        11 => store.set("a", "b", b"c", Expected::Any, None).await.map(drop),
        12 => store.keys("a", "").await.map(drop),
        _ => store.watch().await.map(drop),
    }
}

fn replica(revision: Revision) -> Replica {
    Replica {
        id: "a".to_owned(),
        revision,
        applied_at: 0,
        version: "0.1.0".to_owned(),
        hostname: "a".to_owned(),
        invalid: 0,
    }
}
