//! Where routes come from, and one merge of them.
#![doc = include_str!("../README.md")]

#[cfg(feature = "file")]
pub mod file;
mod snapshot;

pub use route_store::{HostDocument, HostName, Problems, Revision};
pub use snapshot::{Held, Invalid, Kind, Publisher, Route, Snapshot, Snapshots, channel};
