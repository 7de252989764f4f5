//! One coarse timer for all client connections of a worker, instead of one timer per request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http1_codec::server::Command;

use super::connection::{Activity, ConnState, Group};
use crate::error::Reason;

/// How often the sweeper looks; every limit is kept to within this.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// How long a connection without a request may stay open after it was asked to close, or after its last answer:
/// a peer that says nothing would hold up a stop for the whole grace period.
const DRAINED: Duration = Duration::from_secs(5);

/// The bytes of a body that a client must send in each second, on the average of a period, while the proxy waits
/// for them, unless the configuration asks for more. Who sends a byte now and then holds a connection, and one to the upstream.
pub(crate) const MIN_RATE: u64 = 1;

/// How long a connection may keep the proxy waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnLimits {
    /// From the accept or the first byte of a head to the head's end. Default 1 minute.
    pub(crate) head: Duration,
    /// Between two requests. Default 5 minutes.
    pub(crate) idle: Duration,
    /// In which the client must send `body_rate` of a request's body, while it is waited for. Default 1 minute.
    pub(crate) body: Duration,
    /// Bytes per second, on the average of that time. Default [`MIN_RATE`].
    pub(crate) body_rate: u64,
    /// While the client takes no byte of a response. Default 1 minute.
    pub(crate) stalled_write: Duration,
}

/// How many ticks a new connection to a listener that was removed has for its first request.
const FRESH: u32 = 5;

/// The same when the proxy stops, which waits for it.
const FRESH_AT_STOP: u32 = 2;

/// How many ticks a client has to hear that its connection takes no further stream. It may acknowledge that sooner, or
/// never.
const ANNOUNCED: u32 = 2;

/// The open client connections of a worker.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    entries: HashMap<u64, Entry>,
}

/// Ticks by the place of the state of a connection.
type Carriers = HashMap<usize, u32>;

#[derive(Debug)]
struct Entry {
    state: Arc<ConnState>,
    limits: ConnLimits,
    /// The least ticks until it is closed once its listener has gone.
    stays: u32,
    /// The connection that carries a tunnel as one of its streams.
    carrier: Option<Arc<ConnState>>,
    leaving: Option<Leaving>,
    watch: Watch,
    bodies: BodyWatch,
    offers: OfferWatch,
    farewell: Farewell,
}

/// A connection that is to go: it finishes what is in flight, and is closed when its time is over.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    /// Ticks until it is asked to drain; 0: it was.
    asked_in: u32,
    /// Ticks until it is closed.
    closed_in: u32,
}

/// Removes a connection from [`Connections`] when dropped.
#[derive(Debug)]
pub(crate) struct Registration {
    connections: Arc<Connections>,
    id: u64,
}

/// The pure part: counts the ticks that a connection stayed in one phase.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    last: Activity,
    ticks: u32,
}

/// Counts the ticks of a period in which a part of a request's body should come.
#[derive(Clone, Copy, Debug, Default)]
struct BodyWatch {
    /// While a body is waited for, the ticks since the period began and what had come then.
    period: Option<(u32, u64)>,
}

/// Counts the ticks since a connection of many streams was asked to drain, and of those the last ones without a stream.
#[derive(Clone, Copy, Debug, Default)]
struct Farewell {
    announced: u32,
    quiet: u32,
}

/// Counts the ticks of a period in which each stream's client should take something.
#[derive(Clone, Copy, Debug, Default)]
struct OfferWatch {
    ticks: u32,
}

// === impl ConnLimits ===

impl Default for ConnLimits {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(60),
            idle: Duration::from_secs(300),
            body: Duration::from_secs(60),
            body_rate: MIN_RATE,
            stalled_write: Duration::from_secs(60),
        }
    }
}

// === impl Connections ===

impl Connections {
    /// Looks after a connection until the result is dropped.
    pub(crate) fn register(self: &Arc<Self>, state: Arc<ConnState>, limits: ConnLimits) -> Registration {
        self.register_for(state, limits, 0, None)
    }

    fn register_for(
        self: &Arc<Self>,
        state: Arc<ConnState>,
        limits: ConnLimits,
        stays: u32,
        carrier: Option<Arc<ConnState>>,
    ) -> Registration {
        let mut open = self.lock();
        let id = open.next;
        open.next += 1;
        open.entries.insert(
            id,
            Entry {
                state,
                limits,
                stays,
                carrier,
                leaving: None,
                watch: Watch::default(),
                bodies: BodyWatch::default(),
                offers: OfferWatch::default(),
                farewell: Farewell::default(),
            },
        );
        Registration {
            connections: Arc::clone(self),
            id,
        }
    }

