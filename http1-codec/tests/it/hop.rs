//! A whole hop: a client, a server driver whose service forwards over pooled connections, and an origin.

mod client;
mod origin;
mod plan;
mod proxy;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::plan::Exchange;
use self::proxy::Proxy;

/// How bytes go over on both sides.
#[derive(Clone, Debug)]
struct Wires {
    /// Room in the pipes.
    client: usize,
    upstream: usize,
    dribbled: bool,
    /// The pieces that are sent.
    pieces: Vec<usize>,
}

/// What the origin has read: the number of the exchange and its body, `None` if that was cut.
type Log = Arc<Mutex<Vec<(usize, Option<Vec<u8>>)>>>;

fn wires() -> impl Strategy<Value = Wires> {
    let room = || prop_oneof![1 => Just(1), 2 => 2..50_usize, 2 => Just(64 * 1024)];
    let pieces = proptest::collection::vec(prop_oneof![1..10_usize, 1..3000_usize], 1..5);
    (room(), room(), any::<bool>(), pieces).prop_map(|(client, upstream, dribbled, pieces)| Wires {
        client,
        upstream,
        dribbled,
        pieces,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn what_comes_out_of_a_hop_is_what_went_in(
        plan in proptest::collection::vec(plan::exchange(), 1..8),
        wires in wires(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let hop = async {
            tokio::time::timeout(Duration::from_secs(600), run(Arc::new(plan), wires)).await.unwrap();
        };
        runtime.block_on(hop);
    }
}

/// Runs all exchanges and checks both ends.
async fn run(plan: Arc<Vec<Exchange>>, wires: Wires) {
    let log = Log::default();
    let (streams, mut accepted) = mpsc::unbounded_channel();
    let proxy = Arc::new(Proxy::new(streams, &wires));
    let mut origins = JoinSet::new();
    let serves = async {
        while let Some(stream) = accepted.recv().await {
            let (plan, log, pieces) = (Arc::clone(&plan), Arc::clone(&log), wires.pieces.clone());
            origins.spawn(async move { origin::serve(stream, &plan, &log, &pieces).await });
        }
    };
    let asks = async {
        let client = client::run(&plan, &proxy, &wires);
        client.await;
        // Nobody connects any more, and no connection waits.
        drop(proxy);
    };
    tokio::join!(serves, asks);
    while let Some(ended) = origins.join_next().await {
        ended.unwrap();
    }
    let log = log.lock().unwrap();
    let numbers: Vec<usize> = log.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (0..plan.len()).collect::<Vec<_>>());
    for ((_, body), exchange) in log.iter().zip(plan.iter()) {
        match body {
            Some(body) => assert_eq!(*body, exchange.request_body()),
            None => assert!(exchange.is_early, "only an answer can cut a request"),
        }
    }
}
