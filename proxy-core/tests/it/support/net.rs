//! Loopback networks, one for each test, so that tests that run at once never share an address.

use std::net::Ipv4Addr;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// A network of 256 servers with 254 pods each: 127.N.0.0/16.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Net(u8);

/// One server of a [`Net`]: 127.N.S.0/24.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server(u8, u8);

// === impl Net ===

impl Net {
    /// A network that no other test of this process has; other processes most likely start elsewhere.
    pub(crate) fn fresh() -> Self {
        static TAKEN: AtomicU32 = AtomicU32::new(0);
        let taken = TAKEN
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(process::id().wrapping_mul(37));
        // 127.0.x.x is where everything else on a machine lives.
        Self(u8::try_from(taken % 254 + 1).expect("at most 254"))
    }

    /// The server with this number.
    pub(crate) fn server(self, number: u8) -> Server {
        Server(self.0, number)
    }

    /// A pod of server 1.
    pub(crate) fn pod(self, number: u8) -> Ipv4Addr {
        self.server(1).pod(number)
    }
}

// === impl Server ===

impl Server {
    /// The pod with this number, from 1 to 254.
    pub(crate) fn pod(self, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, self.0, self.1, number)
    }

    /// The network of all pods of this server.
    pub(crate) fn cidr(self) -> String {
        format!("127.{}.{}.0/24", self.0, self.1)
    }
}
