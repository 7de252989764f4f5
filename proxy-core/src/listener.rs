//! Sockets: binding them, accepting on them, and TLS in front of HTTP.

pub(crate) mod accept;
pub(crate) mod bind;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;

use crate::forward::view::Place;

/// One address that is listened on.
#[derive(Debug)]
pub(crate) struct Listener {
    /// The real address, also if any port was asked for.
    pub(crate) address: SocketAddr,
    /// Where the views say what its connections get.
    pub(crate) place: Arc<Place>,
}
