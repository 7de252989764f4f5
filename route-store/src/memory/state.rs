//! Routes, their versions and their changes.

use std::collections::{BTreeMap, VecDeque};

use crate::revision::{Epoch, Revision};
use crate::store::{
    Change, ChangeKind, Changes, Document, Routes, StoreError, StoredRoute, TOMBSTONES, Terms,
};

/// What a memory store knows of routes. Hosts are lowercase here.
#[derive(Debug)]
pub(super) struct State {
    epoch: Epoch,
    number: u64,
    keep: usize,
    routes: BTreeMap<String, StoredRoute>,
    /// Hosts by the revision of their route.
    order: BTreeMap<u64, String>,
    past: BTreeMap<String, Past>,
    /// Deleted hosts by the revision that deleted them.
    deleted: BTreeMap<u64, String>,
    /// Deletions up to this number are forgotten.
    floor: u64,
}

#[derive(Debug, Default)]
struct Past {
    changes: VecDeque<Entry>,
    versions: VecDeque<(u64, u32, String)>,
    deleted: Option<u64>,
}

#[derive(Debug)]
struct Entry {
    revision: u64,
    what: What,
    author: String,
    at: u64,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Put(u32),
    Delete,
    Rollback(u64),
}

// === impl State ===

impl State {
    pub(super) fn new(epoch: Epoch, keep: usize) -> Self {
        Self {
            epoch,
            number: 0,
            keep,
            routes: BTreeMap::new(),
            order: BTreeMap::new(),
            past: BTreeMap::new(),
            deleted: BTreeMap::new(),
            floor: 0,
        }
    }

    pub(super) fn history(&self) -> usize {
        self.keep
    }

    pub(super) fn revision(&self) -> Revision {
        Revision {
            epoch: self.epoch,
            number: self.number,
        }
    }

    pub(super) fn routes(&self) -> Routes {
        Routes {
            revision: self.revision(),
            routes: self.routes.values().cloned().collect(),
        }
    }

    pub(super) fn route(&self, host: &str) -> Option<StoredRoute> {
        self.routes.get(host).cloned()
    }

    pub(super) fn changes(&self, known: Revision) -> Changes {
        if known.epoch != self.epoch || known.number > self.number || known.number < self.floor {
            return Changes::All(self.routes());
        }
        let later = known.number.saturating_add(1)..;
        let changed = self.order.range(later.clone());
        let mut routes: Vec<StoredRoute> = changed
            .filter_map(|(_, host)| self.routes.get(host))
            .cloned()
            .collect();
        routes.sort_by(|one, other| one.host.cmp(&other.host));
        let mut deleted: Vec<String> = self.deleted.range(later).map(|(_, host)| host.clone()).collect();
        deleted.sort();
        Changes::Some {
            revision: self.revision(),
            routes,
            deleted,
        }
    }

    pub(super) fn put(
        &mut self,
        host: String,
        document: Document<'_>,
        terms: Terms<'_>,
        at: u64,
    ) -> Result<Revision, StoreError> {
        self.expect(&host, terms)?;
        let number = self.record(&host, What::Put(document.schema_version), terms, at);
        let keep = self.keep;
        let past = self.past.entry(host.clone()).or_default();
        past.versions
            .push_front((number, document.schema_version, document.text.to_owned()));
        past.versions.truncate(keep);
        self.activate(host, number, document.schema_version, document.text.to_owned());
        Ok(self.revision())
    }

    pub(super) fn delete(&mut self, host: &str, terms: Terms<'_>, at: u64) -> Result<Revision, StoreError> {
        self.expect(host, terms)?;
        let Some(route) = self.routes.remove(host) else {
            return Ok(self.revision());
        };
        self.order.remove(&route.revision);
        let number = self.record(host, What::Delete, terms, at);
        self.past.entry(host.to_owned()).or_default().deleted = Some(number);
        self.deleted.insert(number, host.to_owned());
        if self.deleted.len() > TOMBSTONES
            && let Some((number, forgotten)) = self.deleted.pop_first()
        {
            self.floor = number;
            self.past.remove(&forgotten);
        }
        Ok(self.revision())
    }

