//! The state of the demo: pods, their live sessions, and the rollout under way. Pure: time comes as an argument.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::time::Instant;

use super::ids::Id;

/// The first pod's address; the others follow it.
pub(super) const FIRST_POD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// The second pod's address, where the first rollout leads.
pub(super) const SECOND_POD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
/// How many addresses the pods use in turn: 127.0.0.2 to 127.0.0.9.
pub(super) const POD_ADDRESSES: u8 = 8;
/// How many sessions one pod takes.
const MAX_SESSIONS: usize = 64;
/// How many lines of history are kept.
const MAX_HISTORY: usize = 8;
/// A page that was sent but never opened its stream is given up after this time.
const CONNECT_GRACE: Duration = Duration::from_secs(10);
/// A session whose stream was cut may come back within this time.
const STREAM_GRACE: Duration = Duration::from_secs(3);
/// A tab in the background holds no stream; it is given up after this time.
const HIDDEN_GRACE: Duration = Duration::from_secs(40 * 60);
/// A rollout drains the old pod once the proxy has asked for the name again, or after this time.
const HANDOVER_LIMIT: Duration = Duration::from_secs(10);

/// All pods of the demo.
#[derive(Debug)]
pub(super) struct Cluster {
    pods: BTreeMap<Ipv4Addr, Pod>,
    fresh: Ipv4Addr,
    handover: Option<Handover>,
    history: VecDeque<Event>,
    started: Instant,
    sessions_opened: u64,
    next_address: Ipv4Addr,
}

/// One pod as the cluster sees it.
#[derive(Debug)]
pub(super) struct Pod {
    pub(super) token: String,
    pub(super) phase: Phase,
    pub(super) sessions: BTreeMap<Id, Session>,
}

/// Where a pod is in its life.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Phase {
    /// Started, waiting for the next rollout.
    Ready,
    /// The name resolves to it: new sessions land here.
    Fresh,
    /// The name no longer resolves to it, but the proxy may not have noticed yet.
    Leaving,
    /// Serves the sessions it has until the last one ends.
    Draining,
}

/// One open tab.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) number: u64,
    pub(super) ticks: u64,
    pub(super) clicks: u64,
    owner: Id,
    /// The number of the stream that is served now; older ones end.
    stream: u64,
    connected: bool,
    hidden: bool,
    deadline: Instant,
}

/// A line of history, with its time since the start.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) after: Duration,
    pub(super) text: String,
}

#[derive(Debug)]
struct Handover {
    to: Ipv4Addr,
    deadline: Instant,
    noticed: bool,
}

/// What the pods' keeper has to do after a tick.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Chores {
    /// Pods that have ended and must stop listening.
    pub(super) stop: Vec<Ipv4Addr>,
    /// Where to start the pod of the next rollout.
    pub(super) start: Option<Ipv4Addr>,
}

/// Why a rollout was refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RollOutRefused {
    /// The one before is not done yet.
    UnderWay,
    /// Every address has a pod with live sessions.
    NoPodReady,
}

/// The session is not here: it ended, or the pod never had it. The page must load anew.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Gone;

// === impl Cluster ===

impl Cluster {
    /// A cluster whose first pod is fresh.
    pub(super) fn new(token: String, now: Instant) -> Self {
        let mut cluster = Self {
            pods: BTreeMap::new(),
            fresh: FIRST_POD,
            handover: None,
            history: VecDeque::new(),
            started: now,
            sessions_opened: 0,
            next_address: FIRST_POD,
        };
        cluster.add_pod(FIRST_POD, token);
        cluster.set_phase(FIRST_POD, Phase::Fresh);
        cluster.note(now, format!("the name resolves to {FIRST_POD}"));
        cluster
    }

    /// The address that the pods' name resolves to.
    pub(super) fn fresh(&self) -> Ipv4Addr {
        self.fresh
    }

    /// Every pod, in the order of the addresses.
    pub(super) fn pods(&self) -> impl Iterator<Item = (Ipv4Addr, &Pod)> {
        self.pods.iter().map(|(address, pod)| (*address, pod))
    }

    /// One pod.
    pub(super) fn pod(&self, address: Ipv4Addr) -> Option<&Pod> {
        self.pods.get(&address)
    }

