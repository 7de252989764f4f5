//! Routes that many replicas of a proxy share: documents, revisions, history.
#![doc = include_str!("../README.md")]

#[cfg(any(test, feature = "contract"))]
pub mod contract;
pub mod document;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod host;
mod memory;
mod revision;
mod store;

pub use document::{HostDocument, Problem, Problems, SCHEMA_VERSION};
pub use host::{HostError, HostName};
pub use memory::{DEFAULT_HISTORY, MemoryStore};
pub use revision::{Epoch, EpochError, Revision};
pub use store::{
    Answer, Change, ChangeKind, Changes, Document, Expected, Replica, Routes, Store, StoreError, StoredRoute,
    Terms, Value,
};
