//! Starts pods, lets time pass for the cluster, and stops pods whose last session has ended.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{self, Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::pod::Server;
use super::shared::Shared;

/// How often the sessions count.
const TICK: Duration = Duration::from_millis(200);
/// How long to wait after an address could not be used, before the next one is tried.
const RETRY: Duration = Duration::from_secs(2);

/// Keeps the pods of one demo.
#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
    port: u16,
    retry_at: Option<Instant>,
    running: BTreeMap<Ipv4Addr, CancellationToken>,
    pods: TaskTracker,
}

// === impl Keeper ===

impl Keeper {
    /// A keeper without pods yet.
    pub(super) fn new(shared: Arc<Shared>, port: u16) -> Self {
        Self {
            shared,
            port,
            retry_at: None,
            running: BTreeMap::new(),
            pods: TaskTracker::new(),
        }
    }

    /// Starts the pod at `address`, which the cluster knows already.
    pub(super) async fn start(&mut self, address: Ipv4Addr) -> io::Result<()> {
        let server = Server::bind(address, self.port, Arc::clone(&self.shared)).await?;
        let stop = CancellationToken::new();
        self.pods.spawn(server.run(stop.clone()));
        self.running.insert(address, stop);
        Ok(())
    }

    /// Keeps the pods until `stop` is cancelled, then stops all of them and waits until they are done.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut ticks = time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            self.tick().await;
        }
        for pod in self.running.values() {
            pod.cancel();
        }
        self.pods.close();
        self.pods.wait().await;
    }

    async fn tick(&mut self) {
        let now = Instant::now();
        let chores = self.shared.change(|cluster| cluster.tick(now));
        for address in chores.stop {
            if let Some(pod) = self.running.remove(&address) {
                pod.cancel();
            }
        }
        if let Some(address) = chores.start
            && self.retry_at.is_none_or(|at| at <= now)
        {
            self.prepare(address, now).await;
        }
    }

    /// Starts the pod of the next rollout.
    async fn prepare(&mut self, address: Ipv4Addr, now: Instant) {
        match self.start(address).await {
            Ok(()) => {
                let token = self.shared.token(address);
                self.shared.change(|cluster| cluster.add_pod(address, token));
            }
            Err(error) => {
                let reason = error.to_string();
                self.shared
                    .change(|cluster| cluster.skip_address(address, &reason, now));
                self.retry_at = Some(now + RETRY);
            }
        }
    }
}
