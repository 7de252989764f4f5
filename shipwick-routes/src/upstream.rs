//! Where a replica, the agent or the dashboard is reached.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::str::FromStr;

use crate::text::shown;

/// The most bytes of a name.
const LONGEST: usize = 253;

/// A container's name, a hostname or an address, with a port.
///
/// A name has letters, digits, `-`, `_` and `.`, and begins with a letter or digit: nothing that a proxy would read as a
/// placeholder, a network or a path.
///
/// ```
/// use shipwick_routes::Upstream;
///
/// let upstream: Upstream = "shipwick_web_7_1:8080".parse()?;
/// assert_eq!((upstream.host(), upstream.port()), ("shipwick_web_7_1", 8080));
/// assert_eq!(Upstream::new("2001:db8::1", 80)?.to_string(), "[2001:db8::1]:80");
/// # Ok::<(), shipwick_routes::UpstreamError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Upstream {
    host: Box<str>,
    port: NonZeroU16,
}

/// Why something is no upstream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The host is neither a name nor an address.
    #[error("invalid value {}: not a container name, hostname or IP address", shown(.0))]
    Host(String),
    /// The port is not from 1 to 65535.
    #[error("the port must be between 1 and 65535")]
    Port,
    /// There is no port.
    #[error("invalid value {}: expected host:port", shown(.0))]
    NoPort(String),
}

// === impl Upstream ===

impl Upstream {
    /// An upstream with this host, an IPv6 address with or without brackets.
    ///
    /// # Errors
    ///
    /// If the host is neither a name nor an address, or the port is 0.
    pub fn new(host: &str, port: u16) -> Result<Self, UpstreamError> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let address = bare.unwrap_or(host).parse::<IpAddr>().ok();
        let host: Box<str> = match address {
            Some(address) if address.is_ipv6() || bare.is_none() => address.to_string().into(),
            None if is_name(host) => host.into(),
            _ => return Err(UpstreamError::Host(host.to_owned())),
        };
        let port = NonZeroU16::new(port).ok_or(UpstreamError::Port)?;
        Ok(Self { host, port })
    }

    /// The name or address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port.get()
    }
}

impl FromStr for Upstream {
    type Err = UpstreamError;

    fn from_str(text: &str) -> Result<Self, UpstreamError> {
        let missing = || UpstreamError::NoPort(text.to_owned());
        let (host, port) = text.trim().rsplit_once(':').ok_or_else(missing)?;
        if host.contains(':') && !host.starts_with('[') {
            return Err(missing());
        }
        // Ports have no signs.
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = digits.then(|| port.parse().ok()).flatten();
        Self::new(host, port.ok_or(UpstreamError::Port)?)
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

fn is_name(host: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins = host
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    begins && host.len() <= LONGEST && host.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_joined_with_their_port() {
        for (host, joined) in [
            ("shipwick_web_7_1", "shipwick_web_7_1:80"),
            ("3f2b9c1d7a64", "3f2b9c1d7a64:80"),
            ("dashboard", "dashboard:80"),
            ("10.0.0.1", "10.0.0.1:80"),
            ("2001:DB8::1", "[2001:db8::1]:80"),
            ("[::1]", "[::1]:80"),
        ] {
            let upstream = Upstream::new(host, 80).unwrap();
            assert_eq!(upstream.to_string(), joined);
            assert_eq!(joined.parse::<Upstream>().unwrap(), upstream);
        }
    }

    #[test]
    fn what_a_proxy_could_read_otherwise_is_refused() {
        for host in [
            "",
            "unix//run/x.sock",
            "{env.SECRET}",
            "a b",
            "_a",
            "-a",
            "a:b",
            "[10.0.0.1]",
            "h2c://a",
            "a\",\"handler\":\"x",
            &"a".repeat(254),
        ] {
            let refused = Upstream::new(host, 80);
            assert_eq!(refused, Err(UpstreamError::Host(host.to_owned())), "{host:?}");
        }
    }

    #[test]
    fn a_port_is_needed_and_in_its_range() {
        for text in [
            "dashboard:0",
            "dashboard:65536",
            "dashboard:",
            "dashboard:+1",
            "dashboard:x",
        ] {
            assert_eq!(text.parse::<Upstream>(), Err(UpstreamError::Port), "{text}");
        }
        for text in ["dashboard", "::1", "2001:db8::1:80"] {
            let refused = text.parse::<Upstream>();
            assert_eq!(refused, Err(UpstreamError::NoPort(text.to_owned())));
        }
        assert!("http://dashboard:3000".parse::<Upstream>().is_err());
    }
}
