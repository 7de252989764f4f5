//! What a store does.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::report::{CheckReport, MigrateReport};
use crate::revision::Revision;

/// How many deletions a store remembers, and with each the history of its host: who knows an older revision gets all routes.
pub(crate) const TOMBSTONES: usize = 10_000;

/// The result of an operation, once it is there.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// Routes that many replicas share, and what they keep beside them.
///
/// A store keeps documents as they were written, whatever their schema version, and leaves judging them to the reader; hosts are lowercase.
/// Each operation ends within a few seconds, one that gives many routes within some twenty, by [`StoreError::Unavailable`]
/// if nothing else. Dropping its future gives up waiting; the write may happen.
///
/// What any implementation must do is the suite in the module `contract` (feature `contract`).
pub trait Store: fmt::Debug + Send + Sync {
    /// The kind of the store, such as `redis`; no address and no secret.
    fn kind(&self) -> &'static str;

    /// Where the store stands. A store without data begins a new epoch with the number 0.
    fn revision(&self) -> Answer<'_, Revision>;

    /// All routes, sorted by host, and the revision that they are of.
    fn routes(&self) -> Answer<'_, Routes>;

    /// What has changed since `known`. A store that cannot tell, as `known` is of another epoch, from the future or too
    /// old, gives all routes.
    fn changes(&self, known: Revision) -> Answer<'_, Changes>;

    /// One route.
    fn route<'a>(&'a self, host: &'a str) -> Answer<'a, Option<StoredRoute>>;

    /// Writes a route. Its new version is the number of the revision.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if what is there is not as expected; then nothing has changed.
    fn put<'a>(&'a self, host: &'a str, document: Document<'a>, terms: Terms<'a>) -> Answer<'a, Revision>;

    /// Removes a route; its versions stay. If there is none, nothing changes, the revision neither.
    ///
    /// # Errors
    ///
    /// As for [`put`](Self::put).
    fn delete<'a>(&'a self, host: &'a str, terms: Terms<'a>) -> Answer<'a, Revision>;

    /// The changes of a host, latest first, as many as are kept. The latest versions are kept as well, each number
    /// bounded by the store's setting; those of a deleted host until 10,000 others have been deleted.
    fn history<'a>(&'a self, host: &'a str) -> Answer<'a, Vec<Change>>;

    /// Makes an earlier version the one that counts, under its old number, at a new revision; brings a deleted route back.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownVersion`] if it is not kept; else as for [`put`](Self::put).
    fn rollback<'a>(&'a self, host: &'a str, version: u64, terms: Terms<'a>) -> Answer<'a, Revision>;

    /// Says what a replica has applied. It is forgotten after `ttl` by the store's clock.
    fn report<'a>(&'a self, replica: &'a Replica, ttl: Duration) -> Answer<'a, ()>;

    /// The replicas that reported lately, sorted by id.
    fn replicas(&self) -> Answer<'_, Vec<Replica>>;

    /// Takes the lease `name` for `ttl` by the store's clock, or takes it again. Says whether it is `holder`'s now.
    fn acquire<'a>(&'a self, name: &'a str, holder: &'a str, ttl: Duration) -> Answer<'a, bool>;

    /// Gives a lease back. One that is another's stays with it.
    fn release<'a>(&'a self, name: &'a str, holder: &'a str) -> Answer<'a, ()>;

    /// A value of a namespace such as `certificates` or `challenges`.
    fn get<'a>(&'a self, space: &'a str, key: &'a str) -> Answer<'a, Option<Value>>;

    /// Writes a value, for `ttl` by the store's clock if one is given. Its version is a number that no other value of this
    /// key had in this epoch.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if what is there is not as expected.
    fn set<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
        bytes: &'a [u8],
        expected: Expected,
        ttl: Option<Duration>,
    ) -> Answer<'a, u64>;

    /// Removes a value, if there is one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if what is there is not as expected.
    fn remove<'a>(&'a self, space: &'a str, key: &'a str, expected: Expected) -> Answer<'a, ()>;

    /// The keys of a namespace that begin with `prefix`, sorted.
    fn keys<'a>(&'a self, space: &'a str, prefix: &'a str) -> Answer<'a, Vec<String>>;

    /// Wakes up when routes may have changed: it may do so without a change, and may miss one, so who needs to know asks
    /// from time to time too. The stream ends when the connection is lost. `None`: the store cannot tell.
    fn watch(&self) -> Answer<'_, Option<BoxStream<'static, ()>>>;

    /// Makes the layout of the store the newest one. Every operation does so where it is needed; this is for those who
    /// want to see it happen. A store without a layout says 1.
    fn migrate(&self) -> Answer<'_, MigrateReport> {
        Box::pin(async {
            self.revision().await?;
            Ok(MigrateReport {
                kind: self.kind(),
                from: 1,
                to: 1,
            })
        })
    }

    /// Looks at everything that is there, and makes nothing that is not.
    fn check(&self) -> Answer<'_, CheckReport> {
        Box::pin(CheckReport::of(self, 1))
    }
}

