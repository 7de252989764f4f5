//! `max_conns_per_host`: so many connections to one upstream and no more, and a queue of those who want one.
//!
//! A connection has a [`Permit`] for as long as it is open, idle or not, whichever worker opened it. Whoever comes too late
//! waits: in order, for a while, and not too many of them. What becomes free goes to the first who can use it.

mod permit;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http1_codec::client::Connection;
use tokio::sync::{Notify, oneshot};
use tokio::time::{self, Instant};

pub(crate) use self::permit::Permit;
use super::channel::Channel;
use super::connect::Io;
use super::health::Kept;
use super::http2::Http2;
use super::idle::{IdlePlace, IdleTotal};
use super::transport::{Key, Lane, Protocol};
use crate::error::{Failure, Reason};

/// How long a request waits for a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many requests may wait for each connection that there may be, and for few connections at least in all.
const WAITING_EACH: usize = 10;
const WAITING_LEAST: usize = 100;

/// The gates of upstreams, which outlive a configuration: by the settings of their connections, and by how many proxies
/// with the same ones there are before this one.
pub(crate) type Gates = Kept<(Lane, usize), Gate>;

/// The connections to one upstream.
#[derive(Debug)]
pub(crate) struct Gate {
    most: AtomicUsize,
    state: Mutex<State>,
    /// A stream has ended on a connection that many share.
    places: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    /// Connections that are open or being opened.
    open: usize,
    idle: Vec<Idle>,
    shared: Vec<(Key, Http2)>,
    waiting: VecDeque<Waiter>,
}

/// A connection between two exchanges.
#[derive(Debug)]
struct Idle {
    connection: Connection<Io>,
    key: Key,
    worker: usize,
    until: Instant,
    _place: Option<IdlePlace>,
}

#[derive(Debug)]
struct Waiter {
    key: Key,
    /// HTTP/1.1 will do.
    takes_http1: bool,
    worker: usize,
    grant: oneshot::Sender<Grant>,
}

/// What a request gets.
#[derive(Debug)]
pub(crate) enum Grant {
    /// It may open a connection.
    Permit(Permit),
    /// One that is open.
    Channel(Channel),
}

/// What became of a request that asked.
enum Entered {
    Now(Grant),
    Waits(oneshot::Receiver<Grant>),
}

// === impl Gate ===

