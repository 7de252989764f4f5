//! The `doorway` binary as its users meet it: exit codes, what it prints, signals, the demo.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may stop where it finds a fault"
)]

mod adapt;
mod admin;
mod command_line;
mod consul;
mod demo;
mod eskip;
mod eskip_match;
mod examples;
mod explain;
mod fmt;
mod geo;
mod hash_password;
mod imports;
mod reload;
mod routes;
mod run;
mod shipwick;
mod skipper;
mod sources;
mod support;
mod token;