/// All routes at one revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Routes {
    /// Of what they are.
    pub revision: Revision,
    /// Sorted by host.
    pub routes: Vec<StoredRoute>,
}

/// What has changed between two revisions.
#[derive(Clone, Debug, PartialEq)]
pub enum Changes {
    /// These routes, and no others.
    Some {
        /// Where the store stands now.
        revision: Revision,
        /// Routes that are new or other, sorted by host.
        routes: Vec<StoredRoute>,
        /// Hosts that have no route any more, sorted.
        deleted: Vec<String>,
    },
    /// The store cannot tell; here is all that there is.
    All(Routes),
}

/// A route as it is stored.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct StoredRoute {
    /// In lower case.
    pub host: String,
    /// Its version: the number of the revision that wrote the document.
    pub version: u64,
    /// The number of the revision that last made it the one that counts: larger than the version after a rollback.
    pub revision: u64,
    /// What the document is written in.
    pub schema_version: u32,
    /// The document, as it was written.
    pub document: String,
}

/// A document to be written.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// What it is written in.
    pub schema_version: u32,
    /// JSON. The store neither reads nor changes it.
    pub text: &'a str,
}

/// On whose behalf, and on what condition, something is written.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Who, for the history.
    pub author: &'a str,
    /// What must be there.
    pub expected: Expected,
}

/// What must be there for a write to happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// Anything or nothing.
    #[default]
    Any,
    /// Nothing.
    Absent,
    /// This version.
    Version(u64),
}

impl Expected {
    /// Whether `current`, the version that is there, is as expected.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if it is not.
    pub fn check(self, current: Option<u64>) -> Result<(), StoreError> {
        let is_met = match self {
            Self::Any => true,
            Self::Absent => current.is_none(),
            Self::Version(version) => current == Some(version),
        };
        is_met.then_some(()).ok_or(StoreError::Conflict { current })
    }
}

/// One change of a host.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Change {
    /// The number of its revision.
    pub revision: u64,
    /// What was done.
    #[serde(flatten)]
    pub kind: ChangeKind,
    /// By whom.
    pub author: String,
    /// When, in seconds since 1970 by the store's clock.
    pub at: u64,
}

/// What was done to a route.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChangeKind {
    /// This document was written: a version.
    Put {
        /// What it is written in.
        schema_version: u32,
        /// The document; `None` if it is not kept any more.
        document: Option<String>,
    },
    /// The route was removed.
    Delete,
    /// An earlier version was made the one that counts.
    Rollback {
        /// Which.
        version: u64,
    },
}

/// What a replica says of itself.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Replica {
    /// Tells it from all others.
    pub id: String,
    /// The revision that it has applied: what its requests see.
    pub revision: Revision,
    /// When it applied that, in seconds since 1970 by its own clock.
    pub applied_at: u64,
    /// Its version of the program.
    pub version: String,
    /// The name of its host.
    pub hostname: String,
    /// How many routes it could not apply.
    pub invalid: u64,
}

/// A value of a namespace.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// See [`Store::set`].
    pub version: u64,
    /// What was written.
    pub bytes: Vec<u8>,
}

/// Why a store did not do what it was asked.
///
/// No message holds an address with a password, nor what was stored.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be reached, or did not answer in time. What was asked may have been done.
    #[error("the {kind} store cannot be reached")]
    Unavailable {
        /// The kind of the store.
        kind: &'static str,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What is there is not what was expected.
    #[error("what is stored has changed: its version is {}", current.map_or_else(|| "none".to_owned(), |version| version.to_string()))]
    Conflict {
        /// The version that is there.
        current: Option<u64>,
    },
    /// This version of a route is not kept.
    #[error("version {version} of {host} is not kept")]
    UnknownVersion {
        /// The host.
        host: String,
        /// The version that was asked for.
        version: u64,
    },
    /// It refused what was asked, or what it holds makes no sense.
    #[error("the {kind} store failed: {reason}")]
    Failed {
        /// The kind of the store.
        kind: &'static str,
        /// What it was about.
        reason: String,
    },
}