    pub(super) fn rollback(
        &mut self,
        host: &str,
        version: u64,
        terms: Terms<'_>,
        at: u64,
    ) -> Result<Revision, StoreError> {
        self.expect(host, terms)?;
        let kept = self.past.get(host).into_iter().flat_map(|past| &past.versions);
        let found = kept
            .into_iter()
            .find(|(number, _, _)| *number == version)
            .cloned();
        let Some((_, schema_version, document)) = found else {
            return Err(StoreError::UnknownVersion {
                host: host.to_owned(),
                version,
            });
        };
        self.record(host, What::Rollback(version), terms, at);
        self.activate(host.to_owned(), version, schema_version, document);
        Ok(self.revision())
    }

    pub(super) fn changes_of(&self, host: &str) -> Vec<Change> {
        let Some(past) = self.past.get(host) else {
            return Vec::new();
        };
        past.changes.iter().map(|entry| past.change(entry)).collect()
    }

    fn expect(&self, host: &str, terms: Terms<'_>) -> Result<(), StoreError> {
        terms
            .expected
            .check(self.routes.get(host).map(|route| route.version))
    }

    /// Adds one to the revision and notes why.
    fn record(&mut self, host: &str, what: What, terms: Terms<'_>, at: u64) -> u64 {
        self.number += 1;
        let past = self.past.entry(host.to_owned()).or_default();
        past.changes.push_front(Entry {
            revision: self.number,
            what,
            author: terms.author.to_owned(),
            at,
        });
        past.changes.truncate(self.keep);
        self.number
    }

    fn activate(&mut self, host: String, version: u64, schema_version: u32, document: String) {
        if let Some(number) = self.past.get_mut(&host).and_then(|past| past.deleted.take()) {
            self.deleted.remove(&number);
        }
        let route = StoredRoute {
            host: host.clone(),
            version,
            revision: self.number,
            schema_version,
            document,
        };
        self.order.insert(self.number, host.clone());
        if let Some(before) = self.routes.insert(host, route) {
            self.order.remove(&before.revision);
        }
    }
}

// === impl Past ===

impl Past {
    fn change(&self, entry: &Entry) -> Change {
        let kept = self
            .versions
            .iter()
            .find(|(number, _, _)| *number == entry.revision);
        let kind = match entry.what {
            What::Put(schema_version) => ChangeKind::Put {
                schema_version,
                document: kept.map(|(_, _, document)| document.clone()),
            },
            What::Delete => ChangeKind::Delete,
            What::Rollback(version) => ChangeKind::Rollback { version },
        };
        Change {
            revision: entry.revision,
            kind,
            author: entry.author.clone(),
            at: entry.at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Expected;

    const TERMS: Terms<'static> = Terms {
        author: "tester",
        expected: Expected::Any,
    };

    #[test]
    fn the_oldest_deletions_are_forgotten_with_the_past_of_their_hosts() {
        let mut state = State::new(Epoch::random().unwrap(), 3);
        let document = Document {
            schema_version: 2,
            text: "{}",
        };
        let begun = state.revision();
        let mut first = None;
        for number in 0..=TOMBSTONES {
            let host = format!("h{number}.test");
            state.put(host.clone(), document, TERMS, 0).unwrap();
            let revision = state.delete(&host, TERMS, 0).unwrap();
            first.get_or_insert(revision);
        }
        let first = first.unwrap();
        assert!(matches!(state.changes(begun), Changes::All(_)));
        let Changes::Some { deleted, .. } = state.changes(first) else {
            panic!("all routes for those who know the last deletion that is forgotten");
        };
        assert_eq!(deleted.len(), TOMBSTONES);
        assert_eq!(state.changes_of("h0.test"), []);
        assert_eq!(state.changes_of("h1.test").len(), 2);
        assert!(state.order.is_empty());
    }
}
