//! What is known of one client connection, shared by its driver, its requests and the sweeper.

mod offers;

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use http::HeaderValue;
use http1_codec::server::{Command, Control, Phase};

pub(crate) use self::offers::Offer;
use self::offers::Offers;
use crate::clock;
use crate::error::Reason;
use crate::facts::{Admission, TlsFacts};

/// How many bytes of interim responses may wait for a client. Further ones are dropped: they are hints, and an
/// upstream can send them without end.
const MAX_INTERIM: usize = 64 * 1024;

/// Bits of the commands that a driver has not followed yet.
const DRAIN: u8 = 1;
const TIME_OUT: u8 = 2;
const CLOSE: u8 = 4;

/// Why the proxy closed a connection.
const STALLED: u8 = 1;
const STOPPED: u8 = 2;

/// The facts of a client connection that its requests use.
#[derive(Clone, Debug)]
pub struct Connection {
    peer: Option<SocketAddr>,
    tls: bool,
    peer_ip: Option<HeaderValue>,
    local: Option<SocketAddr>,
    secured: Option<Arc<TlsFacts>>,
    admission: Option<Admission>,
    state: Arc<ConnState>,
}

/// Counters that the driver and the requests write and the sweeper reads; no clock is read for them. All of them
/// are on one thread: what is counted for each read is loaded and stored, which costs less than adding at once.
#[derive(Debug, Default)]
pub(crate) struct ConnState {
    group: Group,
    read: AtomicU64,
    writes: AtomicU32,
    write_blocked: AtomicBool,
    served: AtomicU32,
    in_flight: AtomicU32,
    read_when_idle: AtomicU64,
    awaits_body: AtomicBool,
    closing: AtomicBool,
    leaving: AtomicBool,
    open_end: AtomicBool,
    multiplexed: AtomicBool,
    checked: AtomicBool,
    admitted: AtomicBool,
    refusing: AtomicBool,
    commands: AtomicU8,
    cut_by: AtomicU8,
    wake: AtomicWaker,
    has_interim: AtomicBool,
    interim: Mutex<Vec<u8>>,
    offers: Offers,
}

/// One look at the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) in_flight: u32,
    pub(crate) served: u32,
    /// Bytes that came.
    pub(crate) read: u64,
    pub(crate) writes: u32,
    pub(crate) write_blocked: bool,
    pub(crate) head_started: bool,
    /// The rest of a request's body is waited for.
    pub(crate) awaits_body: bool,
    /// The last answer is out.
    pub(crate) closing: bool,
    pub(crate) multiplexed: bool,
    /// It was asked to drain.
    pub(crate) draining: bool,
}

/// Connections that came by one listener, and go with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group(pub(crate) u64);

/// A request in flight on a connection; counted until dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<ConnState>);

// === impl Connection ===

impl Connection {
    /// A connection from `peer`, with or without TLS.
    pub fn new(peer: SocketAddr, tls: bool) -> Self {
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        Self {
            peer: Some(peer),
            tls,
            peer_ip: HeaderValue::try_from(peer.ip().to_string()).ok(),
            local: None,
            secured: None,
            admission: None,
            state: Arc::default(),
        }
    }

    /// A connection over a unix socket: its peer has no address.
    pub fn local(tls: bool) -> Self {
        Self {
            peer: None,
            tls,
            peer_ip: None,
            local: None,
            secured: None,
            admission: None,
            state: Arc::default(),
        }
    }

    /// Where it came in, and what its handshake agreed on.
    pub(crate) fn with_facts(mut self, local: Option<SocketAddr>, secured: Option<TlsFacts>) -> Self {
        self.local = local;
        self.secured = secured.map(Arc::new);
        self
    }

    /// On which terms it was let in.
    pub(crate) fn with_admission(mut self, admission: Admission) -> Self {
        self.admission = Some(admission);
        self
    }

    /// On which terms its listener has let it in; `None` for one that another server accepted.
    pub(crate) fn admission(&self) -> Option<&Admission> {
        self.admission.as_ref()
    }