    /// Whether the pod at `address` only serves out the sessions it has.
    pub(super) fn is_draining(&self, address: Ipv4Addr) -> bool {
        self.pod(address).is_none_or(|pod| pod.phase == Phase::Draining)
    }

    /// The latest lines of history, oldest first.
    pub(super) fn history(&self) -> impl Iterator<Item = &Event> {
        self.history.iter()
    }

    /// Whether a rollout has begun and the old pod is not draining yet.
    pub(super) fn rolling(&self) -> bool {
        self.handover.is_some()
    }

    /// A pod listens at `address` and waits for the next rollout.
    pub(super) fn add_pod(&mut self, address: Ipv4Addr, token: String) {
        let pod = Pod {
            token,
            phase: Phase::Ready,
            sessions: BTreeMap::new(),
        };
        self.pods.insert(address, pod);
        self.next_address = following(address);
    }

    /// No pod could start at `address`; the next attempt takes another.
    pub(super) fn skip_address(&mut self, address: Ipv4Addr, reason: &str, now: Instant) {
        self.next_address = following(address);
        self.note(now, format!("no pod at {address}: {reason}"));
    }

    /// A page is about to be sent by the pod at `address`: its new session's id. `None` if the pod is full or gone.
    pub(super) fn open(&mut self, address: Ipv4Addr, id: Id, owner: Id, now: Instant) -> Option<u64> {
        let pod = self
            .pods
            .get_mut(&address)
            .filter(|pod| pod.sessions.len() < MAX_SESSIONS)?;
        self.sessions_opened += 1;
        let session = Session {
            number: self.sessions_opened,
            ticks: 0,
            clicks: 0,
            owner,
            stream: 0,
            connected: false,
            hidden: false,
            deadline: now + CONNECT_GRACE,
        };
        pod.sessions.insert(id, session);
        Some(self.sessions_opened)
    }

    /// The session `id` of the pod at `address`, if it is `owner`'s.
    pub(super) fn session(&mut self, address: Ipv4Addr, id: Id, owner: Id) -> Result<&mut Session, Gone> {
        let pod = self.pods.get_mut(&address).ok_or(Gone)?;
        pod.sessions
            .get_mut(&id)
            .filter(|session| session.owner == owner)
            .ok_or(Gone)
    }

    /// The session follows a link inside the app. A draining pod lets go of it, so that the page loads anew.
    pub(super) fn follow_link(&mut self, address: Ipv4Addr, id: Id, owner: Id) -> Result<(), Gone> {
        self.session(address, id, owner)?;
        let pod = self.pods.get_mut(&address).ok_or(Gone)?;
        if pod.phase == Phase::Draining {
            pod.sessions.remove(&id);
            return Err(Gone);
        }
        Ok(())
    }

    /// The session's tab was closed.
    pub(super) fn close(&mut self, address: Ipv4Addr, id: Id, owner: Id) -> Result<(), Gone> {
        self.session(address, id, owner)?;
        let pod = self.pods.get_mut(&address).ok_or(Gone)?;
        pod.sessions.remove(&id);
        Ok(())
    }

    /// Begins a rollout: the name resolves to the waiting pod from now on. Later ticks drain the old one.
    pub(super) fn roll_out(&mut self, now: Instant) -> Result<(), RollOutRefused> {
        if self.handover.is_some() {
            return Err(RollOutRefused::UnderWay);
        }
        let ready = self
            .pods()
            .find(|(_, pod)| pod.phase == Phase::Ready)
            .map(|(address, _)| address);
        let to = ready.ok_or(RollOutRefused::NoPodReady)?;
        self.set_phase(self.fresh, Phase::Leaving);
        self.set_phase(to, Phase::Fresh);
        self.fresh = to;
        self.handover = Some(Handover {
            to,
            deadline: now + HANDOVER_LIMIT,
            noticed: false,
        });
        self.note(now, format!("rollout: the name resolves to {to} from now on"));
        Ok(())
    }

    /// The name was looked up and `answer` was given.
    pub(super) fn looked_up(&mut self, answer: Ipv4Addr, now: Instant) {
        let news = self
            .handover
            .as_mut()
            .filter(|handover| handover.to == answer && !handover.noticed);
        if let Some(handover) = news {
            handover.noticed = true;
            self.note(now, format!("the proxy looked the name up and got {answer}"));
        }
    }

