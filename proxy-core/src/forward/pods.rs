//! The pods that tokens lead to: what each of them still has to do, as one worker sees it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::upstream::load::Slot;

/// Pods that one worker remembers. Only tokens that the proxy's own secrets opened make it remember one.
const MOST: usize = 4096;

/// How long a pod is remembered after its last request.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

/// The pods of one worker.
#[derive(Debug, Default)]
pub(crate) struct Pods(Mutex<HashMap<SocketAddr, Arc<Pod>, foldhash::fast::RandomState>>);

/// One pod.
#[derive(Debug)]
struct Pod {
    server: Arc<Slot>,
    /// Requests without an answer yet.
    requests: AtomicU32,
    /// Answers that have begun and not ended, upgraded connections among them.
    streams: AtomicU32,
    /// When the last request came, in seconds of the worker.
    last: AtomicU64,
}

/// A request to a pod, or its answer, until it is dropped.
#[derive(Debug)]
pub(crate) struct Visit {
    pod: Arc<Pod>,
    answered: bool,
}

/// What a worker knows of a pod.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) address: SocketAddr,
    pub(crate) server: Arc<Slot>,
    pub(crate) requests: u32,
    pub(crate) streams: u32,
    /// Since the last request.
    pub(crate) idle: Duration,
}

// === impl Pods ===

impl Pods {
    /// A request for the pod at `address` comes, in the second `now` of the worker. `None` if there are too many pods.
    pub(crate) fn visit(&self, address: SocketAddr, server: &Arc<Slot>, now: u64) -> Option<Visit> {
        let mut pods = self.lock();
        let pod = match pods.get(&address) {
            Some(pod) if Arc::ptr_eq(&pod.server, server) => Arc::clone(pod),
            _ => {
                if pods.len() >= MOST {
                    forget_one(&mut pods)?;
                }
                let pod = Arc::new(Pod {
                    server: Arc::clone(server),
                    requests: AtomicU32::new(0),
                    streams: AtomicU32::new(0),
                    last: AtomicU64::new(0),
                });
                pods.insert(address, Arc::clone(&pod));
                pod
            }
        };
        drop(pods);
        pod.requests.fetch_add(1, Ordering::Relaxed);
        pod.last.store(now, Ordering::Relaxed);
        Some(Visit { pod, answered: false })
    }

    /// All pods, in the second `now` of the worker. Those that were idle for long are forgotten.
    pub(crate) fn seen(&self, now: u64) -> Vec<Seen> {
        let mut pods = self.lock();
        pods.retain(|_, pod| pod.is_busy() || pod.idle(now) < REMEMBERED);
        let seen = pods.iter().map(|(address, pod)| Seen {
            address: *address,
            server: Arc::clone(&pod.server),
            requests: pod.requests.load(Ordering::Relaxed),
            streams: pod.streams.load(Ordering::Relaxed),
            idle: pod.idle(now),
        });
        seen.collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SocketAddr, Arc<Pod>, foldhash::fast::RandomState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes room: forgets the pod that has been idle for longest.
fn forget_one(pods: &mut HashMap<SocketAddr, Arc<Pod>, foldhash::fast::RandomState>) -> Option<()> {
    let idle = pods.iter().filter(|(_, pod)| !pod.is_busy());
    let longest = idle.min_by_key(|(_, pod)| pod.last.load(Ordering::Relaxed));
    let address = *longest?.0;
    pods.remove(&address);
    Some(())
}

// === impl Pod ===

impl Pod {
    fn is_busy(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 0 || self.streams.load(Ordering::Relaxed) > 0
    }

    fn idle(&self, now: u64) -> Duration {
        Duration::from_secs(now.saturating_sub(self.last.load(Ordering::Relaxed)))
    }
}

// === impl Visit ===

impl Visit {
    /// The head of the answer is there.
    pub(crate) fn answered(&mut self) {
        if !std::mem::replace(&mut self.answered, true) {
            self.pod.streams.fetch_add(1, Ordering::Relaxed);
            self.pod.requests.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let counter = if self.answered {
            &self.pod.streams
        } else {
            &self.pod.requests
        };
        counter.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::load::Slots;

    fn address(number: usize) -> SocketAddr {
        let [_, a, b, c] = u32::try_from(number).unwrap().to_be_bytes();
        SocketAddr::from(([10, a, b, c], 8080))
    }

    fn counts(pods: &Pods, now: u64) -> Vec<(u32, u32, u64)> {
        let seen = pods.seen(now);
        seen.iter()
            .map(|pod| (pod.requests, pod.streams, pod.idle.as_secs()))
            .collect()
    }

    #[test]
    fn a_request_becomes_a_stream_and_then_nothing() {
        let (pods, server) = (Pods::default(), Slots::default().of("app:8080"));
        let mut visit = pods.visit(address(1), &server, 10).unwrap();
        let other = pods.visit(address(1), &server, 11).unwrap();
        assert_eq!(counts(&pods, 15), [(2, 0, 4)]);
        visit.answered();
        assert_eq!(counts(&pods, 15), [(1, 1, 4)]);
        drop((visit, other));
        assert_eq!(counts(&pods, 15), [(0, 0, 4)]);
    }

    #[test]
    fn a_pod_is_remembered_for_a_while_and_a_busy_one_for_ever() {
        let (pods, server) = (Pods::default(), Slots::default().of("app:8080"));
        let visit = pods.visit(address(1), &server, 0).unwrap();
        drop(pods.visit(address(2), &server, 0));
        assert_eq!(pods.seen(3599).len(), 2);
        assert_eq!(counts(&pods, 3600), [(1, 0, 3600)]);
        drop(visit);
        assert_eq!(counts(&pods, 3600), []);
    }

    #[test]
    fn there_are_never_too_many_and_busy_ones_are_never_forgotten() {
        let (pods, server) = (Pods::default(), Slots::default().of("app:8080"));
        let mut busy: Vec<Visit> = (0..MOST - 1)
            .map(|number| pods.visit(address(number), &server, 1).unwrap())
            .collect();
        for number in MOST..MOST + 10 {
            drop(pods.visit(address(number), &server, 2).unwrap());
        }
        assert_eq!(pods.seen(2).len(), MOST);
        busy.push(pods.visit(address(0), &server, 2).unwrap());
        busy.push(pods.visit(address(MOST + 20), &server, 2).unwrap());
        assert!(pods.visit(address(MOST + 21), &server, 2).is_none());
        assert_eq!(pods.seen(2).len(), MOST);
    }
}
