//! The integration suite of proxy-core: a real proxy on loopback, real clients, scripted upstreams.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test may spawn, stop where it finds a fault, and say which case it was at"
)]

mod support;

mod admin;
mod balancing;
mod cases;
mod chain;
mod consul;
mod differential;
mod dns;
mod doors;
mod drain;
mod dynamic;
mod embedding;
mod explain;
mod geo;
mod headers;
mod health;
mod hosts;
mod logs;
mod pod_alone;
mod proxy_protocol;
mod reload;
mod retries;
mod rollout;
mod sites;
mod skipper;
mod streaming;
mod tls;
mod transport;
mod wire;
