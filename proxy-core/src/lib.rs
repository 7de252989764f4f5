//! The running proxy.

mod body;
mod clock;
mod error;
mod forward;
mod http;
mod request;
mod routing;
mod snapshot;
mod stats;
mod tasks;
mod tls;
mod upstream;
