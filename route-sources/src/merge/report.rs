//! What a merge tells of itself. Lists are made when somebody asks for them; counts are always there.

use std::collections::HashSet;

use route_store::HostName;

use super::name::{Tally, has_no_upstreams, slot};
use super::{Collision, Conflict, Merge};
use crate::snapshot::{Invalid, Kind};

// === impl Merge ===

impl Merge {
    /// How many names requests may have.
    pub fn name_count(&self) -> usize {
        self.tally.served as usize
    }

    /// How many hosts several sources have.
    pub fn conflict_count(&self) -> usize {
        self.tally.conflicts as usize
    }

    /// How many names several documents want.
    pub fn collision_count(&self) -> usize {
        self.tally.collisions as usize
    }

    /// How many hosts have nobody to serve them, or a path of them.
    pub fn without_upstreams_count(&self) -> usize {
        self.tally.without_upstreams as usize
    }

    /// How many things a source could not make routes of, or has twice.
    pub fn invalid_count(&self, kind: Kind) -> usize {
        let invalid = self.snapshot(kind).map_or(0, |snapshot| snapshot.invalid.len());
        invalid + self.duplicate_count(kind)
    }

    /// Hosts that several sources have, sorted.
    pub fn conflicts(&self) -> Vec<Conflict> {
        let mut all: Vec<_> = self
            .names
            .iter()
            .filter_map(|(host, name)| name.conflict(host))
            .collect();
        all.sort_unstable_by(|one, other| one.host.cmp(&other.host));
        all
    }

    /// Names that several documents want, sorted.
    pub fn collisions(&self) -> Vec<Collision> {
        let mut all: Vec<_> = self
            .names
            .iter()
            .filter_map(|(host, name)| name.collision(host))
            .collect();
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// Hosts that have nobody to serve them, or a path of them, sorted: an empty list of upstreams, or a route that is held.
    pub fn without_upstreams(&self) -> Vec<HostName> {
        let has_none = |(host, name): (&HostName, &super::name::Name)| {
            let own = name.winner.as_ref()?;
            has_no_upstreams(&own.route).then(|| host.clone())
        };
        let mut all: Vec<_> = self.names.iter().filter_map(has_none).collect();
        all.sort_unstable();
        all
    }

    /// What sources could not make routes of, and what they have twice; the largest source first.
    pub fn invalid(&self) -> Vec<(Kind, Invalid)> {
        let kinds = Kind::ALL.into_iter().rev();
        kinds
            .flat_map(|kind| {
                self.invalid_of(kind)
                    .into_iter()
                    .map(move |invalid| (kind, invalid))
            })
            .collect()
    }

    /// What a source could not make routes of, and what it has twice.
    pub fn invalid_of(&self, kind: Kind) -> Vec<Invalid> {
        let Some(snapshot) = self.snapshot(kind) else {
            return Vec::new();
        };
        let mut all = snapshot.invalid.clone();
        if self.duplicate_count(kind) > 0 {
            let mut seen = HashSet::new();
            for (number, route) in snapshot.routes.iter().enumerate() {
                let host = route.host();
                let is_twice = self.names.get(host).is_some_and(|name| name.is_twice(kind));
                if is_twice && !seen.insert(host) {
                    all.push(duplicate(kind, host, number + 1));
                }
            }
        }
        all
    }

    fn duplicate_count(&self, kind: Kind) -> usize {
        let Tally { duplicates, .. } = &self.tally;
        duplicates.get(slot(kind)).copied().unwrap_or_default() as usize
    }
}

fn duplicate(kind: Kind, host: &HostName, number: usize) -> Invalid {
    Invalid {
        host: Some(host.to_string()),
        place: format!("route {number} of the {kind} source"),
        reason: format!("{host} has a route before this one, which counts; remove one of the two"),
        kept: true,
    }
}
