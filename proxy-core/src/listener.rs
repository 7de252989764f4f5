//! Sockets: binding them, accepting on them, and TLS in front of HTTP.

pub(crate) mod accept;
pub(crate) mod bind;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;

use crate::http::server::HttpSettings;
use crate::http::sweep::ConnLimits;

/// One address that is listened on, and what its connections speak.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    /// The real address, also if any port was asked for.
    pub(crate) address: SocketAddr,
    /// The server that answers.
    pub(crate) server: usize,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) http: HttpSettings,
    pub(crate) limits: ConnLimits,
}
