//! What is known of one client connection, shared by its driver, its requests and the sweeper.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderValue;
use tokio::sync::Notify;

/// How many bytes of interim responses may wait for a client. Further ones are dropped: they are hints, and an
/// upstream can send them without end.
const MAX_INTERIM: usize = 64 * 1024;

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
    offers: Offers,
}

/// The response bodies whose next piece waits for the client, by the period in which they began to wait.
/// Three periods are enough: the present one, the one before, and those that are older.
#[derive(Debug, Default)]
struct Offers {
    period: AtomicU32,
    waiting: [AtomicU32; 3],
}

/// A response body whose next piece waits for the client; until dropped.
#[derive(Debug)]
pub(crate) struct Offer {
    state: Arc<ConnState>,
    period: u32,
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
    /// It was asked to drain.
    pub(crate) draining: bool,
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
            draining: self.command.load(Ordering::Relaxed) == Command::Drain as u8,
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

    /// Notes that a response body has a piece for the client, who takes them stream by stream, until the
    /// offer is dropped. `None` for a connection of one stream, whose writes tell as much.
    pub(crate) fn offer(self: &Arc<Self>) -> Option<Offer> {
        if !self.multiplexed.load(Ordering::Relaxed) {
            return None;
        }
        let period = self.offers.period.load(Ordering::Relaxed);
        self.offers.waiting(period).fetch_add(1, Ordering::Relaxed);
        Some(Offer {
            state: Arc::clone(self),
            period,
        })
    }

    /// Begins a new period. Gives for how many whole periods the longest offer has waited, 2 standing for
    /// any longer time.
    pub(crate) fn next_period(&self) -> u32 {
        let offers = &self.offers;
        let ended = offers.period.fetch_add(1, Ordering::Relaxed);
        // The count goes round after three periods.
        let since = |before: u32| {
            offers
                .waiting(ended.wrapping_add(3 - before))
                .load(Ordering::Relaxed)
        };
        match (since(2), since(1)) {
            (1.., _) => 2,
            (0, 1..) => 1,
            (0, 0) => 0,
        }
    }

    /// Queues an interim response, to be written before anything else of the current exchange. It is dropped
    /// if the client has not taken those before it.
    pub(crate) fn push_interim(&self, head: &[u8]) {
        let mut interim = self.interim.lock().unwrap_or_else(PoisonError::into_inner);
        if interim.len().saturating_add(head.len()) > MAX_INTERIM {
            return;
        }
        interim.extend_from_slice(head);
        drop(interim);
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

// === impl Offers, Offer ===

impl Offers {
    fn waiting(&self, period: u32) -> &AtomicU32 {
        let [first, second, third] = &self.waiting;
        match period % 3 {
            0 => first,
            1 => second,
            _ => third,
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        self.state
            .offers
            .waiting(self.period)
            .fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl InFlight ===

impl InFlight {
    /// See [`ConnState::offer`].
    pub(crate) fn offer(&self) -> Option<Offer> {
        self.0.offer()
    }
}

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

    #[test]
    fn interim_responses_that_a_client_does_not_take_do_not_pile_up() {
        let state = ConnState::default();
        for _ in 0..10_000 {
            state.push_interim(b"HTTP/1.1 103 Early Hints\r\n\r\n");
        }
        let queued = state.take_interim().unwrap();

        assert!(queued.len() <= MAX_INTERIM, "{}", queued.len());
        assert!(queued.ends_with(b"\r\n\r\n"), "none is cut");
        state.push_interim(b"HTTP/1.1 103 Early Hints\r\n\r\n");
        assert!(state.take_interim().is_some(), "there is room again");
    }

    #[test]
    fn an_offer_that_is_not_taken_grows_old() {
        let state = Arc::<ConnState>::default();
        assert!(state.offer().is_none(), "a connection of one stream needs none");
        state.set_multiplexed();
        let offer = state.offer();
        assert_eq!(state.next_period(), 0, "it came in the middle of the period");
        assert_eq!(state.next_period(), 1);
        assert_eq!(state.next_period(), 2);
        drop(offer);
        assert_eq!(state.next_period(), 0);
    }

    #[test]
    fn offers_that_are_taken_in_time_never_grow_old() {
        let state = Arc::<ConnState>::default();
        state.set_multiplexed();
        let mut offer = state.offer();
        for _ in 0..10 {
            assert_eq!(state.next_period(), 0);
            let next = state.offer();
            drop(std::mem::replace(&mut offer, next));
        }
    }
}
