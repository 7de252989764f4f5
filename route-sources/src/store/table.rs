//! What is known of a store: changed by what the store says, without I/O.

use std::collections::BTreeMap;

use route_store::{Changes, Revision, Routes, StoredRoute};

use super::entry::Entry;
use super::{DataLoss, Newer};
use crate::snapshot::{Invalid, Snapshot};

/// How the table decides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Terms {
    pub(super) newer: Newer,
    pub(super) data_loss: DataLoss,
}

/// All routes of a store.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pub(super) entries: BTreeMap<Box<str>, Entry>,
    pub(super) revision: Option<Revision>,
    /// Routes that the store has in an older version since it went back, as they were before. Each is here as long as nobody
    /// has written it since.
    pub(super) older: BTreeMap<String, StoredRoute>,
}

/// What a change has done.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Done {
    /// There is another revision or another route.
    pub(super) is_other: bool,
    /// So many routes were lost with this change.
    pub(super) lost: usize,
}

/// Whether a store that was at `known` has lost something since then, as it is at `now`.
pub(super) fn has_lost(known: Option<Revision>, now: Revision) -> bool {
    known.is_some_and(|known| known.epoch != now.epoch || now.number < known.number)
}

// === impl Table ===

impl Table {
    /// Takes in what the store says has changed. Documents that are as before are not read again.
    pub(super) fn apply(&mut self, changes: Changes, terms: Terms) -> Done {
        match changes {
            Changes::All(routes) => self.apply_all(routes, terms),
            Changes::Some {
                revision,
                routes,
                deleted,
            } => {
                let mut is_other = self.revision.replace(revision) != Some(revision);
                for host in deleted {
                    self.older.remove(&host);
                    is_other |= self.entries.remove(&*host).is_some();
                }
                for stored in routes {
                    is_other |= self.put(stored, terms);
                }
                Done { is_other, lost: 0 }
            }
        }
    }

    fn apply_all(&mut self, all: Routes, terms: Terms) -> Done {
        let is_lossy = has_lost(self.revision, all.revision) && terms.data_loss != DataLoss::Accept;
        let went_back = is_lossy
            && self
                .revision
                .is_some_and(|known| known.epoch == all.revision.epoch);
        let mut done = Done {
            is_other: self.revision.replace(all.revision) != Some(all.revision),
            lost: 0,
        };
        let mut before = std::mem::take(&mut self.entries);
        for stored in all.routes {
            let known = before.remove(&*stored.host);
            let newer = known
                .as_ref()
                .filter(|known| went_back && stored.version < known.version)
                .map(|known| known.stored(&stored.host));
            if let Some(known) = known {
                self.entries.insert(stored.host.as_str().into(), known);
            }
            done.is_other |= self.put(stored, terms);
            self.older.extend(newer.map(|newer| (newer.host.clone(), newer)));
        }
        for (host, mut entry) in before {
            if terms.data_loss == DataLoss::Accept || !(is_lossy || entry.is_lost) {
                self.older.remove(&*host);
                done.is_other = true;
                continue;
            }
            done.lost += usize::from(!entry.is_lost);
            done.is_other |= !entry.is_lost;
            entry.is_lost = true;
            self.entries.insert(host, entry);
        }
        done
    }

    /// Takes in one route. Whether it is another one than before.
    fn put(&mut self, stored: StoredRoute, terms: Terms) -> bool {
        let known = self.entries.get_mut(&*stored.host);
        if let Some(known) = known.filter(|known| known.is_of(&stored)) {
            return std::mem::take(&mut known.is_lost);
        }
        // Whoever has written it since the store went back knew what there was.
        self.older.remove(&stored.host);
        let last = self.entries.remove(&*stored.host).and_then(|known| known.good);
        let host = stored.host.as_str().into();
        self.entries.insert(host, Entry::read(stored, last, terms.newer));
        true
    }

    /// Follows the store from now on. How many routes go with it.
    pub(super) fn accept_loss(&mut self) -> usize {
        let before = self.entries.len();
        self.entries.retain(|_, entry| !entry.is_lost);
        self.older.clear();
        before - self.entries.len()
    }

    /// These hosts are gone, if they are lost: their loss was meant.
    pub(super) fn let_go(&mut self, hosts: &[String]) -> bool {
        let before = self.entries.len();
        for host in hosts {
            if self.entries.get(&**host).is_some_and(|entry| entry.is_lost) {
                self.entries.remove(&**host);
            }
        }
        self.entries.len() < before
    }

    /// Routes that the store has not, or not as they were, with the version that it has.
    pub(super) fn to_restore(&self) -> Vec<(StoredRoute, Option<u64>)> {
        let lost = self.entries.iter().filter(|(_, entry)| entry.is_lost);
        let lost = lost.map(|(host, entry)| (entry.stored(host), None));
        let older = self.older.values().filter_map(|older| {
            let now = self.entries.get(&*older.host).filter(|now| !now.is_lost)?;
            Some((older.clone(), Some(now.version)))
        });
        lost.chain(older).collect()
    }

    /// Everything, for whoever merges it. `more` is told beside what is wrong with routes.
    pub(super) fn snapshot(&self, store: &str, stale: Option<String>, more: Option<Invalid>) -> Snapshot {
        let entries = self.entries.values();
        let all = self.entries.iter();
        let invalid = all.filter_map(|(host, entry)| entry.report(host, store));
        Snapshot {
            routes: entries.filter_map(|entry| entry.route.clone()).collect(),
            invalid: more.into_iter().chain(invalid).collect(),
            revision: self.revision,
            stale,
        }
    }
}