    /// Where it came in, if anybody wants to know.
    pub(crate) fn local_address(&self) -> Option<SocketAddr> {
        self.local
    }

    /// What its handshake agreed on; `None` without TLS, and of a connection that another server accepted.
    pub(crate) fn secured(&self) -> Option<&Arc<TlsFacts>> {
        self.secured.as_ref()
    }

    /// The client's certificate, in DER, if it is known to be from whom it says.
    pub(crate) fn vouched_for(&self) -> Option<&[u8]> {
        self.admission.as_ref()?.vouched_for(self.secured.as_ref()?)
    }

    /// The connection that has this state.
    pub(crate) fn with_state(mut self, state: Arc<ConnState>) -> Self {
        self.state = state;
        self
    }

    /// The address of the direct peer; an IPv4-mapped address is given as IPv4. `None` for one of a unix socket.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Whether the client speaks TLS to the proxy.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// The peer's IP address as a field value, rendered once.
    pub(crate) fn peer_ip(&self) -> Option<&HeaderValue> {
        self.peer_ip.as_ref()
    }

    pub(crate) fn state(&self) -> &Arc<ConnState> {
        &self.state
    }
}

// === impl ConnState ===

impl ConnState {
    pub(crate) fn in_group(group: Group) -> Self {
        Self {
            group,
            ..Self::default()
        }
    }

    /// Which connections it goes with.
    pub(crate) fn group(&self) -> Group {
        self.group
    }

    /// Waits until the connection is told to close at once.
    pub(crate) async fn closed(&self) {
        poll_fn(|cx| match self.poll_command(cx) {
            Some(Command::Close) => Poll::Ready(()),
            Some(Command::Drain | Command::TimeOut) | None => Poll::Pending,
        })
        .await;
    }

    /// The connection carries many streams at once.
    pub(crate) fn set_multiplexed(&self) {
        self.multiplexed.store(true, Ordering::Relaxed);
    }

    /// The connection's heads were checked when they were read.
    pub(crate) fn set_checked(&self) {
        self.checked.store(true, Ordering::Relaxed);
    }

    /// The terms that the connection is on are settled: it has shaken hands, or need not.
    pub(crate) fn set_admitted(&self) {
        self.admitted.store(true, Ordering::Relaxed);
    }

    /// Whether the connection is still to be let in, on the terms that its listener will have then.
    pub(crate) fn is_arriving(&self) -> bool {
        !self.admitted.load(Ordering::Relaxed)
    }

    /// No further stream is answered.
    pub(crate) fn refuse_streams(&self) {
        self.refusing.store(true, Ordering::Relaxed);
    }

    /// Whether the client had time to hear that the connection takes no further stream.
    pub(crate) fn refuses_streams(&self) -> bool {
        self.refusing.load(Ordering::Relaxed)
    }

    /// Whether the stream will be dropped as soon as it is shut down.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// Whether what `http1_codec` refuses cannot come over this connection.
    pub(crate) fn is_checked(&self) -> bool {
        self.checked.load(Ordering::Relaxed)
    }

    /// Whether an answer is under way of which only the end of the connection tells that it is whole.
    pub(crate) fn has_open_end(&self) -> bool {
        self.open_end.load(Ordering::Relaxed)
    }

