//! Every store against the suite, and against what goes wrong outside; and what the READMEs say.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may stop where it finds a fault, and say what it could not run"
)]

mod faults;
mod measure;
mod memory;
mod open;
mod postgres;
mod proxy;
mod readme;
mod redis;
mod server;
mod sqlite;
mod subject;
