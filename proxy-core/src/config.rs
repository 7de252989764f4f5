//! From the configuration's model to what runs: checked, compiled, nothing bound yet.

pub(crate) mod compile;
mod error;
mod handlers;
mod https;
mod logs;
mod routes;
mod upstreams;

pub use error::{BuildError, BuildErrors};

#[cfg(test)]
mod tests;
