//! From the configuration's model to what runs: checked, compiled, nothing bound yet.

mod auth;
mod balancing;
pub(crate) mod compile;
mod connection_policies;
mod consul;
mod discovery;
mod encode;
mod error;
mod handlers;
mod health;
pub(crate) mod hosts;
pub(crate) mod https;
mod limits;
mod logs;
mod matchers;
mod metrics;
mod proxies;
mod routes;
pub(crate) mod skipper;
mod sockets;
mod support;
mod transport;
mod upstreams;
mod values;

pub use error::{BuildError, BuildErrors};

#[cfg(test)]
mod tests;
