//! The source as its users see it: against a Consul inside the test, and a real agent where there is one.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may stop where it finds a fault, and say what it could not run"
)]

mod answers;
mod environment;
mod fake;
mod faults;
mod logs;
mod real;
mod requests;
mod secure;
mod support;
