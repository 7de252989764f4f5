//! Tests of the public interface.

mod archives;
mod real;
mod support;
mod swaps;
#[cfg(feature = "updater")]
mod updates;
