//! The drivers over byte streams in memory, whole and byte by byte.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop where it finds a fault"
)]

mod cancel;
mod client;
mod corpus;
#[allow(unreachable_pub, reason = "it is a crate of its own when it is fuzzed")]
#[path = "../../fuzz/src/lib.rs"]
mod fuzzing;
mod hop;
mod server;
mod support;
