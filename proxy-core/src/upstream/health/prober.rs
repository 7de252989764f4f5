//! Makes the checks of the running configuration, beside the requests.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{self, Instant};
use tokio_util::sync::CancellationToken;

use super::check::{Check, Identity};
use super::kept::Kept;
use super::streak;
use crate::tasks::Tasks;
use crate::upstream::connect::Connector;

/// Checks that are made at once.
const AT_ONCE: usize = 64;

/// The checks in use. Share it behind an [`Arc`]; [`run`](Self::run) must run for any to be made.
#[derive(Debug)]
pub(crate) struct Prober {
    /// What was found out of upstreams outlives a configuration.
    pub(crate) known: Kept<Identity, Check>,
    /// What the running configuration wants checked.
    wanted: Mutex<Vec<Arc<Check>>>,
    changed: Notify,
    connector: Connector,
    /// Connections over HTTP/2.
    tasks: Tasks,
    at_once: Semaphore,
}

// === impl Prober ===

impl Prober {
    /// From now on these are checked and no others. Those that were checked before go on as if nothing had happened.
    pub(crate) fn watch(&self, wanted: Vec<Arc<Check>>) {
        *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
        self.changed.notify_one();
    }

    /// Checks until `stop` is cancelled. Run it once.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut running: HashMap<usize, CancellationToken> = HashMap::new();
        let mut loops = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.changed.notified() => {
                    let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    let wanted: HashMap<_, _> =
                        wanted.into_iter().map(|check| (Arc::as_ptr(&check).addr(), check)).collect();
                    running.retain(|check, gone| {
                        let stays = wanted.contains_key(check);
                        if !stays {
                            gone.cancel();
                        }
                        stays
                    });
                    for (place, check) in wanted {
                        running.entry(place).or_insert_with(|| {
                            let gone = CancellationToken::new();
                            loops.push(self.look_after(check, gone.clone()));
                            gone
                        });
                    }
                }
                Some(()) = loops.next() => {}
            }
        }
    }

    /// Checks one upstream, at once and then in its interval, until it is `gone`.
    async fn look_after(&self, check: Arc<Check>, gone: CancellationToken) {
        let random = RandomState::new();
        let mut made = 0_u64;
        let life = async {
            // It is never closed.
            while let Ok(place) = self.at_once.acquire().await {
                let began = Instant::now();
                let result = check.plan().probe.run(&self.connector, &self.tasks).await;
                drop(place);
                made += 1;
                let next = began + streak::pause(check.plan().interval, made, random.hash_one(made));
                check.plan_next(next);
                check.count(&result, Instant::now());
                time::sleep_until(next).await;
            }
        };
        let _gone = gone.run_until_cancelled(life).await;
    }
}

impl Default for Prober {
    fn default() -> Self {
        Self {
            known: Kept::default(),
            wanted: Mutex::default(),
            changed: Notify::new(),
            connector: Connector::default(),
            tasks: Tasks::default(),
            at_once: Semaphore::new(AT_ONCE),
        }
    }
}
