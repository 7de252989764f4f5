//! From the configuration's model to what runs: checked, compiled, nothing bound yet.

#[allow(dead_code, reason = "the handlers come to call it")]
mod auth;
pub(crate) mod compile;
#[allow(dead_code, reason = "the handlers come to call it")]
mod encode;
mod error;
mod handlers;
mod https;
mod logs;
#[allow(dead_code, reason = "the routes come to call it")]
mod metrics;
mod routes;
mod sockets;
mod support;
mod upstreams;

pub use error::{BuildError, BuildErrors};

#[cfg(test)]
mod tests;