    /// Counts a request until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    pub(crate) fn activity(&self) -> Activity {
        let served = self.served.load(Ordering::Relaxed);
        let read = self.read.load(Ordering::Relaxed);
        Activity {
            in_flight: self.in_flight.load(Ordering::Relaxed),
            served,
            read,
            writes: self.writes.load(Ordering::Relaxed),
            write_blocked: self.write_blocked.load(Ordering::Relaxed),
            head_started: served == 0 || read != self.read_when_idle.load(Ordering::Relaxed),
            awaits_body: self.awaits_body.load(Ordering::Relaxed),
            closing: self.closing.load(Ordering::Relaxed),
            multiplexed: self.multiplexed.load(Ordering::Relaxed),
            draining: self.commands.load(Ordering::Relaxed) & DRAIN != 0,
        }
    }

    /// Asks the driver to do something.
    pub(crate) fn command(&self, command: Command) {
        let bit = match command {
            Command::Drain => DRAIN,
            Command::TimeOut => TIME_OUT,
            Command::Close => CLOSE,
        };
        self.commands.fetch_or(bit, Ordering::Release);
        self.wake.wake();
    }

    /// Notes why the connection is closed although an answer is under way: what was said first holds.
    pub(crate) fn cut(&self, by: Reason) {
        let code = if by == Reason::Stalled { STALLED } else { STOPPED };
        let _first = self
            .cut_by
            .compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Why the proxy closed it, if it did.
    pub(crate) fn cut_by(&self) -> Option<Reason> {
        match self.cut_by.load(Ordering::Relaxed) {
            STALLED => Some(Reason::Stalled),
            STOPPED => Some(Reason::Stopped),
            _ => None,
        }
    }

    /// Waits until the driver is asked to do something.
    pub(crate) async fn commanded(&self) -> Command {
        poll_fn(|cx| match self.poll_command(cx) {
            Some(command) => Poll::Ready(command),
            None => Poll::Pending,
        })
        .await
    }

    /// Counts a request of a connection that has one at a time, or its end.
    fn set_in_flight(&self, in_flight: bool) {
        let before = self.in_flight.load(Ordering::Relaxed);
        self.in_flight.store(u32::from(in_flight), Ordering::Relaxed);
        if before == 1 && !in_flight {
            self.served();
        }
    }

    fn served(&self) {
        self.served.fetch_add(1, Ordering::Relaxed);
        self.read_when_idle
            .store(self.read.load(Ordering::Relaxed), Ordering::Relaxed);
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
        self.wake.wake();
    }
}

impl Control for ConnState {
    fn on_read(&self, bytes: usize) {
        let read = self.read.load(Ordering::Relaxed).wrapping_add(bytes as u64);
        self.read.store(read, Ordering::Relaxed);
    }

    fn on_write(&self, progress: bool) {
        if progress {
            let writes = self.writes.load(Ordering::Relaxed).wrapping_add(1);
            self.writes.store(writes, Ordering::Relaxed);
        }
        self.write_blocked.store(!progress, Ordering::Relaxed);
    }

    fn on_phase(&self, phase: Phase) {
        self.awaits_body.store(phase == Phase::Body, Ordering::Relaxed);
        self.set_in_flight(matches!(phase, Phase::Request | Phase::Body));
        if matches!(phase, Phase::Closing | Phase::Leaving) {
            self.closing.store(true, Ordering::Relaxed);
            self.leaving.store(phase == Phase::Leaving, Ordering::Relaxed);
        }
    }

    fn on_open_end(&self, under_way: bool) {
        self.open_end.store(under_way, Ordering::Relaxed);
    }

    fn poll_command(&self, cx: &mut Context<'_>) -> Option<Command> {
        self.wake.register(cx.waker());
        let commands = self.commands.load(Ordering::Acquire);
        if commands & CLOSE != 0 {
            Some(Command::Close)
        } else if commands & TIME_OUT != 0 {
            self.commands.fetch_and(!TIME_OUT, Ordering::AcqRel);
            Some(Command::TimeOut)
        } else if commands & DRAIN != 0 {
            Some(Command::Drain)
        } else {
            None
        }
    }

    fn take_interim(&self) -> Option<Vec<u8>> {
        if !self.has_interim.load(Ordering::Acquire) {
            return None;
        }
        self.has_interim.store(false, Ordering::Release);
        let bytes = std::mem::take(&mut *self.interim.lock().unwrap_or_else(PoisonError::into_inner));
        (!bytes.is_empty()).then_some(bytes)
    }

    fn date(&self) -> Option<HeaderValue> {
        Some(clock::http_date())
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
        self.0.served();
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
