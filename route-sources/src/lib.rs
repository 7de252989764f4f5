//! Where routes come from, and one merge of them.
#![doc = include_str!("../README.md")]

#[cfg(feature = "docker")]
pub mod docker;
#[cfg(feature = "file")]
pub mod file;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
pub mod merge;
mod snapshot;
pub mod status;
pub mod store;

pub use merge::{Claim, Collision, Conflict, Delta, Merge, Merged, Served, merge};
pub use route_store::{HostDocument, HostName, Problems, Revision};
pub use snapshot::{Applied, Held, Invalid, Kind, Publisher, Route, Snapshot, Snapshots, channel};
pub use status::{SourceStatus, Status};
pub use store::{StoreHandle, StoreSource};
