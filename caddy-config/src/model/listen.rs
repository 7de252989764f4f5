//! Where a server listens: a TCP address or a unix socket.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

use super::{HostPort, HostPortError};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListenAddress {
    /// TCP; an empty host is every interface. `host:port`, or `tcp/host:port` when read.
    Tcp(HostPort),
    /// A unix socket: `unix//run/doorway.sock`, or with a mode `unix//run/doorway.sock|0660`.
    Unix(UnixSocket),
}

/// A unix socket of the file system, or, if the path begins with `@`, of Linux's abstract names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixSocket {
    path: String,
    /// Octal digits, as they are written.
    mode: Option<String>,
}

/// Why a text is no [`ListenAddress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// No host and port.
    #[error(transparent)]
    Address(#[from] HostPortError),
    /// A port range, which stands for many listeners.
    #[error("a range of ports to listen on")]
    Range,
    /// `fd/N` or `fdgram/N`.
    #[error("inherited descriptors are not supported")]
    Descriptor,
    /// `tcp4/` or `tcp6/`.
    #[error("a network that follows from the address is written before it")]
    Family,
    /// Another network than `tcp` and `unix`.
    #[error("this is not a network that HTTP is served on")]
    Network,
    /// No path behind `unix/`.
    #[error("the path of the socket is missing")]
    NoPath,
    /// What stands behind `|` is no octal number of permissions.
    #[error("the mode of the socket is not an octal number such as 0660")]
    Mode,
    /// A mode without which not even the owner can connect.
    #[error("the mode of the socket lets its owner not write to it, so nobody could connect")]
    ReadOnly,
}

// === impl ListenAddress ===

impl ListenAddress {
    /// The port; `None` for a unix socket.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(address) => Some(address.port()),
            Self::Unix(_) => None,
        }
    }

    /// The TCP address, if it is one.
    #[must_use]
    pub const fn tcp(&self) -> Option<&HostPort> {
        match self {
            Self::Tcp(address) => Some(address),
            Self::Unix(_) => None,
        }
    }
}

impl From<HostPort> for ListenAddress {
    fn from(address: HostPort) -> Self {
        Self::Tcp(address)
    }
}

impl From<UnixSocket> for ListenAddress {
    fn from(socket: UnixSocket) -> Self {
        Self::Unix(socket)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(socket) => socket.fmt(f),
        }
    }
}

impl FromStr for ListenAddress {
    type Err = ListenError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = match text.split_once('/') {
            None => text,
            Some(("tcp", rest)) => rest,
            Some(("unix", rest)) => return UnixSocket::parse(rest).map(Self::Unix),
            Some((network, _)) => return Err(ListenError::of_network(network)),
        };
        let is_range = plain.rsplit_once(':').is_some_and(|(_, ports)| {
            ports.contains('-') && ports.bytes().all(|b| b.is_ascii_digit() || b == b'-')
        });
        if is_range {
            return Err(ListenError::Range);
        }
        Ok(Self::Tcp(plain.parse()?))
    }
}

impl Serialize for ListenAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// === impl UnixSocket ===

impl UnixSocket {
    /// Reads `PATH` or `PATH|MODE`, without the `unix/` before it.
    ///
    /// # Errors
    ///
    /// An empty path, and a mode that is no octal number or without the owner's right to write.
    pub fn parse(text: &str) -> Result<Self, ListenError> {
        let (path, mode) = match text.split_once('|') {
            None => (text, None),
            Some((path, mode)) => (path, Some(mode)),
        };
        if path.is_empty() || path == "@" || path.contains('\0') {
            return Err(ListenError::NoPath);
        }
        if let Some(mode) = mode {
            let octal = (1..=4).contains(&mode.len()) && mode.bytes().all(|b| (b'0'..=b'7').contains(&b));
            let bits = u32::from_str_radix(mode, 8)
                .ok()
                .filter(|bits| octal && *bits <= 0o777);
            if bits.ok_or(ListenError::Mode)? & 0o200 == 0 {
                return Err(ListenError::ReadOnly);
            }
        }
        Ok(Self {
            path: path.to_owned(),
            mode: mode.map(str::to_owned),
        })
    }

    /// Its path, or `@NAME` for an abstract name.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The permissions that it is given; `None` leaves 0200, only the owner.
    #[must_use]
    pub fn mode(&self) -> Option<u32> {
        u32::from_str_radix(self.mode.as_deref()?, 8).ok()
    }
}

impl fmt::Display for UnixSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unix/{}", self.path)?;
        match &self.mode {
            Some(mode) => write!(f, "|{mode}"),
            None => Ok(()),
        }
    }
}

// === impl ListenError ===

impl ListenError {
    pub(crate) fn of_network(network: &str) -> Self {
        match network {
            "fd" | "fdgram" => Self::Descriptor,
            "tcp4" | "tcp6" => Self::Family,
            _ => Self::Network,
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn help(self) -> &'static str {
        match self {
            Self::Address(_) => "write host:port, such as 127.0.0.1:8080 or [::1]:8080",
            Self::Range => "write one address for each port",
            Self::Descriptor => {
                "each worker thread opens a socket of its own, which an inherited one cannot be shared out to; \
                 write the address, or a unix socket"
            }
            Self::Family => "leave the network out: 0.0.0.0 is every IPv4 address, :: every IPv6 one",
            Self::Network => "write host:port, or unix//path/of/the.sock",
            Self::NoPath => "write unix//path/of/the.sock",
            Self::Mode | Self::ReadOnly => "write it behind the path, such as unix//run/doorway.sock|0660",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ListenAddress, ListenError};
    use crate::model::HostPortError;

    #[test]
    fn addresses_print_as_they_were_written() {
        for text in [
            ":80",
            "127.0.0.1:8080",
            "[::1]:0",
            "unix//run/a.sock",
            "unix//run/a.sock|0660",
            "unix//run/a.sock|222",
            "unix/@name",
            "unix/relative.sock",
        ] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
        assert_eq!("tcp/:80".parse::<ListenAddress>().unwrap().to_string(), ":80");
    }

    #[test]
    fn a_socket_has_a_path_and_a_mode() {
        let parsed = |text: &str| match text.parse::<ListenAddress>() {
            Ok(ListenAddress::Unix(socket)) => (socket.path().to_owned(), socket.mode()),
            other => panic!("{other:?}"),
        };
        assert_eq!(parsed("unix//run/a|0660"), ("/run/a".to_owned(), Some(0o660)));
        assert_eq!(parsed("unix//run/a"), ("/run/a".to_owned(), None));
    }

    #[test]
    fn what_cannot_be_listened_on_says_why() {
        let cases = [
            ("", ListenError::Address(HostPortError::NoPort)),
            ("a:b", ListenError::Address(HostPortError::Port)),
            ("127.0.0.1:80-90", ListenError::Range),
            ("fd/3", ListenError::Descriptor),
            ("fdgram/3", ListenError::Descriptor),
            ("tcp4/0.0.0.0:80", ListenError::Family),
            ("udp/:80", ListenError::Network),
            ("unix+h2c//a", ListenError::Network),
            ("unix/", ListenError::NoPath),
            ("unix/|0660", ListenError::NoPath),
            ("unix//a|", ListenError::Mode),
            ("unix//a|999", ListenError::Mode),
            ("unix//a|07777", ListenError::Mode),
            ("unix//a|0444", ListenError::ReadOnly),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<ListenAddress>(), Err(error), "{text}");
        }
    }
}
