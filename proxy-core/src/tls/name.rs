//! The names that certificates are for.

use std::net::IpAddr;

use rustls_pki_types::DnsName;
use thiserror::Error;

/// A site name in the form that look-ups use: lower case, without a trailing dot or brackets.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum ServedName {
    /// Exactly this host.
    Host(Box<str>),
    /// Any one label before this: `example.com` stands for `*.example.com`.
    Wildcard(Box<str>),
    /// An address, which clients do not send as a server name.
    Address(IpAddr),
}

/// A name that is none of host name, `*.` wildcard and address.
#[derive(Debug, Error)]
#[error("no certificate can be for {name:?}: use a host name in its ASCII form, *.domain or an address")]
pub(crate) struct NameError {
    name: String,
}

// === impl ServedName ===

impl ServedName {
    /// Reads a name as it stands in a configuration.
    pub(super) fn parse(text: &str) -> Result<Self, NameError> {
        let lower = text.to_ascii_lowercase();
        let unbracketed = lower.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Ok(address) = unbracketed.unwrap_or(&lower).parse::<IpAddr>() {
            return Ok(Self::Address(address.to_canonical()));
        }
        let host = lower.strip_suffix('.').unwrap_or(&lower);
        let (host, make): (_, fn(Box<str>) -> Self) = match host.strip_prefix("*.") {
            Some(domain) => (domain, Self::Wildcard),
            None => (host, Self::Host),
        };
        match DnsName::try_from(host) {
            Ok(_) => Ok(make(host.into())),
            Err(_) => Err(NameError { name: text.into() }),
        }
    }

    /// The name as it stands in a certificate.
    pub(super) fn in_certificate(&self) -> String {
        match self {
            Self::Host(host) => host.to_string(),
            Self::Wildcard(domain) => format!("*.{domain}"),
            Self::Address(address) => address.to_string(),
        }
    }

    /// Whether a certificate for `self` is good for `name` too: itself, or a wildcard for one label.
    pub(super) fn covers(&self, name: &Self) -> bool {
        match (self, name) {
            (Self::Wildcard(domain), Self::Host(host)) => host
                .split_once('.')
                .is_some_and(|(_, parent)| parent == &**domain),
            _ => self == name,
        }
    }
}

#[cfg(test)]
mod tests;
