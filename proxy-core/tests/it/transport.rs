//! How upstreams are reached: TLS, HTTP/2, unix sockets, the PROXY protocol, limits and time-outs.

mod bursts;
mod grpc;
mod limits;
mod queue;
mod sockets;
mod tls;

use crate::support::rig::Rig;

/// A site that forwards everything to `upstream` by a transport with these options.
fn to(upstream: impl std::fmt::Display, options: &str) -> Rig {
    Rig::site(&proxy(upstream, options))
}

/// The directive that does.
fn proxy(upstream: impl std::fmt::Display, options: &str) -> String {
    format!("\treverse_proxy {upstream} {{\n\t\ttransport http {{\n{options}\n\t\t}}\n\t}}")
}
