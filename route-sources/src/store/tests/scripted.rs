//! A store that does what tests tell it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use route_store::{
    Answer, Change, ChangeKind, Changes, Document, Epoch, Expected, Replica, Revision, Routes, Store,
    StoreError, StoredRoute, Terms, Value,
};
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::*;

/// How a store is at the moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Mood {
    Answers,
    Refuses,
    Hangs,
    MakesNoSense,
    /// It reads, but takes no writes.
    OnlyReads,
    /// It answers, but says that nothing has changed, whatever is asked.
    Lies,
}

#[derive(Debug)]
pub(super) struct Scripted {
    state: Mutex<State>,
    wakes: Mutex<Option<broadcast::Sender<()>>>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) mood: Mood,
    pub(super) revision: Revision,
    pub(super) routes: BTreeMap<String, StoredRoute>,
    pub(super) deleted: BTreeMap<String, u64>,
    /// What replicas said, for how long it is to be remembered, and when.
    pub(super) reports: Vec<(Replica, Duration, Instant)>,
    pub(super) authors: BTreeMap<String, String>,
    pub(super) lease: Option<String>,
    /// A host that somebody writes once the lease is taken.
    pub(super) meanwhile: Option<(&'static str, &'static str)>,
    /// How often all routes were read, and how often changes.
    pub(super) reads: (usize, usize),
    /// When it was asked for its revision.
    pub(super) asked: Vec<Instant>,
    /// How often somebody wanted to listen.
    pub(super) listened: usize,
}

pub(super) fn epoch(number: u8) -> Epoch {
    format!("{number:032x}").parse().unwrap()
}

// === impl Scripted ===

impl Scripted {
    /// An empty store, which says nothing by itself.
    pub(super) fn new() -> Arc<Self> {
        let state = State {
            mood: Mood::Answers,
            revision: Revision {
                epoch: epoch(1),
                number: 0,
            },
            routes: BTreeMap::new(),
            deleted: BTreeMap::new(),
            reports: Vec::new(),
            authors: BTreeMap::new(),
            lease: None,
            meanwhile: None,
            reads: (0, 0),
            asked: Vec::new(),
            listened: 0,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            wakes: Mutex::new(None),
        })
    }

    /// A store with a document for each of these hosts, at revision 1 and on.
    pub(super) fn with(hosts: &[&str]) -> Arc<Self> {
        let store = Self::new();
        for host in hosts {
            store.write(host, &document(host, "u:1"));
        }
        store
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(super) fn be(&self, mood: Mood) {
        self.state().mood = mood;
    }

    /// Writes a document of this version.
    pub(super) fn write(&self, host: &str, text: &str) {
        self.write_as(host, text, 2);
    }

    pub(super) fn write_as(&self, host: &str, text: &str, schema_version: u32) {
        self.state().write(host, text, schema_version);
        self.say();
    }

    pub(super) fn forget(&self, host: &str) {
        let mut state = self.state();
        state.revision.number += 1;
        let number = state.revision.number;
        state.routes.remove(host);
        state.deleted.insert(host.to_owned(), number);
    }

    /// All is lost, and another life begins.
    pub(super) fn lose(&self, next: u8) {
        let mut state = self.state();
        state.revision = Revision {
            epoch: epoch(next),
            number: 0,
        };
        state.routes.clear();
        state.deleted.clear();
    }

    /// It is as it was at an earlier revision, which it does not say.
    pub(super) fn go_back(&self, number: u64, routes: &[(&str, &str, u64)]) {
        let mut state = self.state();
        state.revision.number = 0;
        state.routes.clear();
        state.deleted.clear();
        for (host, upstream, version) in routes {
            state.revision.number = version - 1;
            state.write(host, &document(host, upstream), 2);
        }
        state.revision.number = number;
    }

    /// From now on it says when something changes.
    pub(super) fn speak(&self) {
        *self.wakes.lock().unwrap() = Some(broadcast::channel(64).0);
    }

    /// Those who listen hear nothing any more.
    pub(super) fn hang_up(&self) {
        self.speak();
    }

    fn say(&self) {
        if let Some(wakes) = &*self.wakes.lock().unwrap() {
            // Nobody may be listening.
            drop(wakes.send(()));
        }
    }

    /// What the source never asks for.
    fn never<T: Send + 'static>(&self) -> Answer<'_, T> {
        self.answer(true, |_| {
            Err(StoreError::Failed {
                kind: "scripted",
                reason: "nobody asks for this".to_owned(),
            })
        })
    }

    /// Does something with the state if the mood allows it.
    fn answer<T: Send + 'static>(
        &self,
        writes: bool,
        work: impl FnOnce(&mut State) -> Result<T, StoreError>,
    ) -> Answer<'_, T> {
        let mut state = self.state();
        let fails = |reason: &str| StoreError::Failed {
            kind: "scripted",
            reason: reason.to_owned(),
        };
        let answer = match state.mood {
            Mood::Hangs => return Box::pin(std::future::pending()),
            Mood::Refuses => Err(StoreError::Unavailable {
                kind: "scripted",
                source: std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into(),
            }),
            Mood::MakesNoSense => Err(fails("what it said makes no sense")),
            Mood::OnlyReads if writes => Err(fails("it takes no writes")),
            Mood::Answers | Mood::OnlyReads | Mood::Lies => work(&mut state),
        };
        Box::pin(std::future::ready(answer))
    }
}

// === impl State ===

