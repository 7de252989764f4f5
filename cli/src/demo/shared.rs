//! The cluster as its tasks share it: one lock, never held across I/O, and a signal for every change.

use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use doors_token::TokenCipher;
use tokio::sync::watch;
use tokio::time::Instant;

use super::cluster::{Cluster, FIRST_POD};

/// Everything the pods, the DNS server and the keeper have in common.
#[derive(Debug)]
pub(super) struct Shared {
    cluster: Mutex<Cluster>,
    changes: watch::Sender<()>,
    cipher: TokenCipher,
    caddyfile: OnceLock<String>,
}

// === impl Shared ===

impl Shared {
    /// A cluster with its first pod, not listening yet.
    pub(super) fn new(cipher: TokenCipher, now: Instant) -> Self {
        let cluster = Cluster::new(cipher.encode(FIRST_POD.into()), now);
        Self {
            cluster: Mutex::new(cluster),
            changes: watch::Sender::new(()),
            cipher,
            caddyfile: OnceLock::new(),
        }
    }

    /// The proxy's Caddyfile, shown on the page; empty before it is set.
    pub(super) fn caddyfile(&self) -> &str {
        self.caddyfile.get().map_or("", String::as_str)
    }

    /// Sets what [`Shared::caddyfile`] gives. The first one stays: there is one proxy.
    pub(super) fn set_caddyfile(&self, text: String) {
        self.caddyfile.get_or_init(|| text);
    }

    /// Looks at the cluster.
    pub(super) fn with<T>(&self, look: impl FnOnce(&Cluster) -> T) -> T {
        look(&self.lock())
    }

    /// Changes the cluster and wakes everybody who waits for a change.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Cluster) -> T) -> T {
        let result = change(&mut self.lock());
        self.changes.send_replace(());
        result
    }

    /// Wakes at every change from now on.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// A token for the pod at `address`.
    pub(super) fn token(&self, address: Ipv4Addr) -> String {
        self.cipher.encode(address.into())
    }

    /// A panic while the lock was held leaves a cluster that is whole: no change is left half done by one.
    fn lock(&self) -> MutexGuard<'_, Cluster> {
        self.cluster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
