//! The tests of the crate as its users see it.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop where it finds a fault"
)]

#[cfg(feature = "docker")]
mod docker;
#[cfg(feature = "kubernetes")]
mod kubernetes;
