//! The running proxy.

mod body;
mod error;
mod http;
mod request;
mod routing;
mod snapshot;
mod tasks;
#[allow(dead_code, unused_imports, reason = "its users come next")]
mod tls;
#[allow(dead_code, unused_imports, reason = "its users come next")]
mod upstream;