impl State {
    fn write(&mut self, host: &str, text: &str, schema_version: u32) -> Revision {
        self.revision.number += 1;
        let route = StoredRoute {
            host: host.to_owned(),
            version: self.revision.number,
            revision: self.revision.number,
            schema_version,
            document: text.to_owned(),
        };
        self.deleted.remove(host);
        self.routes.insert(host.to_owned(), route);
        self.revision
    }

    fn all(&self) -> Routes {
        Routes {
            revision: self.revision,
            routes: self.routes.values().cloned().collect(),
        }
    }
}

impl Store for Scripted {
    fn kind(&self) -> &'static str {
        "scripted"
    }

    fn revision(&self) -> Answer<'_, Revision> {
        self.state().asked.push(Instant::now());
        self.answer(false, |state| Ok(state.revision))
    }

    fn routes(&self) -> Answer<'_, Routes> {
        self.answer(false, |state| {
            state.reads.0 += 1;
            Ok(state.all())
        })
    }

    fn changes(&self, known: Revision) -> Answer<'_, Changes> {
        self.answer(false, |state| {
            state.reads.1 += 1;
            if state.mood == Mood::Lies {
                return Ok(Changes::Some {
                    revision: state.revision,
                    routes: Vec::new(),
                    deleted: Vec::new(),
                });
            }
            if known.epoch != state.revision.epoch || known.number > state.revision.number {
                return Ok(Changes::All(state.all()));
            }
            let routes = state
                .routes
                .values()
                .filter(|route| route.revision > known.number);
            let deleted = state.deleted.iter().filter(|(_, number)| **number > known.number);
            Ok(Changes::Some {
                revision: state.revision,
                routes: routes.cloned().collect(),
                deleted: deleted.map(|(host, _)| host.clone()).collect(),
            })
        })
    }

    fn route<'a>(&'a self, host: &'a str) -> Answer<'a, Option<StoredRoute>> {
        self.answer(false, |state| Ok(state.routes.get(host).cloned()))
    }

    fn put<'a>(&'a self, host: &'a str, document: Document<'a>, terms: Terms<'a>) -> Answer<'a, Revision> {
        self.answer(true, |state| {
            let current = state.routes.get(host).map(|route| route.version);
            let is_expected = match terms.expected {
                Expected::Any => true,
                Expected::Absent => current.is_none(),
                Expected::Version(version) => current == Some(version),
            };
            if !is_expected {
                return Err(StoreError::Conflict { current });
            }
            state.authors.insert(host.to_owned(), terms.author.to_owned());
            Ok(state.write(host, document.text, document.schema_version))
        })
    }

    fn delete<'a>(&'a self, _: &'a str, _: Terms<'a>) -> Answer<'a, Revision> {
        self.never()
    }

    fn history<'a>(&'a self, host: &'a str) -> Answer<'a, Vec<Change>> {
        self.answer(false, |state| {
            let change = |number: &u64| Change {
                revision: *number,
                kind: ChangeKind::Delete,
                author: "somebody".to_owned(),
                at: 0,
            };
            Ok(state.deleted.get(host).map(change).into_iter().collect())
        })
    }

    fn rollback<'a>(&'a self, _: &'a str, _: u64, _: Terms<'a>) -> Answer<'a, Revision> {
        self.never()
    }

    fn report<'a>(&'a self, replica: &'a Replica, ttl: Duration) -> Answer<'a, ()> {
        self.answer(true, |state| {
            state.reports.push((replica.clone(), ttl, Instant::now()));
            Ok(())
        })
    }

    fn replicas(&self) -> Answer<'_, Vec<Replica>> {
        self.never()
    }

    fn acquire<'a>(&'a self, name: &'a str, holder: &'a str, _: Duration) -> Answer<'a, bool> {
        assert_eq!(name, "doorway-restore");
        self.answer(true, |state| {
            if let Some((host, upstream)) = state.meanwhile.take() {
                state.write_silently(host, upstream);
            }
            Ok(state.lease.get_or_insert_with(|| holder.to_owned()) == holder)
        })
    }

    fn release<'a>(&'a self, _: &'a str, holder: &'a str) -> Answer<'a, ()> {
        self.answer(true, |state| {
            state.lease.take_if(|lease| lease == holder);
            Ok(())
        })
    }

    fn get<'a>(&'a self, _: &'a str, _: &'a str) -> Answer<'a, Option<Value>> {
        self.never()
    }

    fn set<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: &'a [u8],
        _: Expected,
        _: Option<Duration>,
    ) -> Answer<'a, u64> {
        self.never()
    }

    fn remove<'a>(&'a self, _: &'a str, _: &'a str, _: Expected) -> Answer<'a, ()> {
        self.never()
    }

    fn keys<'a>(&'a self, _: &'a str, _: &'a str) -> Answer<'a, Vec<String>> {
        self.never()
    }

    fn watch(&self) -> Answer<'_, Option<BoxStream<'static, ()>>> {
        let listener = self
            .wakes
            .lock()
            .unwrap()
            .as_ref()
            .map(broadcast::Sender::subscribe);
        self.answer(false, move |state| {
            state.listened += 1;
            let heard = |mut listener: broadcast::Receiver<()>| async move {
                listener.recv().await.ok().map(|()| ((), listener))
            };
            Ok(listener.map(|listener| futures_util::stream::unfold(listener, heard).boxed()))
        })
    }
}

impl State {
    /// Writes without saying so.
    pub(super) fn write_silently(&mut self, host: &str, upstream: &str) {
        self.write(host, &document(host, upstream), 2);
    }
}
