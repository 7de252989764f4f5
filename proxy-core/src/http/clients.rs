//! How many connections each client has open at one listener.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// The open connections of each client, for all workers. One that has none takes no room.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<HashMap<IpAddr, u32>>);

/// One connection of a client; counted until dropped.
#[derive(Debug)]
pub(crate) struct Admitted {
    clients: Arc<Clients>,
    client: IpAddr,
}

// === impl Clients ===

impl Clients {
    /// Counts a connection from `ip`, unless its client has `most` already.
    pub(crate) fn admit(self: &Arc<Self>, ip: IpAddr, most: u32) -> Option<Admitted> {
        let client = client_of(ip);
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.get(&client).copied().unwrap_or_default();
        if count >= most {
            return None;
        }
        open.insert(client, count + 1);
        Some(Admitted {
            clients: Arc::clone(self),
            client,
        })
    }
}

/// Whose address it is: of IPv6, a client has a whole network of 64 bits.
fn client_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.into(),
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

// === impl Admitted ===

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = self.clients.0.lock().unwrap_or_else(PoisonError::into_inner);
        match open.get_mut(&self.client) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                open.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(clients: &Arc<Clients>, ip: &str) -> Option<Admitted> {
        clients.admit(ip.parse().unwrap(), 2)
    }

    #[test]
    fn a_client_has_so_many_connections_and_another_one_too() {
        let clients = Arc::<Clients>::default();
        let (first, _second) = (admit(&clients, "192.0.2.1"), admit(&clients, "192.0.2.1"));
        assert!(admit(&clients, "192.0.2.1").is_none());
        assert!(admit(&clients, "::ffff:192.0.2.1").is_none(), "the same client");
        assert!(admit(&clients, "192.0.2.2").is_some());
        drop(first);
        assert!(admit(&clients, "192.0.2.1").is_some());
    }

    #[test]
    fn a_network_of_64_bits_is_one_client() {
        let clients = Arc::<Clients>::default();
        let _open = (
            admit(&clients, "2001:db8::1"),
            admit(&clients, "2001:db8::ffff:2"),
        );
        assert!(admit(&clients, "2001:db8:0:0:ffff::3").is_none());
        assert!(admit(&clients, "2001:db8:0:1::1").is_some());
    }

    #[test]
    fn clients_that_left_take_no_room() {
        let clients = Arc::<Clients>::default();
        for number in 0..1_000_u32 {
            let ip = IpAddr::from(number.to_be_bytes());
            let _both = (clients.admit(ip, 2), clients.admit(ip, 2), clients.admit(ip, 2));
        }
        assert!(clients.0.lock().unwrap().is_empty());
    }
}
