//! What one worker thread owns: connections, pools and counters; nothing here is shared on the way of a
//! request.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Semaphore;
use tokio::task::coop;
use tokio::time::{self, Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use super::pods::Pods;
use super::view::View;
use crate::clock;
use crate::encode::Encoders;
use crate::http::sweep::{Connections, TICK};
use crate::metrics::Metrics;
use crate::snapshot::Snapshot;
use crate::stats::Counters;
use crate::tasks::Tasks;
use crate::upstream::connect::Connector;
use crate::upstream::load::Tally;
use crate::upstream::pool::Pool;
use crate::upstream::resolve::Places;

/// So many copies of requests may be under way at once.
const COPIES: usize = 1000;

/// The state of one worker.
#[derive(Debug)]
pub(crate) struct Worker {
    /// From 0 on.
    pub(crate) number: usize,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) view: Arc<Snapshot<View>>,
    /// Where names lead.
    places: Arc<Places>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) connector: Connector,
    /// Client connections and tunnels: what a drain waits for.
    pub(crate) tasks: Tasks,
    /// Connections to upstreams and the loops of the worker: they end with it.
    pub(crate) background: Tasks,
    pub(crate) counters: Arc<Counters>,
    pub(crate) connections: Arc<Connections>,
    /// What compresses answers.
    pub(crate) encoders: Arc<Encoders>,
    /// Its requests in flight, by upstream.
    pub(crate) tally: Arc<Tally>,
    /// How many more copies of requests may be under way.
    pub(crate) copies: Arc<Semaphore>,
    /// The pods that tokens led to.
    pub(crate) pods: Pods,
    started: Instant,
    random: AtomicU64,
}

// === impl Worker ===

impl Worker {
    pub(crate) fn new(
        number: usize,
        view: Arc<Snapshot<View>>,
        metrics: Arc<Metrics>,
        places: Arc<Places>,
    ) -> Self {
        Self {
            number,
            metrics,
            view,
            places,
            pool: Arc::default(),
            connector: Connector::default(),
            tasks: Tasks::default(),
            background: Tasks::default(),
            counters: Arc::default(),
            connections: Arc::default(),
            encoders: Arc::default(),
            tally: Arc::default(),
            copies: Arc::new(Semaphore::new(COPIES)),
            pods: Pods::default(),
            started: Instant::now(),
            random: AtomicU64::new(RandomState::new().hash_one("seed")),
        }
    }

    /// A number below `bound` for choices that need no secrecy; 0 if `bound` is 0.
    pub(crate) fn choose(&self, bound: usize) -> usize {
        match bound as u64 {
            0 | 1 => 0,
            bound => usize::try_from(self.next_random() % bound).unwrap_or(0),
        }
    }

    /// A number from 0 to 1, as [`Worker::choose`].
    pub(crate) fn chance(&self) -> f64 {
        // What a double holds exactly.
        #[expect(clippy::cast_precision_loss, reason = "53 bits have none")]
        let numerator = (self.next_random() >> 11) as f64;
        numerator / (1_u64 << 53) as f64
    }

    /// Whole seconds since the worker was made.
    pub(crate) fn seconds(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// Looks after connections and pools, tick by tick, until `stop`.
    pub(crate) async fn sweep(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = self.places.left();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            clock::tick();
            self.connections.sweep();
            // It looks at every idle connection, and must not be told after some that its turn is over.
            coop::unconstrained(async {
                self.pool.sweep(TICK);
                if self.number == 0 {
                    self.sweep_gates();
                }
            })
            .await;
            let view = self.view.current();
            view.forget_idle(Instant::now());
            self.retire_moved(&mut seen);
        }
    }

    /// Looks after the connections to upstreams that may have so many only: they are all workers'.
    fn sweep_gates(&self) {
        let view = self.view.current();
        let limited = view.clusters().filter(|cluster| cluster.transport.most.is_some());
        let now = Instant::now();
        for cluster in limited {
            for upstream in &cluster.source.known() {
                if let Some(gate) = &upstream.way().gate {
                    gate.sweep(now);
                }
            }
        }
        // Of upstreams that were found out by an older configuration, too.
        view.settle_gates();
    }

    /// Closes idle connections to where no name leads any more. `seen` is what was known the last time.
    fn retire_moved(&self, seen: &mut u64) {
        let left = self.places.left();
        if left == *seen {
            return;
        }
        // A name may have moved more than once since the last tick, so it is the pool that knows where the names
        // have led.
        let listed = self.places.listed();
        self.pool.retire_unless(|ip| listed.has(*ip));
        *seen = left;
    }

    /// SplitMix64: every state gives a well-mixed number, and the state only counts.
    pub(crate) fn next_random(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.random.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn choices_are_even() {
        let view = Arc::new(Snapshot::new(View::default()));
        let worker = Worker::new(0, view, Arc::new(Metrics::new(1)), Arc::default());
        let mut counts = [0_u32; 3];
        for _ in 0..30_000 {
            counts[worker.choose(3)] += 1;
        }
        assert!(
            counts.iter().all(|count| (9_000..11_000).contains(count)),
            "{counts:?}"
        );
        assert_eq!((worker.choose(0), worker.choose(1)), (0, 0));
    }
}
