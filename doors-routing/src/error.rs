//! What can be wrong with a configuration: all of it at once.

use std::{fmt, ops::Deref};

use ipnet::IpNet;

/// One thing that is wrong with a router's configuration.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no upstream at all.
    #[error("there is no upstream")]
    NoUpstream,
    /// There are several upstreams, and no cookie to tell which of them a session belongs to.
    #[error("a cookie name is needed with more than one upstream")]
    CookieNameMissing,
    /// The cookie's name is empty or has a character that no cookie name has (RFC 6265: a token of RFC 9110).
    #[error("{0:?} is no cookie name")]
    CookieName(String),
    /// Something is wrong with one upstream.
    #[error("upstream {}: {error}", .index.saturating_add(1))]
    Upstream {
        /// Its place in the configuration, counted from 0. The text counts from 1.
        index: usize,
        /// What is wrong with it.
        error: UpstreamError,
    },
}

/// One thing that is wrong with an upstream.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The CIDR is missing.
    #[error("the pod CIDR is missing")]
    CidrMissing,
    /// The CIDR is not an address, a slash and a prefix length.
    #[error("{0:?} is no CIDR (such as 10.0.0.0/24 or fd00:1::/64)")]
    Cidr(String),
    /// The host is missing.
    #[error("the host is missing")]
    HostMissing,
    /// The host is neither a name nor an address.
    #[error("{0:?} is neither a host name nor an address (the port has its own setting)")]
    Host(String),
    /// The port is missing.
    #[error("the port is missing")]
    PortMissing,
    /// The port is not a whole number from 1 to 65535.
    #[error("{0:?} is no port (1 to 65535)")]
    Port(String),
}

/// What is wrong with redirects by country.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GeoError {
    /// There is nowhere to send visitors.
    #[error("there is no domain")]
    NoDomain,
    /// Not a host, with or without a port.
    #[error("{0:?} is no domain")]
    Domain(String),
    /// Nobody would be sent to this domain.
    #[error("the domain {0:?} has no countries")]
    NoCountry(String),
    /// Not two letters.
    #[error("{0:?} is no country: its code has two letters, such as DE")]
    Country(String),
    /// Visitors would have to be in two places.
    #[error("the country {0} is listed twice")]
    TwoDomains(String),
}

/// Everything that is wrong with a router's configuration. Prints one error per line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigErrors(Vec<ConfigError>);

/// Something in a configuration that is allowed but hardly meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// Two CIDRs overlap. A pod in both belongs to the upstream that comes first.
    Overlap {
        /// Place (from 0) and CIDR of the upstream that comes first, and so wins.
        earlier: (usize, IpNet),
        /// Place and CIDR of the other one. If it lies within the earlier CIDR, it never gets a pod.
        later: (usize, IpNet),
    },
}

// === impl ConfigErrors ===

impl ConfigErrors {
    /// `None` if nothing is wrong.
    pub(crate) fn some(errors: Vec<ConfigError>) -> Option<Self> {
        (!errors.is_empty()).then_some(Self(errors))
    }
}

/// The errors, in the order of the configuration. Never empty.
impl Deref for ConfigErrors {
    type Target = [ConfigError];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl IntoIterator for ConfigErrors {
    type Item = ConfigError;
    type IntoIter = std::vec::IntoIter<ConfigError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            let separator = if n == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

// === impl Warning ===

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Overlap {
            earlier: (first, winner),
            later: (second, loser),
        } = self;
        let (first, second) = (first.saturating_add(1), second.saturating_add(1));
        let outcome = if winner.contains(loser) {
            "it never gets a pod"
        } else {
            "pods in both go to the first"
        };
        write!(
            f,
            "the CIDR {loser} of upstream {second} overlaps {winner} of upstream {first}: {outcome}"
        )
    }
}
