//! Sockets: binding them, accepting on them, and TLS in front of HTTP.

pub(crate) mod accept;
pub(crate) mod acceptor;
pub(crate) mod bind;
mod handshake;
mod socket;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::forward::view::Place;

/// One address that is listened on.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) address: Address,
    /// Where the views say what its connections get.
    pub(crate) place: Arc<Place>,
}

/// Where a listener is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Address {
    /// The real address, also if any port was asked for.
    Tcp(SocketAddr),
    /// The path of a unix socket, or `@` and an abstract name.
    Unix(String),
}

// === impl Address ===

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix/{path}"),
        }
    }
}
