//! Names of hosts.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;

/// The name of a host as routes have it: lowercase, without a dot at its end and without a port; an IP address (IPv6 without
/// brackets), or `*.` and a name for all hosts that are one label longer. Cheap to clone.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct HostName(Arc<str>);

/// Not the name of a host.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("`{given}` is no host: {reason}")]
pub struct HostError {
    given: String,
    reason: &'static str,
}

/// The longest name, in bytes.
const LONGEST: usize = 253;

// === impl HostName ===

impl HostName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it stands for many hosts.
    pub fn is_wildcard(&self) -> bool {
        self.0.starts_with("*.")
    }
}

impl FromStr for HostName {
    type Err = HostError;

    fn from_str(given: &str) -> Result<Self, HostError> {
        let wrong = |reason| HostError {
            given: given.chars().take(LONGEST).collect(),
            reason,
        };
        let name = given.strip_suffix('.').unwrap_or(given).to_ascii_lowercase();
        if let Ok(address) = name.parse::<std::net::IpAddr>() {
            // One address has one name, as browsers write it.
            return Ok(Self(address.to_string().into()));
        }
        if name.len() > LONGEST {
            return Err(wrong("it is longer than 253 bytes"));
        }
        let labels = name.strip_prefix("*.").unwrap_or(&name);
        for label in labels.split('.') {
            if label.is_empty() {
                return Err(wrong("a part of it is empty"));
            }
            if label.len() > 63 {
                return Err(wrong("a part of it is longer than 63 bytes"));
            }
            let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            if !label.bytes().all(is_fine) {
                return Err(wrong(
                    "use letters, digits, `-` and `_`, without a port or a path; names in other scripts in their `xn--` form",
                ));
            }
        }
        let last = labels.rsplit('.').next().unwrap_or_default();
        if labels.len() != name.len() && last.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong("addresses have no hosts below them"));
        }
        Ok(Self(name.into()))
    }
}

impl Borrow<str> for HostName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lowercase_and_have_no_dot_at_the_end() {
        for (given, name) in [
            ("Shop.Example.COM", "shop.example.com"),
            ("a.test.", "a.test"),
            ("*.a.test", "*.a.test"),
            ("localhost", "localhost"),
            ("10.0.0.1", "10.0.0.1"),
            ("::1", "::1"),
            ("2001:DB8:0:0::0001", "2001:db8::1"),
        ] {
            assert_eq!(given.parse::<HostName>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for given in [
            "", ".", "*", "*.", "a..b", "a.*.b", "a b", "a:80", "http://a", "a/b", "ä.test", "[::1]",
            "*.0.0.1",
        ] {
            assert!(given.parse::<HostName>().is_err(), "{given}");
        }
        assert!("a".repeat(64).parse::<HostName>().is_err());
        assert!("a.".repeat(128).parse::<HostName>().is_err());
    }
}
