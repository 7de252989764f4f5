//! A store in the memory of this process.

mod state;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::stream::{self, BoxStream, StreamExt};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::revision::{Epoch, Revision};
use crate::store::{
    Answer, Change, Changes, Document, Expected, Replica, Routes, Store, StoreError, StoredRoute, Terms,
    Value,
};
use state::State;

/// Changes and versions that are kept of each host unless told otherwise.
pub const DEFAULT_HISTORY: usize = 50;

/// A store of one process: everything is lost when it ends.
///
/// Time is tokio's, so a test may pause it.
#[derive(Debug)]
pub struct MemoryStore {
    state: Mutex<State>,
    leases: Mutex<BTreeMap<String, (String, Instant)>>,
    replicas: Mutex<BTreeMap<String, (Replica, Instant)>>,
    values: Mutex<Values>,
    started: (SystemTime, Instant),
    changed: watch::Sender<()>,
}

/// The values of all namespaces.
#[derive(Debug, Default)]
struct Values {
    last: u64,
    by_key: BTreeMap<(String, String), Held>,
}

#[derive(Debug)]
struct Held {
    value: Value,
    until: Option<Instant>,
}

// === impl MemoryStore ===

impl MemoryStore {
    /// An empty store that keeps [`DEFAULT_HISTORY`]. `now` is the time of day, for the history; it goes on by tokio's clock.
    pub fn new(epoch: Epoch, now: SystemTime) -> Self {
        Self::with_history(epoch, now, DEFAULT_HISTORY)
    }

    /// Like [`new`](Self::new), with the number of changes and of versions that are kept of each host, at least 1.
    pub fn with_history(epoch: Epoch, now: SystemTime, history: usize) -> Self {
        Self {
            state: Mutex::new(State::new(epoch, history.max(1))),
            leases: Mutex::default(),
            replicas: Mutex::default(),
            values: Mutex::default(),
            started: (now, Instant::now()),
            changed: watch::Sender::new(()),
        }
    }

    /// Loses all data, as a server does that was set up anew; for tests of those who read a store.
    pub fn lose(&self, epoch: Epoch) {
        let mut state = lock(&self.state);
        *state = State::new(epoch, state.history());
        drop(state);
        lock(&self.leases).clear();
        lock(&self.replicas).clear();
        *lock(&self.values) = Values::default();
        self.changed.send_replace(());
    }

    /// Seconds since 1970.
    fn seconds(&self) -> u64 {
        let (day, instant) = self.started;
        let now = day.checked_add(instant.elapsed()).unwrap_or(day);
        now.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
    }

    /// Runs a change of routes and wakes watchers if it happened.
    fn write(
        &self,
        change: impl FnOnce(&mut State) -> Result<Revision, StoreError>,
    ) -> Result<Revision, StoreError> {
        let mut state = lock(&self.state);
        let before = state.revision();
        let after = change(&mut state)?;
        drop(state);
        if after != before {
            self.changed.send_replace(());
        }
        Ok(after)
    }
}

