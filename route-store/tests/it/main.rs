//! Every store against the suite, and against what goes wrong outside; and what the READMEs say.

#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may stop where it finds a fault, and say what it could not run"
)]

mod memory;
mod readme;
