//! Tests of the public interface.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

mod archives;
mod real;
mod support;
mod swaps;
#[cfg(feature = "updater")]
mod updates;
