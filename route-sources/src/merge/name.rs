//! Who wants one name, and whose it is.

use route_store::HostName;

use super::{Collision, Conflict, Served};
use crate::snapshot::{Kind, Route};

/// How many kinds of sources there are.
pub(super) const KINDS: usize = Kind::ALL.len();

/// What is known of a name.
#[derive(Debug, Default)]
pub(super) struct Name {
    /// Of each source, the route for this host that counts: its first.
    own: [Option<Route>; KINDS],
    /// Of each source, how many routes it has for this host.
    counts: [u32; KINDS],
    /// The one of `own` that counts. An equal one that was there before is kept instead.
    pub(super) winner: Option<Served>,
    /// Documents that count and have the name as an alias, the one that comes first in front.
    claims: Vec<Served>,
    /// It is on the list of names to look at.
    pub(super) is_touched: bool,
}

/// How one name, or all together, are counted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Tally {
    pub(super) served: u32,
    pub(super) conflicts: u32,
    pub(super) collisions: u32,
    pub(super) without_upstreams: u32,
    /// Routes that are not the first of their source for their host, by source.
    pub(super) duplicates: [u32; KINDS],
}

/// Where a kind is in lists of all.
pub(super) fn slot(kind: Kind) -> usize {
    match kind {
        Kind::File => 0,
        Kind::Docker => 1,
        Kind::Kubernetes => 2,
        Kind::Store => 3,
    }
}

/// Whether nobody serves what the route asks for, by its own words.
pub(super) fn has_no_upstreams(route: &Route) -> bool {
    match route {
        Route::Held(_) => true,
        Route::Configured(_) => false,
        Route::Document(document) => {
            let raw = document.raw();
            let none = |upstreams: &Option<Vec<_>>| upstreams.as_ref().is_some_and(Vec::is_empty);
            none(&raw.target.upstreams) || raw.paths.iter().any(|path| none(&path.target.upstreams))
        }
    }
}

// === impl Name ===

impl Name {
    /// A route of `kind` for this host has gone. Whether the one that counts now must be looked for.
    pub(super) fn remove(&mut self, kind: Kind, route: &Route) -> bool {
        let (Some(own), Some(count)) = (self.own.get_mut(slot(kind)), self.counts.get_mut(slot(kind))) else {
            return false;
        };
        *count = count.saturating_sub(1);
        if *count == 0 {
            *own = None;
            return false;
        }
        own.as_ref().is_none_or(|own| own.is_same(route))
    }

    /// A route of `kind` for this host has come. Whether there was one, so that it must be looked which counts.
    pub(super) fn add(&mut self, kind: Kind, route: &Route) -> bool {
        let (Some(own), Some(count)) = (self.own.get_mut(slot(kind)), self.counts.get_mut(slot(kind))) else {
            return false;
        };
        *count = count.saturating_add(1);
        if *count > 1 {
            return true;
        }
        *own = Some(route.clone());
        false
    }

    /// This is the first route of `kind` for this host.
    pub(super) fn put_first(&mut self, kind: Kind, route: &Route) {
        if let Some(own) = self.own.get_mut(slot(kind)) {
            *own = Some(route.clone());
        }
    }

    /// Chooses the route of the host itself anew. The old one, if its aliases are to be looked at as it is another now.
    pub(super) fn choose(&mut self) -> Option<Option<Served>> {
        let best = self.owners().next();
        let next = best.map(|(kind, route)| {
            let before = self
                .winner
                .as_ref()
                .filter(|before| is_equal(&before.route, route));
            let route = before.map_or(route, |before| &before.route).clone();
            Served { kind, route }
        });
        let is_other = match (&self.winner, &next) {
            (None, None) => false,
            (Some(before), Some(next)) => before.kind != next.kind || !before.route.is_same(&next.route),
            _ => true,
        };
        is_other.then(|| std::mem::replace(&mut self.winner, next))
    }

    /// A document that counts has the name as an alias.
    pub(super) fn claim(&mut self, by: Served) {
        let order = |served: &Served| (std::cmp::Reverse(served.kind), served.route.host().clone());
        let at = self.claims.partition_point(|claim| order(claim) < order(&by));
        self.claims.insert(at, by);
    }

    /// A document that had it as an alias counts no more, or has it no more.
    pub(super) fn disclaim(&mut self, host: &HostName) {
        self.claims.retain(|claim| claim.route.host() != host);
    }

    /// What requests get.
    pub(super) fn served(&self) -> Option<&Served> {
        self.winner.as_ref().or_else(|| self.claims.first())
    }

    /// Whether nobody wants it.
    pub(super) fn is_free(&self) -> bool {
        self.claims.is_empty() && self.counts.iter().all(|count| *count == 0)
    }

    /// How it counts.
    pub(super) fn count(&self) -> Tally {
        let claims = self.claims.len() + usize::from(self.winner.is_some());
        let is_idle = self
            .winner
            .as_ref()
            .is_some_and(|own| has_no_upstreams(&own.route));
        Tally {
            served: u32::from(self.served().is_some()),
            conflicts: u32::from(self.owners().nth(1).is_some()),
            collisions: u32::from(claims > 1),
            without_upstreams: u32::from(is_idle),
            duplicates: self.counts.map(|count| count.saturating_sub(1)),
        }
    }

    /// Whether `kind` has more than one route for the host.
    pub(super) fn is_twice(&self, kind: Kind) -> bool {
        self.counts.get(slot(kind)).is_some_and(|count| *count > 1)
    }

    pub(super) fn conflict(&self, host: &HostName) -> Option<Conflict> {
        let mut kinds = self.owners().map(|(kind, _)| kind);
        let winner = kinds.next()?;
        let shadowed: Vec<_> = kinds.collect();
        (!shadowed.is_empty()).then(|| Conflict {
            host: host.clone(),
            winner,
            shadowed,
        })
    }

    pub(super) fn collision(&self, name: &HostName) -> Option<Collision> {
        let mut claims = self.winner.iter().chain(&self.claims).map(Served::claim);
        let winner = claims.next()?;
        let losers: Vec<_> = claims.collect();
        (!losers.is_empty()).then(|| Collision {
            name: name.clone(),
            winner,
            losers,
        })
    }

    /// The sources that have a route for this host, the largest first.
    fn owners(&self) -> impl Iterator<Item = (Kind, &Route)> {
        let all = Kind::ALL.into_iter().zip(&self.own).rev();
        all.filter_map(|(kind, route)| Some((kind, route.as_ref()?)))
    }
}

/// Whether both say the same.
fn is_equal(one: &Route, other: &Route) -> bool {
    match (one, other) {
        (Route::Document(a), Route::Document(b)) => std::sync::Arc::ptr_eq(a, b) || a == b,
        (Route::Held(a), Route::Held(b)) => a == b,
        _ => one.is_same(other),
    }
}

// === impl Tally ===

impl Tally {
    /// Counts `new` instead of `old`.
    pub(super) fn replace(&mut self, old: &Self, new: &Self) {
        let change = |sum: &mut u32, old: u32, new: u32| *sum = sum.saturating_add(new).saturating_sub(old);
        change(&mut self.served, old.served, new.served);
        change(&mut self.conflicts, old.conflicts, new.conflicts);
        change(&mut self.collisions, old.collisions, new.collisions);
        change(
            &mut self.without_upstreams,
            old.without_upstreams,
            new.without_upstreams,
        );
        for ((sum, old), new) in self.duplicates.iter_mut().zip(old.duplicates).zip(new.duplicates) {
            change(sum, old, new);
        }
    }
}
