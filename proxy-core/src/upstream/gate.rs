//! `max_conns_per_host`: so many connections to one upstream and no more, and a queue of those who want one.
//!
//! A connection has a [`Permit`] for as long as it is open, idle or not, whichever worker opened it. Whoever comes too late
//! waits: in order, for a while, and not too many of them. What becomes free goes to the first who can use it.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use http1_codec::client::Connection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Notify, oneshot};
use tokio::time::{self, Instant};

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

/// The right to have a connection; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit(Weak<Gate>);

/// A connection that has a permit.
#[derive(Debug)]
pub(crate) struct Permitted {
    stream: Io,
    _permit: Permit,
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
            drop(first.grant.send(Grant::Permit(Permit(Arc::downgrade(self)))));
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
                    return Ok(Entered::Now(Grant::Permit(Permit(Arc::downgrade(self)))));
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
            match first.grant.send(Grant::Permit(Permit(Arc::downgrade(self)))) {
                Ok(()) => return,
                // Whoever has left meanwhile gives nothing back: the next one has it.
                Err(Grant::Permit(mut permit)) => permit.0 = Weak::new(),
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

// === impl Permit ===

impl Permit {
    /// `stream`, which has the permit from now on.
    pub(crate) fn hold(self, stream: Io) -> Io {
        Box::new(Permitted {
            stream,
            _permit: self,
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(gate) = self.0.upgrade() {
            gate.release();
        }
    }
}

// === impl Permitted ===

impl AsyncRead for Permitted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, to)
    }
}

impl AsyncWrite for Permitted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn key() -> Key {
        SocketAddr::from(([127, 0, 0, 1], 80)).into()
    }

    async fn enter(gate: &Arc<Gate>) -> Result<Grant, Failure> {
        gate.enter(key(), Protocol::Http1, 0).await
    }

    fn connection(grant: Grant) -> Connection<Io> {
        match grant {
            Grant::Permit(permit) => Connection::new(permit.hold(Box::new(tokio::io::duplex(64).0))),
            Grant::Channel(Channel::Http1(connection, _)) => connection,
            Grant::Channel(Channel::Http2(..)) => unreachable!("nobody shares one"),
        }
    }

    /// A connection, and its other end, which must stay.
    fn opened(grant: Grant) -> (Connection<Io>, tokio::io::DuplexStream) {
        let Grant::Permit(permit) = grant else {
            unreachable!("none is open yet")
        };
        let (near, far) = tokio::io::duplex(64);
        (Connection::new(permit.hold(Box::new(near))), far)
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_come_too_late_wait_in_order() {
        let gate = Arc::new(Gate::new(1));
        let first = connection(enter(&gate).await.unwrap());
        let (mut second, mut third) = (Box::pin(enter(&gate)), Box::pin(enter(&gate)));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert!(futures_util::poll!(&mut third).is_pending());
        drop(first);
        assert!(futures_util::poll!(&mut third).is_pending(), "it is not its turn");
        let second = second.await.unwrap();
        assert!(matches!(second, Grant::Permit(_)));
        drop(second);
        assert!(third.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_leaves_frees_its_place() {
        let gate = Arc::new(Gate::new(1));
        let first = connection(enter(&gate).await.unwrap());
        let (mut second, mut third) = (Box::pin(enter(&gate)), Box::pin(enter(&gate)));
        assert!(futures_util::poll!(&mut second).is_pending());
        assert!(futures_util::poll!(&mut third).is_pending());
        drop(second);
        drop(first);
        let third = third.await.unwrap();
        drop(third);
        // One that was granted and left before it looked gives it back, too.
        let held = enter(&gate).await.unwrap();
        let mut late = Box::pin(enter(&gate));
        assert!(futures_util::poll!(&mut late).is_pending());
        drop(held);
        drop(late);
        assert!(enter(&gate).await.is_ok());
        assert_eq!(gate.lock().open, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_has_an_end_and_so_has_the_queue() {
        let gate = Arc::new(Gate::new(1));
        let _first = connection(enter(&gate).await.unwrap());
        let begin = Instant::now();
        assert_eq!(enter(&gate).await.unwrap_err().reason, Reason::Busy);
        assert_eq!(begin.elapsed(), PATIENCE);
        let mut many = Vec::new();
        for _ in 0..WAITING_LEAST {
            let mut one = Box::pin(enter(&gate));
            assert!(futures_util::poll!(&mut one).is_pending());
            many.push(one);
        }
        assert_eq!(enter(&gate).await.unwrap_err().reason, Reason::Busy);
        assert_eq!(begin.elapsed(), PATIENCE, "at once");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_goes_to_the_next_who_can_use_it_and_else_makes_room() {
        let gate = Arc::new(Gate::new(1));
        let (first, _far) = opened(enter(&gate).await.unwrap());
        let mut second = Box::pin(enter(&gate));
        assert!(futures_util::poll!(&mut second).is_pending());
        gate.give_back(first, key(), (0, PATIENCE), None);
        let Grant::Channel(Channel::Http1(again, _)) = second.await.unwrap() else {
            unreachable!("the connection is handed over")
        };
        // Another worker cannot use it: it is closed, whether it is idle already or not.
        let mut other = Box::pin(gate.enter(key(), Protocol::Http1, 1));
        assert!(futures_util::poll!(&mut other).is_pending());
        gate.give_back(again, key(), (0, PATIENCE), None);
        let (own, _far) = opened(other.await.unwrap());
        gate.give_back(own, key(), (1, PATIENCE), None);
        assert_eq!(gate.lock().idle.len(), 1);
        assert!(matches!(enter(&gate).await.unwrap(), Grant::Permit(_)));
        assert!(gate.lock().idle.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn another_limit_counts_those_that_are_open() {
        let gate = Arc::new(Gate::new(2));
        let (first, second) = (enter(&gate).await.unwrap(), enter(&gate).await.unwrap());
        gate.allow(1);
        let mut third = Box::pin(enter(&gate));
        assert!(futures_util::poll!(&mut third).is_pending());
        drop(first);
        assert!(futures_util::poll!(&mut third).is_pending(), "one is still open");
        drop(second);
        let third = third.await.unwrap();
        let mut fourth = Box::pin(enter(&gate));
        let mut left = Box::pin(enter(&gate));
        assert!(futures_util::poll!(&mut left).is_pending());
        assert!(futures_util::poll!(&mut fourth).is_pending());
        drop(left);
        gate.allow(2);
        let fourth = fourth.await.unwrap();
        let mut fifth = Box::pin(enter(&gate));
        assert!(futures_util::poll!(&mut fifth).is_pending());
        drop((third, fourth));
        drop(fifth.await.unwrap());
        assert_eq!(gate.lock().open, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_idle_for_too_long_is_closed() {
        let gate = Arc::new(Gate::new(1));
        let (first, _far) = opened(enter(&gate).await.unwrap());
        gate.give_back(first, key(), (0, PATIENCE), None);
        gate.sweep(Instant::now());
        assert_eq!(gate.lock().idle.len(), 1);
        gate.sweep(Instant::now() + PATIENCE);
        assert!(gate.lock().idle.is_empty());
        assert_eq!(gate.lock().open, 0);
    }
}
