//! What the routes are, for logs, metrics and an admin API.

use std::collections::BTreeMap;

use route_store::{HostName, Revision};
use serde::Serialize;

use crate::merge::{Claim, Collision, Conflict, Merge, as_text};
use crate::snapshot::{Invalid, Kind};

/// All there is to say about routes at one time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Status {
    /// The sources that have given a snapshot, the one that counts most first.
    pub sources: Vec<SourceStatus>,
    /// How many names requests may have.
    pub names: usize,
    /// Hosts that several sources have, sorted.
    pub conflicts: Vec<Conflict>,
    /// Names that several documents want, sorted.
    pub collisions: Vec<Collision>,
    /// Hosts that have nobody to serve them, or a path of them, sorted.
    pub without_upstreams: Vec<Name>,
    /// Routes that count but could not be made to serve, as the proxy found out.
    pub unbuilt: Vec<Invalid>,
}

/// What there is to say of one source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceStatus {
    /// Which.
    pub kind: Kind,
    /// How many routes it has.
    pub routes: usize,
    /// What it could not make routes of, and what it has twice.
    pub invalid: Vec<Invalid>,
    /// Why what it says is not the newest that there is.
    pub stale: Option<String>,
    /// The revision of the store that it is of.
    pub revision: Option<Revision>,
    /// When its last snapshot came, in seconds since 1970. The proxy says so: a merge knows no time.
    pub at: Option<u64>,
}

/// A name of a host.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Name(#[serde(serialize_with = "as_text")] pub HostName);

// === impl Status ===

impl Status {
    /// What a merge has to say. It looks at every name, so it is for when somebody asks. `at` says when the last snapshot of a
    /// source came.
    pub fn of(merge: &Merge, at: impl Fn(Kind) -> Option<u64>) -> Self {
        Self {
            sources: Kind::ALL
                .into_iter()
                .rev()
                .filter_map(|kind| SourceStatus::of(merge, kind, at(kind)))
                .collect(),
            names: merge.name_count(),
            conflicts: merge.conflicts(),
            collisions: merge.collisions(),
            without_upstreams: merge.without_upstreams().into_iter().map(Name).collect(),
            unbuilt: Vec::new(),
        }
    }
}

// === impl SourceStatus ===

impl SourceStatus {
    /// What there is to say of one source; `None` if it has not given a snapshot yet.
    pub fn of(merge: &Merge, kind: Kind, at: Option<u64>) -> Option<Self> {
        let snapshot = merge.snapshot(kind)?;
        Some(Self {
            kind,
            routes: snapshot.routes.len(),
            invalid: merge.invalid_of(kind),
            stale: snapshot.stale.clone(),
            revision: snapshot.revision,
            at,
        })
    }
}

/// Whose each name is, by name.
pub fn owners(merge: &Merge) -> BTreeMap<String, Claim> {
    let claim = |kind, host: &HostName| Claim {
        kind,
        host: host.clone(),
    };
    merge
        .names()
        .map(|(name, served)| (name.to_string(), claim(served.kind, served.route.host())))
        .collect()
}
