//! Addresses that a request may go to, as connecting sees them.

use std::net::SocketAddr;

use crate::upstream::cluster::Addresses;
use crate::upstream::transport::Way;

/// Addresses that lead to the same application.
pub(super) trait Choices: Sync {
    fn first(&self) -> Option<SocketAddr>;
    fn all(&self) -> impl Iterator<Item = SocketAddr> + Send;
    /// Whether a name leads to them, which may lead elsewhere later.
    fn by_name(&self) -> bool;
    /// What else leads there.
    fn way(&self) -> &Way;
}

/// One pod of a server.
pub(super) struct Pod<'v> {
    pub(super) address: SocketAddr,
    pub(super) way: &'v Way,
}

impl Choices for Addresses {
    fn first(&self) -> Option<SocketAddr> {
        Self::first(self)
    }

    fn all(&self) -> impl Iterator<Item = SocketAddr> + Send {
        self.iter()
    }

    fn by_name(&self) -> bool {
        true
    }

    fn way(&self) -> &Way {
        self.way()
    }
}

impl Choices for Pod<'_> {
    fn first(&self) -> Option<SocketAddr> {
        Some(self.address)
    }

    fn all(&self) -> impl Iterator<Item = SocketAddr> + Send {
        std::iter::once(self.address)
    }

    fn by_name(&self) -> bool {
        false
    }

    fn way(&self) -> &Way {
        self.way
    }
}
