//! Which route counts of those that several sources have for a host.
//!
//! A document is told apart by its host. Of several sources that have one for a host, the largest [`Kind`] wins, with all that
//! its document says: a document that is shadowed has no say, of its aliases neither. A name that is an alias is its document's if
//! no source has a route for that host itself; of several documents with the alias, that of the larger kind counts, then
//! the first by host.
//!
//! Nothing here does I/O or knows the time. [`Merge`] is told one snapshot after the other, and says what has changed;
//! [`merge`] looks at some snapshots once. The order of sources does not matter, and that of routes only if one source has a
//! host twice.

mod diff;
mod incremental;
mod name;
mod report;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use route_store::HostName;
use serde::Serialize;

pub use self::incremental::Merge;
use crate::snapshot::{Invalid, Kind, Route, Snapshot};

/// What has changed of what requests get, in no order.
#[derive(Debug, Default)]
pub struct Delta {
    /// Names, hosts or aliases, that are new or have another route than before.
    pub set: Vec<(HostName, Route)>,
    /// Names that are nobody's any more.
    pub removed: Vec<HostName>,
    /// The snapshot that counts no more. With many routes it takes a while to drop it, so that is left to whoever has time.
    pub replaced: Option<Arc<Snapshot>>,
}

/// Whose a name is.
#[derive(Clone, Debug)]
pub struct Served {
    /// The source.
    pub kind: Kind,
    /// Its route; the name is the host of it, or an alias.
    pub route: Route,
}

/// What came of some snapshots.
#[derive(Debug, Default)]
pub struct Merged {
    /// Each name that requests may have, host or alias.
    pub names: BTreeMap<HostName, Served>,
    /// Hosts that several sources have, sorted.
    pub conflicts: Vec<Conflict>,
    /// Names that several documents want, sorted.
    pub collisions: Vec<Collision>,
    /// What sources could not make routes of, and what they have twice, by source.
    pub invalid: Vec<(Kind, Invalid)>,
}

/// A host that several sources have.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Conflict {
    /// The host.
    #[serde(serialize_with = "as_text")]
    pub host: HostName,
    /// Whose route counts.
    pub winner: Kind,
    /// Who else has one, the largest first.
    pub shadowed: Vec<Kind>,
}

/// A name that several documents want, at least one of them as an alias.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Collision {
    /// The name.
    #[serde(serialize_with = "as_text")]
    pub name: HostName,
    /// Whose it is.
    pub winner: Claim,
    /// Who does not get it, the next one first.
    pub losers: Vec<Claim>,
}

/// A route that wants a name.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Claim {
    /// The source.
    pub kind: Kind,
    /// The host of the route; the name is an alias of it if it is another.
    #[serde(serialize_with = "as_text")]
    pub host: HostName,
}

/// Merges the snapshots of some sources. Of two for one kind, the later counts.
pub fn merge(snapshots: &[(Kind, Arc<Snapshot>)]) -> Merged {
    let mut merge = Merge::default();
    for (kind, snapshot) in snapshots {
        drop(merge.update(*kind, Arc::clone(snapshot)));
    }
    Merged {
        names: merge
            .names()
            .map(|(name, served)| (name.clone(), served.clone()))
            .collect(),
        conflicts: merge.conflicts(),
        collisions: merge.collisions(),
        invalid: merge.invalid(),
    }
}

/// Writes a name as text.
pub(crate) fn as_text<S: serde::Serializer>(name: &HostName, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(name.as_str())
}

// === impl Delta ===

impl Delta {
    /// Whether requests get what they got before.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.removed.is_empty()
    }
}

// === impl Served ===

impl Served {
    fn claim(&self) -> Claim {
        Claim {
            kind: self.kind,
            host: self.route.host().clone(),
        }
    }
}
