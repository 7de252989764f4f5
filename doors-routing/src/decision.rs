//! What the router answers.

use std::net::{IpAddr, SocketAddr};

use doors_token::DecodeError;

/// Where a request goes. Servers are named by their index in [`Router::servers`](crate::Router::servers).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    /// A system request: to this pod and no other.
    Pod {
        /// The pod's address from the token, with the port of its server.
        addr: SocketAddr,
        /// The server whose CIDR holds the address.
        server: usize,
    },
    /// A page request for this server: the only one, or the one that the affinity cookie names.
    Server(usize),
    /// A page request for any server; the caller balances.
    Any,
    /// A system request that no pod can answer: 410, upon which a Doors page reloads.
    Gone(GoneReason),
}

/// Why a system request is gone.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum GoneReason {
    /// The token in its path gives no address.
    #[error(transparent)]
    Token(#[from] DecodeError),
    /// The token is authentic, but its address lies outside of every server's CIDR: nothing there may be dialled.
    #[error("the pod {0} is in no upstream's CIDR")]
    OutsideCidrs(IpAddr),
}
