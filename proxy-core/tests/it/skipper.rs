//! Skipper's routes in a running proxy.

mod basics;
mod bodies;

use std::net::SocketAddr;

use crate::support::rig::Rig;

/// A site whose routes are these.
fn rig(routes: &str) -> Rig {
    rig_with("", routes)
}

/// The same, with further lines of the handler.
fn rig_with(lines: &str, routes: &str) -> Rig {
    Rig::site(&format!("\teskip {{\n{lines}\n\t\tinline `{routes}`\n\t}}"))
}

/// The address as a backend.
fn backend(addr: SocketAddr) -> String {
    format!("\"http://{addr}\"")
}