    /// Counts a tunnel as an open connection with a request in flight until the guard is dropped. Nothing
    /// of a tunnel has a limit; `stays` is how long it stays open at least once its listener has gone, and the connection of
    /// HTTP/2 that is its `carrier` with it.
    pub(crate) fn tunnel(
        self: &Arc<Self>,
        group: Group,
        stays: Duration,
        carrier: Option<Arc<ConnState>>,
    ) -> (Arc<ConnState>, impl Send + use<>) {
        let state = Arc::new(ConnState::in_group(group));
        state.set_admitted();
        let in_flight = state.begin();
        let stays = if stays.is_zero() { 0 } else { ticks(stays) };
        let registration = self.register_for(Arc::clone(&state), ConnLimits::default(), stays, carrier);
        (state, (registration, in_flight))
    }

    /// Connections that are open now.
    pub(crate) fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Requests that are in flight now.
    pub(crate) fn in_flight(&self) -> usize {
        self.lock()
            .entries
            .values()
            .map(|entry| entry.state.activity().in_flight as usize)
            .sum()
    }

    /// Asks every connection to finish what is in flight and close.
    pub(crate) fn drain(&self) {
        for entry in self.lock().entries.values_mut() {
            entry.leave(FRESH_AT_STOP, u32::MAX);
        }
    }

    /// As [`Connections::drain`], but for those of one group, which are closed after `grace`.
    pub(crate) fn retire(&self, group: Group, grace: Duration) {
        let mut open = self.lock();
        let carriers = open.carriers();
        for entry in open.entries.values_mut() {
            if entry.state.group() == group {
                entry.leave(FRESH, ticks(grace).max(entry.carries(&carriers)));
            }
        }
    }

    /// As [`Connections::retire`], but at once for those that have no request. Those that are not let in yet stay.
    pub(crate) fn renew(&self, group: Group, grace: Duration) {
        let mut open = self.lock();
        let carriers = open.carriers();
        for entry in open.entries.values_mut() {
            if entry.state.group() == group && !entry.state.is_arriving() {
                entry.leave(0, ticks(grace).max(entry.carries(&carriers)));
            }
        }
    }

    /// One tick: ends the connections that kept the proxy waiting for too long.
    pub(crate) fn sweep(&self) {
        for entry in self.lock().entries.values_mut() {
            let activity = entry.state.activity();
            let of_phase = entry.watch.tick(activity, &entry.limits);
            let of_body = entry.bodies.tick(activity, &entry.limits);
            let of_streams = entry.offers.tick(&entry.state, &entry.limits);
            let of_farewell = entry.farewell.tick(activity, &entry.state);
            let of_leaving = entry.leaving.as_mut().and_then(Leaving::tick);
            let of_client = of_phase.max(of_body).max(of_streams);
            if let Some(command) = of_client.max(of_leaving).max(of_farewell) {
                if command == Command::Close {
                    let stalls = of_client == Some(Command::Close);
                    entry
                        .state
                        .cut(if stalls { Reason::Stalled } else { Reason::Stopped });
                }
                entry.state.command(command);
            }
        }
    }

