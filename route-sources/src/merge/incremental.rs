//! The merge that goes on from where it was.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use route_store::HostName;

use super::diff::{Diff, diff};
use super::name::{KINDS, Name, Tally, slot};
use super::{Delta, Served};
use crate::snapshot::{Kind, Route, Snapshot};

/// What all sources say, and what counts of it.
///
/// It takes as long as there is news: of routes that are the same [`Arc`] as in the snapshot before, only the pointers are looked at.
/// After any sequence of snapshots it is what [`merge`](super::merge()) makes of the last one of each source, but that a
/// document that was replaced by an equal one stays the value that it was.
#[derive(Debug, Default)]
pub struct Merge {
    pub(super) snapshots: [Option<Arc<Snapshot>>; KINDS],
    pub(super) names: HashMap<HostName, Name, foldhash::fast::RandomState>,
    /// All names together.
    pub(super) tally: Tally,
}

/// A name to look at, and how it was before.
#[derive(Debug)]
struct Touched {
    name: HostName,
    served: Option<Served>,
    tally: Tally,
}

// === impl Merge ===

impl Merge {
    /// Takes the newest snapshot of a source in the place of its last one, and says what has changed.
    pub fn update(&mut self, kind: Kind, snapshot: Arc<Snapshot>) -> Delta {
        let Some(place) = self.snapshots.get_mut(slot(kind)) else {
            return Delta::default();
        };
        let replaced = place.take();
        let snapshot = Arc::clone(place.insert(snapshot));
        let old = replaced.as_deref().map_or(&[][..], |old| &old.routes);
        let diff = diff(old, &snapshot.routes);
        let mut touched = Vec::with_capacity(diff.gone.len().max(diff.come.len()));
        self.names
            .reserve(diff.come.len().saturating_sub(diff.gone.len()));
        let unsure = self.take_in(kind, &diff, &mut touched);
        // With nothing before, what has come is in order, and the first was taken.
        if !old.is_empty() {
            self.find_first(kind, &snapshot, unsure);
        }
        self.choose(&mut touched);
        let mut delta = self.settle(touched);
        delta.replaced = replaced;
        delta
    }

    /// The newest snapshot of a source.
    pub fn snapshot(&self, kind: Kind) -> Option<&Arc<Snapshot>> {
        self.snapshots.get(slot(kind))?.as_ref()
    }

    /// Whose a name is: a host or an alias, as written in documents; a wildcard does not stand for what it matches here.
    pub fn served(&self, name: &str) -> Option<&Served> {
        self.names.get(name)?.served()
    }

    /// Each name that requests may have, in no order.
    pub fn names(&self) -> impl Iterator<Item = (&HostName, &Served)> {
        self.names
            .iter()
            .filter_map(|(name, known)| Some((name, known.served()?)))
    }

    /// Notes what has gone and come. The hosts of which it must be looked which route is the first.
    fn take_in(&mut self, kind: Kind, diff: &Diff<'_>, touched: &mut Vec<Touched>) -> HashSet<HostName> {
        let mut unsure = HashSet::new();
        for route in &diff.gone {
            let host = route.host();
            if let Some(name) = self.names.get_mut(host) {
                touch(name, host, touched);
                if name.remove(kind, route) {
                    unsure.insert(host.clone());
                }
            }
        }
        for route in &diff.come {
            let host = route.host();
            let name = self.names.entry(host.clone()).or_default();
            touch(name, host, touched);
            if name.add(kind, route) {
                unsure.insert(host.clone());
            }
        }
        unsure
    }

    /// Looks for the first route of each of these hosts: it happens where a source has a host twice, which is rare.
    fn find_first(&mut self, kind: Kind, snapshot: &Snapshot, mut unsure: HashSet<HostName>) {
        for route in &snapshot.routes {
            if unsure.is_empty() {
                return;
            }
            if unsure.remove(route.host())
                && let Some(name) = self.names.get_mut(route.host())
            {
                name.put_first(kind, route);
            }
        }
    }

    /// Chooses the document of each host anew; where it is another one now, its aliases are looked at too.
    fn choose(&mut self, touched: &mut Vec<Touched>) {
        let hosts = touched.len();
        for at in 0..hosts {
            let Some(host) = touched.get(at).map(|touched| touched.name.clone()) else {
                return;
            };
            let Some(name) = self.names.get_mut(&host) else {
                continue;
            };
            let Some(before) = name.choose() else {
                continue;
            };
            let now = name.winner.clone();
            for alias in before.iter().flat_map(|before| aliases(&before.route)) {
                if let Some(name) = self.names.get_mut(alias) {
                    touch(name, alias, touched);
                    name.disclaim(&host);
                }
            }
            let Some(now) = now else {
                continue;
            };
            for alias in aliases(&now.route) {
                let name = self.names.entry(alias.clone()).or_default();
                touch(name, alias, touched);
                // Once only, should a document have it twice.
                name.disclaim(&host);
                name.claim(now.clone());
            }
        }
    }

    /// Gives each name to whom it belongs now.
    fn settle(&mut self, touched: Vec<Touched>) -> Delta {
        let mut delta = Delta::default();
        for Touched {
            name: host,
            served,
            tally,
        } in touched
        {
            let Some(name) = self.names.get_mut(&host) else {
                continue;
            };
            name.is_touched = false;
            self.tally.replace(&tally, &name.count());
            let route = name.served().map(|served| served.route.clone());
            if name.is_free() {
                self.names.remove(&host);
            }
            match (served, route) {
                (None, None) => {}
                (Some(before), Some(now)) if before.route.is_same(&now) => {}
                (_, Some(now)) => delta.set.push((host, now)),
                (Some(_), None) => delta.removed.push(host),
            }
        }
        delta
    }
}

/// Notes a name as it is before anything of it changes.
fn touch(known: &mut Name, name: &HostName, touched: &mut Vec<Touched>) {
    if !known.is_touched {
        known.is_touched = true;
        touched.push(Touched {
            name: name.clone(),
            served: known.served().cloned(),
            tally: known.count(),
        });
    }
}

/// The other hosts that a route is for.
fn aliases(route: &Route) -> impl Iterator<Item = &HostName> {
    let aliases = match route {
        Route::Document(document) => document.aliases(),
        Route::Held(_) | Route::Configured(_) => &[],
    };
    aliases.iter().filter(|alias| *alias != route.host())
}
