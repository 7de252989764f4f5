//! The tests of the crate as its users see it.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may stop where it finds a fault, and say what it could not run"
)]

#[cfg(feature = "docker")]
mod docker;
#[cfg(feature = "file")]
mod file;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod replicas;
