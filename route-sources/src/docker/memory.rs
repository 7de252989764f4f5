//! What was defined once, and what of it is published.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use route_store::{HostDocument, HostName};
use tokio::sync::Notify;

use super::assemble::Assembled;
use crate::snapshot::{Held, Invalid, Route, Snapshot};

/// The routes that a source keeps though nothing defines them any more. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Remembered {
    memory: Arc<Mutex<Memory>>,
    changed: Arc<Notify>,
}

/// A snapshot that says something new.
#[derive(Debug)]
pub(super) struct News {
    pub(super) snapshot: Snapshot,
    /// Whether what is wrong with labels is not what was wrong before.
    pub(super) are_mistakes_new: bool,
}

#[derive(Debug, Default)]
struct Memory {
    /// The last document of each host that ever had one.
    known: BTreeMap<HostName, Arc<HostDocument>>,
    /// Those of them that something defines now.
    live: BTreeSet<HostName>,
    held: BTreeMap<HostName, Arc<Held>>,
    invalid: Vec<Invalid>,
    stale: Option<String>,
    published: Option<Snapshot>,
}

// === impl Remembered ===

impl Remembered {
    /// The hosts whose containers or services are gone; their requests get 503.
    pub fn hosts(&self) -> Vec<HostName> {
        let memory = self.lock();
        let gone = memory.known.keys().filter(|host| memory.is_gone(host));
        gone.cloned().collect()
    }

    /// Forgets a host whose containers or services are gone; another source may serve it then. Says whether there was one.
    pub fn forget(&self, host: &HostName) -> bool {
        let mut memory = self.lock();
        let is_gone = memory.is_gone(host);
        if is_gone {
            memory.known.remove(host);
            self.changed.notify_one();
        }
        is_gone
    }

    /// Ends once something was forgotten since the last time.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// What is to be published after a complete list, if anything.
    pub(super) fn apply(&self, assembled: Assembled) -> Option<News> {
        let mut memory = self.lock();
        memory.apply(assembled);
        memory.stale = None;
        memory.changed_snapshot()
    }

    /// What is to be published after a list failed, if anything. All routes stay.
    pub(super) fn fail(&self, reason: String) -> Option<News> {
        let mut memory = self.lock();
        memory.stale = Some(reason);
        memory.changed_snapshot()
    }

    /// What is to be published after something was forgotten, if anything.
    pub(super) fn again(&self) -> Option<News> {
        let mut memory = self.lock();
        memory.published.as_ref()?;
        memory.changed_snapshot()
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Memory ===

impl Memory {
    fn is_gone(&self, host: &HostName) -> bool {
        self.known.contains_key(host) && !self.live.contains(host) && !self.held.contains_key(host)
    }

    fn apply(&mut self, assembled: Assembled) {
        let Assembled {
            documents,
            held,
            invalid,
            unknown,
        } = assembled;
        let before = std::mem::take(&mut self.held);
        for (host, held) in held {
            let same = before.get(&host).filter(|before| ***before == held).cloned();
            self.held.insert(host, same.unwrap_or_else(|| Arc::new(held)));
        }
        self.live.clear();
        let mut claimed: BTreeSet<HostName> = self.held.keys().cloned().collect();
        for (host, document) in documents {
            let document = without_aliases(document, |alias| self.held.contains_key(alias));
            claimed.extend(document.aliases().iter().cloned());
            claimed.insert(host.clone());
            self.live.insert(host.clone());
            self.keep(host, document);
        }
        // Where they are reached is not known, so the last that was known is better than nothing.
        let unknown = unknown
            .into_iter()
            .filter(|host| self.known.contains_key(host) && !claimed.contains(host));
        self.live.extend(unknown);
        self.empty_those_that_are_gone(&claimed);
        self.invalid = invalid;
    }

    /// Hosts that nothing defines now keep their last document without upstreams; what others define now is not theirs.
    fn empty_those_that_are_gone(&mut self, claimed: &BTreeSet<HostName>) {
        let is_gone = |host: &&HostName| !self.live.contains(*host) && !self.held.contains_key(*host);
        let gone: Vec<_> = self.known.keys().filter(is_gone).cloned().collect();
        for host in gone {
            let Some(document) = self.known.get(&host) else {
                continue;
            };
            if claimed.contains(&host) {
                self.known.remove(&host);
                continue;
            }
            let empty = emptied(document);
            if let Some(empty) = empty {
                let empty = without_aliases(empty, |alias| claimed.contains(alias));
                self.keep(host, empty);
            }
        }
    }

    /// Keeps a document; the value stays what it is if the new one says the same.
    fn keep(&mut self, host: HostName, document: HostDocument) {
        if self.known.get(&host).is_none_or(|known| **known != document) {
            self.known.insert(host, Arc::new(document));
        }
    }

    fn changed_snapshot(&mut self) -> Option<News> {
        let snapshot = self.snapshot();
        let is_same = self.published.as_ref().is_some_and(|published| {
            let mut routes = published.routes.iter().zip(&snapshot.routes);
            published.routes.len() == snapshot.routes.len()
                && routes.all(|(one, other)| one.is_same(other))
                && published.invalid == snapshot.invalid
                && published.stale == snapshot.stale
        });
        if is_same {
            return None;
        }
        let before = self.published.replace(snapshot.clone());
        Some(News {
            are_mistakes_new: before.is_none_or(|before| before.invalid != snapshot.invalid),
            snapshot,
        })
    }

    fn snapshot(&self) -> Snapshot {
        let documents = self
            .known
            .iter()
            .filter(|(host, _)| !self.held.contains_key(*host));
        let documents = documents.map(|(_, document)| Route::Document(Arc::clone(document)));
        let held = self.held.values().map(|held| Route::Held(Arc::clone(held)));
        let mut routes: Vec<_> = documents.chain(held).collect();
        routes.sort_by(|one, other| one.host().cmp(other.host()));
        let invalid = self.invalid.iter().cloned().map(|mut invalid| {
            let host = invalid
                .host
                .as_ref()
                .and_then(|host| host.parse::<HostName>().ok());
            invalid.kept =
                host.is_some_and(|host| self.known.contains_key(&host) && !self.held.contains_key(&host));
            invalid
        });
        Snapshot {
            invalid: invalid.collect(),
            routes,
            revision: None,
            stale: self.stale.clone(),
        }
    }
}

fn without_aliases(document: HostDocument, is_taken: impl Fn(&HostName) -> bool) -> HostDocument {
    if !document.aliases().iter().any(&is_taken) {
        return document;
    }
    let mut raw = document.raw().clone();
    raw.aliases = document
        .aliases()
        .iter()
        .filter(|alias| !is_taken(alias))
        .map(HostName::to_string)
        .collect();
    HostDocument::check(raw).unwrap_or(document)
}

/// The document without upstreams.
fn emptied(document: &HostDocument) -> Option<HostDocument> {
    let mut raw = document.raw().clone();
    let paths = raw.paths.iter_mut().map(|path| &mut path.target);
    for target in paths.chain([&mut raw.target]) {
        if let Some(upstreams) = &mut target.upstreams {
            upstreams.clear();
        }
    }
    HostDocument::check(raw).ok()
}
