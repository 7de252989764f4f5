//! Where an upstream is reached.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

use super::super::{HostPort, HostPortError};

/// Where an upstream is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UpstreamAddress {
    /// A host and a port; an empty host is the local machine.
    Tcp(HostPort),
    /// The path of a unix socket; `unix//path` in the text.
    Unix(String),
    /// An address with placeholders, which each request fills in.
    Template(String),
}

/// Why a text is no [`UpstreamAddress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamAddressError {
    /// Neither a host with a port nor a unix socket.
    #[error(transparent)]
    Address(#[from] HostPortError),
    /// A network that HTTP is not spoken over.
    #[error("this is not a network that upstreams are reached by")]
    Network,
    /// No path behind `unix/`.
    #[error("the path of the socket is missing")]
    NoPath,
}

// === impl UpstreamAddress ===

impl From<HostPort> for UpstreamAddress {
    fn from(address: HostPort) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for UpstreamAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix/{path}"),
            Self::Template(text) => f.write_str(text),
        }
    }
}

impl FromStr for UpstreamAddress {
    type Err = UpstreamAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.split_once('{').is_some_and(|(_, rest)| rest.contains('}')) {
            return Ok(Self::Template(text.to_owned()));
        }
        match text.split_once('/') {
            None => Ok(Self::Tcp(dialled(text)?)),
            Some(("tcp", address)) => Ok(Self::Tcp(dialled(address)?)),
            Some(("unix", "" | "@")) => Err(UpstreamAddressError::NoPath),
            Some(("unix", path)) => Ok(Self::Unix(path.to_owned())),
            Some(("fd" | "fdgram" | "tcp4" | "tcp6" | "udp" | "udp4" | "udp6" | "unixgram", _)) => {
                Err(UpstreamAddressError::Network)
            }
            Some(_) => Err(HostPortError::Host.into()),
        }
    }
}

impl Serialize for UpstreamAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A host and a port that something can listen on.
fn dialled(text: &str) -> Result<HostPort, HostPortError> {
    let address: HostPort = text.parse()?;
    if address.port() == 0 {
        return Err(HostPortError::Port);
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::{UpstreamAddress, UpstreamAddressError};
    use crate::model::HostPortError;

    #[test]
    fn addresses_print_as_they_were_written() {
        for text in [
            "app:80",
            ":80",
            "[::1]:80",
            "unix//run/a.sock",
            "unix/@name",
            "{env.X}",
            "{http.request.host}:80",
            "unix//run/{env.X}.sock",
        ] {
            assert_eq!(text.parse::<UpstreamAddress>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_cannot_be_dialled_says_why() {
        for (text, error) in [
            ("app", HostPortError::NoPort.into()),
            ("app:0", HostPortError::Port.into()),
            ("app:1-2", HostPortError::Port.into()),
            ("app/path:80", HostPortError::Host.into()),
            ("udp/app:80", UpstreamAddressError::Network),
            ("fd/3", UpstreamAddressError::Network),
            ("unix/", UpstreamAddressError::NoPath),
        ] {
            assert_eq!(text.parse::<UpstreamAddress>(), Err(error), "{text}");
        }
    }
}