impl Gate {
    /// For at most so many connections.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most: AtomicUsize::new(most),
            state: Mutex::default(),
            places: Arc::default(),
        }
    }

    /// For at most so many connections from now on. Beyond that none is closed, and none is opened until enough of them are.
    pub(crate) fn allow(self: &Arc<Self>, most: usize) {
        if self.most.swap(most, Ordering::Relaxed) >= most {
            return;
        }
        loop {
            let mut state = self.lock();
            if state.open >= self.most() {
                return;
            }
            let Some(first) = state.waiting.pop_front() else {
                return;
            };
            state.open += 1;
            drop(state);
            // Whoever has left gives its permit back when it is dropped.
            drop(first.grant.send(Grant::Permit(Permit::of(self))));
        }
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// A connection for a request of this worker, or the right to open one; waits while there is neither.
    ///
    /// # Errors
    ///
    /// [`Reason::Busy`] if too many wait, or nothing became free in time.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        key: Key,
        protocol: Protocol,
        worker: usize,
    ) -> Result<Grant, Failure> {
        match self.try_enter(key, protocol, worker)? {
            Entered::Now(grant) => Ok(grant),
            Entered::Waits(waiting) => {
                let granted = time::timeout(PATIENCE, self.wait(key, protocol, waiting)).await;
                granted.unwrap_or_else(|_| Err(Reason::Busy.into()))
            }
        }
    }

    fn try_enter(self: &Arc<Self>, key: Key, protocol: Protocol, worker: usize) -> Result<Entered, Failure> {
        loop {
            let mut state = self.lock();
            state.waiting.retain(|waiter| !waiter.grant.is_closed());
            if state.waiting.is_empty() {
                if let Some(channel) = state.find(key, protocol, worker) {
                    return Ok(Entered::Now(Grant::Channel(channel)));
                }
                if state.open < self.most() {
                    state.open += 1;
                    return Ok(Entered::Now(Grant::Permit(Permit::of(self))));
                }
                if !state.idle.is_empty() {
                    // One that this request cannot use makes room, once the lock is free: its permit takes it.
                    let evicted = state.idle.remove(0);
                    drop(state);
                    drop(evicted);
                    continue;
                }
            }
            if state.waiting.len() >= self.most().saturating_mul(WAITING_EACH).max(WAITING_LEAST) {
                return Err(Reason::Busy.into());
            }
            let (grant, waiting) = oneshot::channel();
            state.waiting.push_back(Waiter {
                key,
                takes_http1: protocol != Protocol::Http2,
                worker,
                grant,
            });
            return Ok(Entered::Waits(waiting));
        }
    }

    async fn wait(
        &self,
        key: Key,
        protocol: Protocol,
        mut waiting: oneshot::Receiver<Grant>,
    ) -> Result<Grant, Failure> {
        loop {
            tokio::select! {
                biased;
                grant = &mut waiting => return grant.map_err(|_| Reason::Busy.into()),
                () = self.places.notified(), if protocol != Protocol::Http1 => {}
            }
            let place = self.lock().take_place(key);
            if let Some(channel) = place {
                return Ok(Grant::Channel(channel));
            }
        }
    }

    /// Takes back an HTTP/1.1 connection whose exchange is complete. One that the first who waits cannot use is closed.
    /// A worker's connection stays for as long as it says, if `total` has a place for it.
    pub(crate) fn give_back(
        &self,
        connection: Connection<Io>,
        key: Key,
        (worker, idle): (usize, Duration),
        total: Option<&Arc<IdleTotal>>,
    ) {
        let mut state = self.lock();
        state.waiting.retain(|waiter| !waiter.grant.is_closed());
        if state.open > self.most() {
            drop(state);
            drop(connection);
            return;
        }
        let Some(first) = state.waiting.front() else {
            let place = total.map(IdleTotal::place);
            if matches!(place, Some(None)) {
                // Without the lock, as its permit goes back.
                drop(state);
                drop(connection);
                return;
            }
            state.idle.push(Idle {
                connection,
                key,
                worker,
                until: Instant::now() + idle,
                _place: place.flatten(),
            });
            return;
        };
        let fits = first.key == key && first.worker == worker && first.takes_http1;
        let first = fits.then(|| state.waiting.pop_front()).flatten();
        // What is not taken is dropped without the lock, and its permit goes on.
        drop(state);
        let Some(first) = first else {
            drop(connection);
            return;
        };
        drop(first.grant.send(Grant::Channel(Channel::Http1(connection, key))));
    }

    /// Lets others use an HTTP/2 connection. What it gives is told when a stream on it ends.
    pub(crate) fn share(&self, key: Key, connection: Http2) {
        self.lock().shared.push((key, connection));
        self.places.notify_waiters();
    }

    /// Told when a stream has ended.
    pub(crate) fn places(&self) -> &Arc<Notify> {
        &self.places
    }

    /// Closes connections that were idle for too long, or that the upstream has closed.
    pub(crate) fn sweep(&self, now: Instant) {
        let mut gone = Vec::new();
        let mut state = self.lock();
        for mut idle in std::mem::take(&mut state.idle) {
            if idle.until > now && idle.connection.is_quiet() {
                state.idle.push(idle);
            } else {
                gone.push(idle);
            }
        }
        state.shared.retain(|(_, connection)| !connection.is_closed());
        drop(state);
        // Without the lock, as their permits go back.
        drop(gone);
    }

    /// A connection is closed: the first who waits may open one.
    fn release(self: &Arc<Self>) {
        loop {
            let mut state = self.lock();
            let may_be_replaced = state.open <= self.most();
            let first = may_be_replaced.then(|| state.waiting.pop_front()).flatten();
            let Some(first) = first else {
                state.open = state.open.saturating_sub(1);
                return;
            };
            drop(state);
            match first.grant.send(Grant::Permit(Permit::of(self))) {
                Ok(()) => return,
                // Whoever has left meanwhile gives nothing back: the next one has it.
                Err(Grant::Permit(permit)) => permit.forget(),
                Err(Grant::Channel(_)) => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl State ===

impl State {
    fn find(&mut self, key: Key, protocol: Protocol, worker: usize) -> Option<Channel> {
        let place = if protocol == Protocol::Http1 {
            None
        } else {
            self.take_place(key)
        };
        if place.is_some() || protocol == Protocol::Http2 {
            return place;
        }
        let fits = |idle: &mut Idle| idle.key == key && idle.worker == worker && idle.connection.is_quiet();
        let youngest = self.idle.iter_mut().rposition(fits)?;
        Some(Channel::Http1(self.idle.remove(youngest).connection, key))
    }

    fn take_place(&self, key: Key) -> Option<Channel> {
        let mut shared = self.shared.iter().filter(|(known, _)| *known == key);
        let place = shared.find_map(|(_, connection)| connection.take())?;
        Some(Channel::Http2(place, key))
    }
}

#[cfg(test)]
mod tests;
