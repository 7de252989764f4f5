//! Sets of IP networks.

use std::net::IpAddr;

use ip_network_table::IpNetworkTable;
use ipnet::IpNet;

/// A set of networks.
pub(crate) enum IpSet {
    /// So few that each is looked at.
    Few(Vec<IpNet>),
    Many(Box<IpNetworkTable<()>>),
}

/// The most networks that are looked at one by one. A table for them takes kilobytes.
const FEW: usize = 8;

// === impl IpSet ===

impl IpSet {
    /// A set of `networks`; IPv4-mapped ones count as IPv4.
    pub(crate) fn new(networks: &[IpNet]) -> Self {
        let networks = networks.iter().map(unmapped);
        if networks.len() <= FEW {
            return Self::Few(networks.collect());
        }
        let mut table = IpNetworkTable::new();
        for network in networks {
            if let Ok(network) = ip_network::IpNetwork::new(network.network(), network.prefix_len()) {
                table.insert(network, ());
            }
        }
        Self::Many(Box::new(table))
    }

    /// Whether `ip` lies in one of the networks.
    pub(crate) fn contains(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        match self {
            Self::Few(networks) => networks.iter().any(|network| network.contains(&ip)),
            Self::Many(table) => table.longest_match(ip).is_some(),
        }
    }
}

impl Default for IpSet {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl std::fmt::Debug for IpSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Few(networks) => f.debug_tuple("IpSet").field(networks).finish(),
            Self::Many(table) => f.debug_struct("IpSet").field("len", &table.len()).finish(),
        }
    }
}

/// The network, without host bits; an IPv4-mapped one as one of IPv4.
fn unmapped(network: &IpNet) -> IpNet {
    let network = network.trunc();
    match (network.network(), network.prefix_len()) {
        (IpAddr::V6(address), prefix @ 96..) => address
            .to_ipv4_mapped()
            .and_then(|address| IpNet::new(address.into(), prefix - 96).ok())
            .unwrap_or(network),
        _ => network,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_networks_hold_the_same_addresses() {
        let few = [
            "10.0.0.0/8",
            "::ffff:192.0.2.0/120",
            "2001:db8::1/32",
            "127.0.0.1/32",
        ];
        let more = (0..20).map(|n| format!("198.51.{n}.0/24"));
        let parse = |text: &str| text.parse::<IpNet>().unwrap();
        let few: Vec<IpNet> = few.into_iter().map(parse).collect();
        let many: Vec<IpNet> = few.iter().copied().chain(more.map(|text| parse(&text))).collect();
        for (ip, expected) in [
            ("10.1.2.3", true),
            ("::ffff:10.1.2.3", true),
            ("192.0.2.200", true),
            ("192.0.3.1", false),
            ("2001:db8::9", true),
            ("2001:db9::9", false),
            ("127.0.0.1", true),
            ("127.0.0.2", false),
        ] {
            let ip = ip.parse().unwrap();
            let found = (IpSet::new(&few).contains(ip), IpSet::new(&many).contains(ip));
            assert_eq!(found, (expected, expected), "{ip}");
        }
        assert!(!IpSet::default().contains("10.0.0.1".parse().unwrap()));
    }
}
