//! Routes that many replicas of a proxy share: documents, revisions, history.
#![doc = include_str!("../README.md")]

#[cfg(any(test, feature = "contract"))]
pub mod contract;
pub mod document;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod host;
mod memory;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod report;
mod revision;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;

pub use document::{HostDocument, Problem, Problems, SCHEMA_VERSION};
pub use host::{HostError, HostName};
pub use memory::{DEFAULT_HISTORY, MemoryStore};
pub use open::{OpenError, StoreKind, StoreSettings, open};
pub use report::{CheckReport, MigrateReport, Unreadable};
pub use revision::{Epoch, EpochError, Revision};
pub use store::{
    Answer, Change, ChangeKind, Changes, Document, Expected, Replica, Routes, Store, StoreError, StoredRoute,
    Terms, Value,
};
