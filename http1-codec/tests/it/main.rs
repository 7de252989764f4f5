//! The drivers over byte streams in memory, whole and byte by byte.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop where it finds a fault"
)]

mod client;
mod server;
mod support;