    /// Those that are still open are cut off now.
    pub(crate) fn stop(&self) {
        for entry in self.lock().entries.values() {
            entry.state.cut(Reason::Stopped);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ticks(time: Duration) -> u32 {
    u32::try_from(time.as_secs() / TICK.as_secs().max(1))
        .unwrap_or(u32::MAX)
        .max(1)
}

// === impl Open ===

impl Open {
    /// How many ticks connections stay at least for the sake of tunnels among their streams.
    fn carriers(&self) -> Carriers {
        let mut carriers = Carriers::new();
        for entry in self.entries.values().filter(|entry| entry.stays > 0) {
            if let Some(carrier) = &entry.carrier {
                let stays = carriers.entry(Arc::as_ptr(carrier).addr()).or_default();
                *stays = entry.stays.max(*stays);
            }
        }
        carriers
    }
}

// === impl Entry ===

impl Entry {
    fn carries(&self, carriers: &Carriers) -> u32 {
        let stays = carriers.get(&Arc::as_ptr(&self.state).addr());
        stays.copied().unwrap_or_default()
    }

    /// Asks the connection to go. One that has just been opened may be sending its first request, which would be lost
    /// if it were closed now: it gets `patience` more ticks.
    fn leave(&mut self, patience: u32, closed_in: u32) {
        let activity = self.state.activity();
        let is_fresh =
            patience > 0 && activity.served == 0 && activity.in_flight == 0 && self.watch.ticks == 0;
        if !is_fresh {
            self.state.command(Command::Drain);
        }
        self.leaving = Some(Leaving {
            asked_in: if is_fresh { patience } else { 0 },
            closed_in: closed_in.max(self.stays),
        });
    }
}

// === impl Leaving ===

impl Leaving {
    fn tick(&mut self) -> Option<Command> {
        self.closed_in = self.closed_in.saturating_sub(1);
        if self.closed_in == 0 {
            return Some(Command::Close);
        }
        let waits = self.asked_in > 0;
        self.asked_in = self.asked_in.saturating_sub(1);
        (waits && self.asked_in == 0).then_some(Command::Drain)
    }
}

// === impl Registration ===

impl Registration {
    /// The connection is one of the last of its listener: it goes as soon as it has been served.
    pub(crate) fn leave(&self, grace: Duration) {
        if let Some(entry) = self.connections.lock().entries.get_mut(&self.id) {
            entry.leave(FRESH, ticks(grace));
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.connections.lock().entries.remove(&self.id);
    }
}

// === impl Watch ===

impl Watch {
    fn tick(&mut self, now: Activity, limits: &ConnLimits) -> Option<Command> {
        // Reads do not count as progress of a head, so a client that drips bytes gains no time.
        let same_phase = if now.closing {
            self.last.closing
        } else if now.in_flight > 0 {
            now.write_blocked && self.last.write_blocked && now.writes == self.last.writes
        } else {
            self.last.in_flight == 0
                && now.served == self.last.served
                && now.draining == self.last.draining
                && (now.multiplexed || now.head_started == self.last.head_started)
        };
        self.ticks = if same_phase {
            self.ticks.saturating_add(1)
        } else {
            0
        };
        self.last = now;
        let (limit, command) = if now.closing {
            (DRAINED, Command::Close)
        } else if now.in_flight > 0 {
            (limits.stalled_write, Command::Close)
        } else if now.draining {
            (DRAINED, Command::Close)
        } else if now.served > 0 && (now.multiplexed || !now.head_started) {
            (limits.idle, Command::Drain)
        } else {
            (limits.head, Command::TimeOut)
        };
        let over = |limit: Duration| !limit.is_zero() && TICK.saturating_mul(self.ticks) >= limit;
        if !same_phase || !over(limit) {
            None
        } else if !limits.stalled_write.is_zero() && over(limit.saturating_add(limits.stalled_write)) {
            // It was asked to drain, but does not take the bytes that would let it.
            Some(Command::Close)
        } else {
            Some(command)
        }
    }
}

// === impl BodyWatch ===

impl BodyWatch {
    fn tick(&mut self, now: Activity, limits: &ConnLimits) -> Option<Command> {
        if !now.awaits_body || limits.body.is_zero() {
            // The client is not to blame for this second.
            self.period = None;
            return None;
        }
        // What came before, such as the head, is no part of the body.
        let Some((ticks, read)) = &mut self.period else {
            self.period = Some((0, now.read));
            return None;
        };
        *ticks = ticks.saturating_add(1);
        if TICK.saturating_mul(*ticks) < limits.body {
            return None;
        }
        let came = now.read.wrapping_sub(*read);
        let wanted = limits.body.as_secs().max(1).saturating_mul(limits.body_rate);
        self.period = Some((0, now.read));
        (came < wanted).then_some(Command::TimeOut)
    }
}

// === impl Farewell ===

impl Farewell {
    /// A client that goes on opening streams has had its time, and a connection whose last stream is done ends: the
    /// library would wait without limit for the client to acknowledge.
    fn tick(&mut self, now: Activity, state: &ConnState) -> Option<Command> {
        if !now.draining || !now.multiplexed {
            return None;
        }
        self.announced = self.announced.saturating_add(1);
        if self.announced < ANNOUNCED {
            return None;
        }
        state.refuse_streams();
        self.quiet = if now.in_flight == 0 && !now.write_blocked {
            self.quiet.saturating_add(1)
        } else {
            0
        };
        (self.quiet >= ANNOUNCED).then_some(Command::Close)
    }
}

// === impl OfferWatch ===

impl OfferWatch {
    /// A stream that takes nothing holds a connection to an upstream. The others on its connection move to
    /// a new one first, as they are no part of it.
    fn tick(&mut self, state: &ConnState, limits: &ConnLimits) -> Option<Command> {
        self.ticks = self.ticks.saturating_add(1);
        if limits.stalled_write.is_zero() || TICK.saturating_mul(self.ticks) < limits.stalled_write {
            return None;
        }
        self.ticks = 0;
        match state.next_period() {
            0 => None,
            1 => Some(Command::Drain),
            _ => Some(Command::Close),
        }
    }
}

#[cfg(test)]
mod tests;
