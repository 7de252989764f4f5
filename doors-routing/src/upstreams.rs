//! Servers, the networks of their pods, and the look-up from a pod's address to its server.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use ip_network::IpNetwork;
use ip_network_table::IpNetworkTable;
use ipnet::IpNet;

use crate::{UpstreamError, Warning};

/// One upstream block as configured: a server, the network that its pods have their addresses in, and the name of its
/// fresh deployment. [`Router::try_new`](crate::Router::try_new) checks it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UpstreamBlock {
    /// Holds the address of every pod of this server. Bits behind the prefix are ignored.
    pub pod_cidr: IpNet,
    /// DNS name (or address) of the fresh deployment, without a port.
    pub host: String,
    /// The port that the app listens on, on the fresh deployment and on every draining pod. Not 0.
    pub port: u16,
}

/// One server, checked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Server {
    pod_cidr: IpNet,
    host: String,
    port: u16,
}

/// From an address to the *first* server, in the order of configuration, whose CIDR holds it.
pub(crate) struct PodNetworks(IpNetworkTable<usize>);

// === impl UpstreamBlock ===

impl UpstreamBlock {
    /// A block from a configuration's texts.
    ///
    /// A CIDR is an address, `/` and a prefix length, both without leading zeros; a port is a whole number from 1 to
    /// 65535. White space is not trimmed.
    ///
    /// # Errors
    ///
    /// All that is wrong, in the order of the arguments. An empty text is a missing one.
    pub fn parse(pod_cidr: &str, host: &str, port: &str) -> Result<Self, Vec<UpstreamError>> {
        match (parse_cidr(pod_cidr), check_host(host), parse_port(port)) {
            (Ok(pod_cidr), Ok(()), Ok(port)) => Ok(Self {
                pod_cidr,
                host: host.to_owned(),
                port,
            }),
            (cidr, host, port) => Err([cidr.err(), host.err(), port.err()]
                .into_iter()
                .flatten()
                .collect()),
        }
    }

    /// The server, or all that is wrong with the block.
    pub(crate) fn check(self) -> Result<Server, Vec<UpstreamError>> {
        let host = check_host(&self.host);
        let port = if self.port == 0 {
            Err(UpstreamError::Port("0".to_owned()))
        } else {
            Ok(())
        };
        match (host, port) {
            (Ok(()), Ok(())) => Ok(Server {
                pod_cidr: canonical(self.pod_cidr),
                host: self.host,
                port: self.port,
            }),
            (host, port) => Err([host.err(), port.err()].into_iter().flatten().collect()),
        }
    }
}

// === impl Server ===

impl Server {
    /// The network of this server's pods, without host bits. An IPv4-mapped network is IPv4 here.
    #[must_use]
    pub fn pod_cidr(&self) -> IpNet {
        self.pod_cidr
    }

    /// DNS name or address of this server's fresh deployment, as configured.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port that the app listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

// === impl PodNetworks ===

impl PodNetworks {
    /// CIDRs are nested or apart, so whatever holds an address of a CIDR holds the whole CIDR or lies in it. Thus the
    /// first match for an address is the first of all CIDRs around its longest match, which is found here, once.
    pub(crate) fn new(servers: &[Server]) -> Self {
        let mut table = IpNetworkTable::new();
        for server in servers {
            let first = servers
                .iter()
                .position(|other| other.pod_cidr.contains(&server.pod_cidr));
            let cidr = IpNetwork::new_truncate(server.pod_cidr.network(), server.pod_cidr.prefix_len());
            if let (Some(first), Ok(cidr)) = (first, cidr) {
                table.insert(cidr, first);
            }
        }
        Self(table)
    }

    /// The index of the server that `address` belongs to.
    pub(crate) fn find(&self, address: IpAddr) -> Option<usize> {
        self.0
            .longest_match(address.to_canonical())
            .map(|(_, server)| *server)
    }
}

impl fmt::Debug for PodNetworks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter()).finish()
    }
}

/// For each server whose CIDR overlaps an earlier one: the first such pair.
pub(crate) fn overlaps(servers: &[Server]) -> Vec<Warning> {
    let places = || servers.iter().map(Server::pod_cidr).enumerate();
    places()
        .filter_map(|later| {
            let earlier = places()
                .take(later.0)
                .find(|earlier| overlap(earlier.1, later.1))?;
            Some(Warning::Overlap { earlier, later })
        })
        .collect()
}

fn overlap(a: IpNet, b: IpNet) -> bool {
    a.contains(&b) || b.contains(&a)
}

fn parse_cidr(text: &str) -> Result<IpNet, UpstreamError> {
    if text.is_empty() {
        return Err(UpstreamError::CidrMissing);
    }
    let parse = || {
        let (address, prefix) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        IpNet::new(address, parse_number(prefix)?).ok()
    };
    parse().ok_or_else(|| UpstreamError::Cidr(text.to_owned()))
}

fn parse_port(text: &str) -> Result<u16, UpstreamError> {
    if text.is_empty() {
        return Err(UpstreamError::PortMissing);
    }
    parse_number(text)
        .filter(|port| *port != 0)
        .ok_or_else(|| UpstreamError::Port(text.to_owned()))
}

/// A decimal number without sign or leading zeros.
fn parse_number<N: std::str::FromStr>(digits: &str) -> Option<N> {
    let canonical =
        digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if canonical { digits.parse().ok() } else { None }
}

/// Checks that `host` can be put before `:port`: an address (IPv6 with or without brackets), or a text without any
/// character that ends or structures a host elsewhere. Whether the name exists is the resolver's business.
fn check_host(host: &str) -> Result<(), UpstreamError> {
    if host.is_empty() {
        return Err(UpstreamError::HostMissing);
    }
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let name =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') || !byte.is_ascii();
    if bare.parse::<Ipv6Addr>().is_ok() || host.bytes().all(name) {
        Ok(())
    } else {
        Err(UpstreamError::Host(host.to_owned()))
    }
}

/// Without host bits, and IPv4 where all of the network is IPv4-mapped, since the addresses in tokens are unmapped.
fn canonical(cidr: IpNet) -> IpNet {
    const MAPPED_PREFIX: u8 = 96;
    let cidr = cidr.trunc();
    let unmapped =
        cidr.prefix_len()
            .checked_sub(MAPPED_PREFIX)
            .and_then(|prefix| match cidr.addr().to_canonical() {
                address @ IpAddr::V4(_) if cidr.addr().is_ipv6() => IpNet::new(address, prefix).ok(),
                _ => None,
            });
    unmapped.unwrap_or(cidr)
}
