//! Values that are one string in the text: addresses, ranges, secrets.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use ipnet::IpNet;
use serde::{Serialize, Serializer};

/// A host (name or address, no brackets) and a port, written `host:port` or `[v6]:port`.
///
/// An empty host means every interface where one listens, and the local machine where one dials.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    host: String,
    port: u16,
}

/// Why a text is no [`HostPort`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostPortError {
    /// No `:port` at the end.
    #[error("the port is missing")]
    NoPort,
    /// The part behind the last colon is no number from 0 to 65535.
    #[error("the port is not a number from 0 to 65535")]
    Port,
    /// White space, a slash, an unbalanced bracket or a colon outside brackets.
    #[error("the host is not a name or an IP address")]
    Host,
}

/// A network, or one address; remembers which, so that it prints as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IpRange {
    net: IpNet,
    single: bool,
}

/// A text is neither an IP address nor a network in CIDR form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("neither an IP address nor a network such as 10.0.0.0/8")]
pub struct IpRangeError;

/// Where a DNS server listens: an address and, if it is not 53, a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ResolverAddress {
    ip: IpAddr,
    port: Option<u16>,
}

/// A secret of the configuration. `Debug` shows nothing of it; serialising does, since a configuration that
/// lost its secrets could not be loaded again.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Secret(String);

// === impl HostPort ===

impl HostPort {
    /// `host` is taken as it is: no brackets, empty for "any".
    #[must_use]
    pub const fn new(host: String, port: u16) -> Self {
        Self { host, port }
    }

    /// The name or address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The host as an address, if it is one.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

impl FromStr for HostPort {
    type Err = HostPortError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (host, port) = text.rsplit_once(':').ok_or(HostPortError::NoPort)?;
        if port.ends_with(']') {
            return Err(HostPortError::NoPort);
        }
        Ok(Self {
            host: host_without_brackets(host)?.to_owned(),
            port: parse_port(port)?,
        })
    }
}

impl Serialize for HostPort {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// === impl IpRange ===

impl IpRange {
    /// The network; of a single address, the one with all bits.
    #[must_use]
    pub const fn net(&self) -> IpNet {
        self.net
    }
}

impl From<IpNet> for IpRange {
    fn from(net: IpNet) -> Self {
        Self { net, single: false }
    }
}

impl From<IpAddr> for IpRange {
    fn from(address: IpAddr) -> Self {
        Self {
            net: address.into(),
            single: true,
        }
    }
}

impl fmt::Display for IpRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.single {
            self.net.addr().fmt(f)
        } else {
            self.net.fmt(f)
        }
    }
}

impl FromStr for IpRange {
    type Err = IpRangeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.contains('/') {
            text.parse::<IpNet>().map(Self::from).map_err(|_| IpRangeError)
        } else {
            text.parse::<IpAddr>().map(Self::from).map_err(|_| IpRangeError)
        }
    }
}

impl Serialize for IpRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// === impl ResolverAddress ===

impl ResolverAddress {
    /// Where to send queries; port 53 unless another was given.
    #[must_use]
    pub fn socket_addr(&self) -> SocketAddr {
        SocketAddr::new(self.ip, self.port.unwrap_or(53))
    }
}

impl From<SocketAddr> for ResolverAddress {
    fn from(address: SocketAddr) -> Self {
        Self {
            ip: address.ip(),
            port: Some(address.port()),
        }
    }
}

impl From<IpAddr> for ResolverAddress {
    fn from(ip: IpAddr) -> Self {
        Self { ip, port: None }
    }
}

impl fmt::Display for ResolverAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddr::new(self.ip, port).fmt(f),
            None => self.ip.fmt(f),
        }
    }
}

impl FromStr for ResolverAddress {
    type Err = HostPortError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(ip.into());
        }
        let address: HostPort = text.parse()?;
        let ip = address.ip().ok_or(HostPortError::Host)?;
        Ok(Self {
            ip,
            port: Some(address.port()),
        })
    }
}

impl Serialize for ResolverAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// === impl Secret ===

impl Secret {
    /// The secret itself. Keep it out of logs and errors.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The host of a `host:port`: brackets hold an IPv6 address and nothing else, and an IPv6 address needs them.
fn host_without_brackets(host: &str) -> Result<&str, HostPortError> {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner
            .parse::<Ipv6Addr>()
            .map(|_| inner)
            .map_err(|_| HostPortError::Host);
    }
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"[]:/\\@?#{}|,".contains(c);
    if host.chars().all(plain) {
        Ok(host)
    } else {
        Err(HostPortError::Host)
    }
}

/// A port in plain decimal digits.
fn parse_port(text: &str) -> Result<u16, HostPortError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(HostPortError::Port);
    }
    text.parse().map_err(|_| HostPortError::Port)
}
