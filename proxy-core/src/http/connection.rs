//! What is known of one client connection, shared by its driver, its requests and the sweeper.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderValue;
use tokio::sync::Notify;

/// The facts of a client connection that its requests use.
#[derive(Clone, Debug)]
pub struct Connection {
    peer: SocketAddr,
    local: Option<SocketAddr>,
    tls: bool,
    peer_ip: HeaderValue,
    state: Arc<ConnState>,
}

/// Counters that the driver and the requests write and the sweeper reads; no clock is read for them.
#[derive(Debug, Default)]
pub(crate) struct ConnState {
    reads: AtomicU32,
    writes: AtomicU32,
    write_blocked: AtomicBool,
    served: AtomicU32,
    in_flight: AtomicU32,
    reads_when_idle: AtomicU32,
    multiplexed: AtomicBool,
    command: AtomicU8,
    wake: Notify,
    has_interim: AtomicBool,
    interim: Mutex<Vec<u8>>,
}

/// What the driver of a connection is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Command {
    /// Finish what is in flight, then close.
    Drain = 1,
    /// Close now.
    Close = 2,
}

/// One look at the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) in_flight: u32,
    pub(crate) served: u32,
    pub(crate) writes: u32,
    pub(crate) write_blocked: bool,
    pub(crate) head_started: bool,
    pub(crate) multiplexed: bool,
}

/// A request in flight on a connection; counted until dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<ConnState>);

// === impl Connection ===

impl Connection {
    /// A connection from `peer`, accepted on `local`, with or without TLS.
    pub fn new(peer: SocketAddr, local: Option<SocketAddr>, tls: bool) -> Self {
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let peer_ip = HeaderValue::try_from(peer.ip().to_string())
            .unwrap_or_else(|_| HeaderValue::from_static("unknown"));
        Self {
            peer,
            local,
            tls,
            peer_ip,
            state: Arc::default(),
        }
    }

    /// The address of the direct peer; an IPv4-mapped address is given as IPv4.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The address the connection was accepted on.
    pub fn local(&self) -> Option<SocketAddr> {
        self.local
    }

    /// Whether the client speaks TLS to the proxy.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// The peer's IP address as a field value, rendered once.
    pub(crate) fn peer_ip(&self) -> &HeaderValue {
        &self.peer_ip
    }

    pub(crate) fn state(&self) -> &Arc<ConnState> {
        &self.state
    }
}

// === impl ConnState ===

impl ConnState {
    /// Bytes arrived.
    pub(crate) fn on_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes were taken by the socket, or it would block.
    pub(crate) fn on_write(&self, progress: bool) {
        if progress {
            self.writes.fetch_add(1, Ordering::Relaxed);
        }
        self.write_blocked.store(!progress, Ordering::Relaxed);
    }

    /// The connection carries many streams at once.
    pub(crate) fn set_multiplexed(&self) {
        self.multiplexed.store(true, Ordering::Relaxed);
    }

    /// Counts a request until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    pub(crate) fn activity(&self) -> Activity {
        let served = self.served.load(Ordering::Relaxed);
        let reads = self.reads.load(Ordering::Relaxed);
        Activity {
            in_flight: self.in_flight.load(Ordering::Relaxed),
            served,
            writes: self.writes.load(Ordering::Relaxed),
            write_blocked: self.write_blocked.load(Ordering::Relaxed),
            head_started: served == 0 || reads != self.reads_when_idle.load(Ordering::Relaxed),
            multiplexed: self.multiplexed.load(Ordering::Relaxed),
        }
    }

    /// Asks the driver to drain or close. The stronger of several commands wins.
    pub(crate) fn command(&self, command: Command) {
        self.command.fetch_max(command as u8, Ordering::Release);
        self.wake.notify_one();
    }

    /// Waits until the driver has something to do: a command, or (`None`) interim bytes to write.
    pub(crate) async fn woken(&self) -> Option<Command> {
        self.wake.notified().await;
        match self.command.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Command::Drain),
            _ => Some(Command::Close),
        }
    }

    /// Queues an interim response, to be written before anything else of the current exchange.
    pub(crate) fn push_interim(&self, head: &[u8]) {
        self.interim
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(head);
        self.has_interim.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Takes what [`ConnState::push_interim`] queued.
    pub(crate) fn take_interim(&self) -> Option<Vec<u8>> {
        if !self.has_interim.load(Ordering::Acquire) {
            return None;
        }
        self.has_interim.store(false, Ordering::Release);
        let bytes = std::mem::take(&mut *self.interim.lock().unwrap_or_else(PoisonError::into_inner));
        (!bytes.is_empty()).then_some(bytes)
    }
}

// === impl InFlight ===

impl Drop for InFlight {
    fn drop(&mut self) {
        let state = &self.0;
        state.served.fetch_add(1, Ordering::Relaxed);
        state
            .reads_when_idle
            .store(state.reads.load(Ordering::Relaxed), Ordering::Relaxed);
        state.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_mapped_peer_is_an_ipv4_peer() {
        let connection = Connection::new("[::ffff:10.1.2.3]:9".parse().unwrap(), None, false);

        assert_eq!(connection.peer(), "10.1.2.3:9".parse().unwrap());
        assert_eq!(connection.peer_ip(), "10.1.2.3");
    }

    #[test]
    fn a_head_has_started_once_bytes_came_after_the_last_request() {
        let state = Arc::<ConnState>::default();
        assert!(
            state.activity().head_started,
            "nothing served yet: the first head is awaited"
        );
        state.on_read();
        drop(state.begin());
        assert!(!state.activity().head_started);
        state.on_read();
        assert!(state.activity().head_started);
    }

    #[tokio::test]
    async fn the_stronger_command_wins() {
        let state = ConnState::default();
        state.command(Command::Close);
        state.command(Command::Drain);

        assert_eq!(state.woken().await, Some(Command::Close));
    }

    #[tokio::test]
    async fn interim_bytes_wake_the_driver_and_are_taken_once() {
        let state = ConnState::default();
        state.push_interim(b"HTTP/1.1 103 Early Hints\r\n\r\n");

        assert_eq!(state.woken().await, None);
        assert!(state.take_interim().is_some());
        assert!(state.take_interim().is_none());
    }
}