    /// One step of time: counters go on, lost sessions end, old pods drain and stop.
    pub(super) fn tick(&mut self, now: Instant) -> Chores {
        for pod in self.pods.values_mut() {
            pod.sessions
                .retain(|_, session| session.connected || now < session.deadline);
            pod.sessions.values_mut().for_each(Session::tick);
        }
        let stop = self.ended_pods(now);
        self.finish_handover(now);
        Chores {
            stop,
            start: self.wanted_pod(),
        }
    }

    /// Draining pods without sessions, taken out of the cluster.
    fn ended_pods(&mut self, now: Instant) -> Vec<Ipv4Addr> {
        let ended = |pod: &Pod| pod.phase == Phase::Draining && pod.sessions.is_empty();
        let stop: Vec<Ipv4Addr> = self
            .pods()
            .filter(|(_, pod)| ended(pod))
            .map(|(at, _)| at)
            .collect();
        for address in &stop {
            self.pods.remove(address);
            self.note(now, format!("{address} has stopped: no session was left on it"));
        }
        stop
    }

    fn finish_handover(&mut self, now: Instant) {
        if !self
            .handover
            .as_ref()
            .is_some_and(|handover| handover.noticed || handover.deadline <= now)
        {
            return;
        }
        self.handover = None;
        let leaving = self
            .pods()
            .find(|(_, pod)| pod.phase == Phase::Leaving)
            .map(|(address, _)| address);
        if let Some(address) = leaving {
            self.set_phase(address, Phase::Draining);
            self.note(
                now,
                format!("{address} drains: it keeps the sessions it has and gets no new ones"),
            );
        }
    }

    /// The address for the next waiting pod: none if one waits already or no address is free.
    fn wanted_pod(&self) -> Option<Ipv4Addr> {
        if self.pods.values().any(|pod| pod.phase == Phase::Ready) {
            return None;
        }
        let turn = std::iter::successors(Some(self.next_address), |address| Some(following(*address)));
        turn.take(usize::from(POD_ADDRESSES))
            .find(|address| !self.pods.contains_key(address))
    }

    fn set_phase(&mut self, address: Ipv4Addr, phase: Phase) {
        if let Some(pod) = self.pods.get_mut(&address) {
            pod.phase = phase;
        }
    }

    fn note(&mut self, now: Instant, text: String) {
        if self.history.len() == MAX_HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(Event {
            after: now.duration_since(self.started),
            text,
        });
    }
}

// === impl Phase ===

impl Phase {
    /// Its name for people and scripts.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Fresh => "fresh",
            Self::Leaving => "leaving",
            Self::Draining => "draining",
        }
    }
}

// === impl Session ===

impl Session {
    /// A new stream of this session begins and every older one ends: the new one's number.
    pub(super) fn connect(&mut self) -> u64 {
        self.stream += 1;
        self.connected = true;
        self.hidden = false;
        self.stream
    }

    /// Whether stream number `stream` is still the one to be served.
    pub(super) fn is_current(&self, stream: u64) -> bool {
        self.stream == stream
    }

    /// Stream number `stream` has ended. Only the current one counts.
    pub(super) fn disconnect(&mut self, stream: u64, now: Instant) {
        if self.is_current(stream) {
            self.connected = false;
            self.deadline = now + if self.hidden { HIDDEN_GRACE } else { STREAM_GRACE };
        }
    }

    /// The tab went into the background and will close its stream.
    pub(super) fn hide(&mut self, now: Instant) {
        self.hidden = true;
        self.deadline = now + HIDDEN_GRACE;
    }

    /// Whether the tab is in the background.
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// The counter runs from the first stream on, whether or not a stream is open just now.
    fn tick(&mut self) {
        if self.stream > 0 {
            self.ticks += 1;
        }
    }
}

/// The next address in the pods' circle.
fn following(address: Ipv4Addr) -> Ipv4Addr {
    let next = Ipv4Addr::from_bits(address.to_bits().wrapping_add(1));
    let end = Ipv4Addr::from_bits(FIRST_POD.to_bits() + u32::from(POD_ADDRESSES));
    if next < end { next } else { FIRST_POD }
}

#[cfg(test)]
mod tests;