impl Store for MemoryStore {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn revision(&self) -> Answer<'_, Revision> {
        Box::pin(async { Ok(lock(&self.state).revision()) })
    }

    fn routes(&self) -> Answer<'_, Routes> {
        Box::pin(async { Ok(lock(&self.state).routes()) })
    }

    fn changes(&self, known: Revision) -> Answer<'_, Changes> {
        Box::pin(async move { Ok(lock(&self.state).changes(known)) })
    }

    fn route<'a>(&'a self, host: &'a str) -> Answer<'a, Option<StoredRoute>> {
        Box::pin(async move { Ok(lock(&self.state).route(&host.to_ascii_lowercase())) })
    }

    fn put<'a>(&'a self, host: &'a str, document: Document<'a>, terms: Terms<'a>) -> Answer<'a, Revision> {
        let at = self.seconds();
        Box::pin(async move { self.write(|state| state.put(host.to_ascii_lowercase(), document, terms, at)) })
    }

    fn delete<'a>(&'a self, host: &'a str, terms: Terms<'a>) -> Answer<'a, Revision> {
        let at = self.seconds();
        Box::pin(async move { self.write(|state| state.delete(&host.to_ascii_lowercase(), terms, at)) })
    }

    fn history<'a>(&'a self, host: &'a str) -> Answer<'a, Vec<Change>> {
        Box::pin(async move { Ok(lock(&self.state).changes_of(&host.to_ascii_lowercase())) })
    }

    fn rollback<'a>(&'a self, host: &'a str, version: u64, terms: Terms<'a>) -> Answer<'a, Revision> {
        let at = self.seconds();
        Box::pin(
            async move { self.write(|state| state.rollback(&host.to_ascii_lowercase(), version, terms, at)) },
        )
    }

    fn report<'a>(&'a self, replica: &'a Replica, ttl: Duration) -> Answer<'a, ()> {
        Box::pin(async move {
            let until = Instant::now() + ttl;
            lock(&self.replicas).insert(replica.id.clone(), (replica.clone(), until));
            Ok(())
        })
    }

    fn replicas(&self) -> Answer<'_, Vec<Replica>> {
        Box::pin(async {
            let now = Instant::now();
            let mut replicas = lock(&self.replicas);
            replicas.retain(|_, (_, until)| *until > now);
            Ok(replicas.values().map(|(replica, _)| replica.clone()).collect())
        })
    }

    fn acquire<'a>(&'a self, name: &'a str, holder: &'a str, ttl: Duration) -> Answer<'a, bool> {
        Box::pin(async move {
            let now = Instant::now();
            let mut leases = lock(&self.leases);
            let is_others = |(of, until): &(String, Instant)| of != holder && *until > now;
            if leases.get(name).is_some_and(is_others) {
                return Ok(false);
            }
            leases.insert(name.to_owned(), (holder.to_owned(), now + ttl));
            Ok(true)
        })
    }

    fn release<'a>(&'a self, name: &'a str, holder: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            let mut leases = lock(&self.leases);
            if leases.get(name).is_some_and(|(of, _)| of == holder) {
                leases.remove(name);
            }
            Ok(())
        })
    }

    fn get<'a>(&'a self, space: &'a str, key: &'a str) -> Answer<'a, Option<Value>> {
        Box::pin(async move { Ok(lock(&self.values).get(space, key).cloned()) })
    }

    fn set<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
        bytes: &'a [u8],
        expected: Expected,
        ttl: Option<Duration>,
    ) -> Answer<'a, u64> {
        Box::pin(async move { lock(&self.values).set(space, key, bytes, expected, ttl) })
    }

    fn remove<'a>(&'a self, space: &'a str, key: &'a str, expected: Expected) -> Answer<'a, ()> {
        Box::pin(async move { lock(&self.values).remove(space, key, expected) })
    }

    fn keys<'a>(&'a self, space: &'a str, prefix: &'a str) -> Answer<'a, Vec<String>> {
        Box::pin(async move { Ok(lock(&self.values).keys(space, prefix)) })
    }

    fn watch(&self) -> Answer<'_, Option<BoxStream<'static, ()>>> {
        let wakes = stream::unfold(self.changed.subscribe(), |mut changed| async move {
            changed.changed().await.ok()?;
            Some(((), changed))
        });
        Box::pin(async move { Ok(Some(wakes.boxed())) })
    }
}

// === impl Values ===

impl Values {
    fn get(&mut self, space: &str, key: &str) -> Option<&Value> {
        self.forget_old();
        let place = (space.to_owned(), key.to_owned());
        self.by_key.get(&place).map(|held| &held.value)
    }

    fn set(
        &mut self,
        space: &str,
        key: &str,
        bytes: &[u8],
        expected: Expected,
        ttl: Option<Duration>,
    ) -> Result<u64, StoreError> {
        expected.check(self.get(space, key).map(|value| value.version))?;
        self.last += 1;
        let value = Value {
            version: self.last,
            bytes: bytes.to_vec(),
        };
        let until = ttl.map(|ttl| Instant::now() + ttl);
        self.by_key
            .insert((space.to_owned(), key.to_owned()), Held { value, until });
        Ok(self.last)
    }

    fn remove(&mut self, space: &str, key: &str, expected: Expected) -> Result<(), StoreError> {
        expected.check(self.get(space, key).map(|value| value.version))?;
        self.by_key.remove(&(space.to_owned(), key.to_owned()));
        Ok(())
    }

    fn keys(&mut self, space: &str, prefix: &str) -> Vec<String> {
        self.forget_old();
        let from = (space.to_owned(), prefix.to_owned());
        let here = self.by_key.range(from..).map(|(place, _)| place);
        here.take_while(|(of, key)| of == space && key.starts_with(prefix))
            .map(|(_, key)| key.clone())
            .collect()
    }

    fn forget_old(&mut self) {
        let now = Instant::now();
        self.by_key
            .retain(|_, held| held.until.is_none_or(|until| until > now));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
