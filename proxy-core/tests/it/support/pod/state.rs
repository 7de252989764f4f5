//! What a pod keeps in its memory, and what it has seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;

use super::super::wait::Changes;

/// The state of a pod behind its lock.
pub(crate) struct Shared {
    token: String,
    state: Mutex<State>,
    changes: Changes,
}

/// A pod's memory.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The targets of all requests, byte for byte, in the order of arrival.
    pub(crate) seen: Vec<String>,
    /// Every report that came in whole.
    pub(crate) reports: Vec<Report>,
    /// The kinds of the requests whose client left before they were done: `sync`, `report` or `hook`.
    pub(crate) aborted: Vec<&'static str>,
    /// How many connections were accepted.
    pub(crate) connections: usize,
    /// How many connections are open now.
    pub(crate) open_connections: usize,
    /// How many system requests were answered 410.
    pub(crate) gone: usize,
    /// How many of those ended their instance because the pod drains.
    pub(crate) ended_by_link: usize,
    /// How many reports' bodies are being read now.
    pub(crate) open_reports: usize,
    tag: String,
    draining: bool,
    made: usize,
    sessions: BTreeSet<String>,
    instances: BTreeMap<String, Instance>,
}

/// One report of a client.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Report {
    pub(crate) instance: String,
    pub(crate) json: Value,
}

/// What the test does to an open sync stream.
#[derive(Debug)]
pub(crate) enum Step {
    /// These bytes at once.
    Frame(Bytes),
    /// These bytes, then a clean end.
    Last(&'static [u8]),
    /// An end that is not clean.
    Cut,
}

/// An open connection; dropped at its end.
pub(crate) struct OpenConnection(Arc<Shared>);

#[derive(Debug)]
struct Instance {
    session: String,
    /// Whether its client has ever connected; one that has not does not keep a draining pod alive.
    connected: bool,
    clicks: u64,
    syncs: usize,
    sync: Option<mpsc::UnboundedSender<Step>>,
}

// === impl Shared ===

impl Shared {
    /// `tag` makes the names of sessions and instances this pod's own.
    pub(super) fn new(token: String, tag: String) -> Self {
        let state = Mutex::new(State {
            tag,
            ..State::default()
        });
        Self {
            token,
            state,
            changes: Changes::new(),
        }
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) async fn until<T>(&self, what: &str, check: impl Fn(&State) -> Option<T>) -> T {
        self.changes.until(what, || self.look(&check)).await
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let value = change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changes.announce();
        value
    }

    /// Counts a connection for as long as the guard lives.
    pub(super) fn connection(self: &Arc<Self>) -> OpenConnection {
        self.change(|state| {
            state.connections += 1;
            state.open_connections += 1;
        });
        OpenConnection(Arc::clone(self))
    }

    pub(super) fn drain(&self) {
        self.change(|state| {
            state.draining = true;
            // A real pod gives them half a minute more.
            state.instances.retain(|_, instance| instance.connected);
        });
    }

    /// Takes `step` on the newest sync stream of `instance`.
    pub(super) fn send(&self, instance: &str, step: Step) {
        let sent = self.look(|state| {
            let sync = state
                .instances
                .get(instance)
                .and_then(|instance| instance.sync.as_ref());
            sync.is_some_and(|sync| sync.send(step).is_ok())
        });
        assert!(sent, "instance {instance} has no open sync stream");
    }

    /// The session a request belongs to: a live one named in `cookies`, or a new one.
    pub(super) fn session(&self, cookies: &str) -> String {
        let prefix = format!("{}=", self.token);
        let named = cookies
            .split("; ")
            .filter_map(|pair| pair.strip_prefix(prefix.as_str()));
        let named: Vec<_> = named.map(str::to_owned).collect();
        self.change(|state| {
            let live = named.into_iter().find(|session| state.sessions.contains(session));
            live.unwrap_or_else(|| {
                let session = state.name("S");
                state.sessions.insert(session.clone());
                session
            })
        })
    }
}

// === impl OpenConnection ===

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.change(|state| state.open_connections -= 1);
    }
}

// === impl State ===

impl State {
    /// Whether the pod drains.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining
    }

    /// Whether no instance lives.
    pub(crate) fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// How many sessions were made here.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// How many sync streams `instance` has opened, if it lives and the newest is open.
    pub(crate) fn syncs(&self, instance: &str) -> usize {
        let instance = self.instances.get(instance);
        instance
            .filter(|instance| instance.sync.as_ref().is_some_and(|sync| !sync.is_closed()))
            .map_or(0, |instance| instance.syncs)
    }

    pub(super) fn open_instance(&mut self, session: &str) -> String {
        let name = self.name("I");
        self.instances.insert(
            name.clone(),
            Instance {
                session: session.to_owned(),
                connected: false,
                clicks: 0,
                syncs: 0,
                sync: None,
            },
        );
        name
    }

    /// Whether `instance` lives and belongs to `session`, whose client has connected now.
    pub(super) fn connect(&mut self, session: &str, instance: &str) -> bool {
        let mine = self
            .instances
            .get_mut(instance)
            .filter(|instance| instance.session == session);
        mine.map(|instance| instance.connected = true).is_some()
    }

    pub(super) fn click(&mut self, instance: &str) -> u64 {
        let instance = self.instances.get_mut(instance).expect("checked by connect");
        instance.clicks += 1;
        instance.clicks
    }

    /// Opens the next sync stream of `instance` and rolls the one before it.
    pub(super) fn open_sync(&mut self, instance: &str) -> mpsc::UnboundedReceiver<Step> {
        let instance = self.instances.get_mut(instance).expect("checked by connect");
        instance.syncs += 1;
        let (steps, received) = mpsc::unbounded_channel();
        if let Some(before) = instance.sync.replace(steps) {
            let _closed_already = before.send(Step::Last(super::streams::ROLL));
        }
        received
    }

    /// Ends `instance` with `last` as the end of its sync stream.
    pub(super) fn end_instance(&mut self, instance: &str, last: &'static [u8]) {
        self.ended_by_link += 1;
        let ended = self.instances.remove(instance);
        if let Some(sync) = ended.and_then(|instance| instance.sync) {
            let _closed_already = sync.send(Step::Last(last));
        }
    }

    fn name(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{kind}{}n{}", self.tag, self.made)
    }
}
