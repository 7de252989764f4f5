//! What is looked for, made of texts that a client may have had a hand in. Pure: nothing is looked up.

use std::net::IpAddr;

use consul_upstreams::{NameError, ServiceName};
use thiserror::Error;

/// The longest host name.
const MAX_HOST: usize = 253;

/// The longest part of one.
const MAX_LABEL: usize = 63;

/// What a source looks for. Two that mean the same are equal.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Wanted {
    /// The host and the port are one upstream.
    Address { host: Box<str>, port: u16 },
    /// Each address of the host is an upstream, at this port.
    Addresses { host: Box<str>, port: u16 },
    /// Each service that the SRV records of this name list is an upstream.
    Services(Box<str>),
}

/// What a request asks a source for.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// A name of DNS.
    Name(Wanted),
    /// A service in Consul.
    Service(ServiceName),
}

/// Why nothing can be looked for.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub(crate) enum Unusable {
    /// Not a host name of ASCII letters, digits, `-`, `_` and dots, and no address that something can be reached at.
    #[error("the host is neither a name nor an address")]
    Host,
    /// Not `host:port`.
    #[error("it is not a host and a port")]
    NoPort,
    /// Not a number from 1 to 65535.
    #[error("the port is not a number from 1 to 65535")]
    Port,
    /// Only one of the two.
    #[error("of service and proto, one is missing")]
    HalfService,
    /// Not the name of a service in Consul.
    #[error(transparent)]
    Service(#[from] NameError),
    /// All places are taken by names whose first look-up has not ended.
    #[error("too many names are being looked up")]
    Busy,
}

// === impl Asked ===

impl From<Wanted> for Asked {
    fn from(wanted: Wanted) -> Self {
        Self::Name(wanted)
    }
}

// === impl Wanted ===

impl Wanted {
    /// `host:port`, with or without `tcp/` before it.
    pub(crate) fn address(text: &str) -> Result<Self, Unusable> {
        let text = text.strip_prefix("tcp/").unwrap_or(text);
        let (host, port) = text.rsplit_once(':').ok_or(Unusable::NoPort)?;
        Ok(Self::Address {
            port: self::port(port)?,
            host: self::host(host)?,
        })
    }

    /// The addresses of `host`, at `port`.
    pub(crate) fn addresses(host: &str, port: &str) -> Result<Self, Unusable> {
        Ok(Self::Addresses {
            port: self::port(port)?,
            host: self::host(host)?,
        })
    }

    /// What the SRV records of `_service._proto.name` list; of `name` itself if both others are empty.
    pub(crate) fn services(service: &str, proto: &str, name: &str) -> Result<Self, Unusable> {
        let whole = match (service, proto) {
            ("", "") => host(name)?,
            ("", _) | (_, "") => return Err(Unusable::HalfService),
            // Neither may bring dots of its own, which would be looked up elsewhere.
            (service, proto) if service.contains('.') || proto.contains('.') => return Err(Unusable::Host),
            (service, proto) => host(&format!("_{service}._{proto}.{}", host(name)?))?,
        };
        if whole.parse::<IpAddr>().is_ok() {
            return Err(Unusable::Host);
        }
        Ok(Self::Services(whole))
    }
}

/// A port as it must be written.
fn port(text: &str) -> Result<u16, Unusable> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| is_number && *port != 0);
    port.ok_or(Unusable::Port)
}

/// A host in lower case, an address in its usual form and without brackets.
fn host(text: &str) -> Result<Box<str>, Unusable> {
    let bracketed = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    if let Ok(ip) = bracketed.unwrap_or(text).parse::<IpAddr>() {
        let ip = ip.to_canonical();
        let is_usable = !ip.is_unspecified() && !ip.is_multicast();
        return is_usable.then(|| ip.to_string().into()).ok_or(Unusable::Host);
    }
    if is_name(text) {
        Ok(text.to_ascii_lowercase().into())
    } else {
        Err(Unusable::Host)
    }
}

/// Whether `text` is a host name. International names are written in their ASCII form.
pub(super) fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(known)
    };
    let inner = text.strip_suffix('.').unwrap_or(text);
    inner.len() <= MAX_HOST && inner.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_mean_the_same_however_they_are_written() {
        let expected = |host: &str, port| {
            let host = host.into();
            Ok(Wanted::Address { host, port })
        };
        for (text, host, port) in [
            ("App.Test:80", "app.test", 80),
            ("tcp/app:65535", "app", 65535),
            ("app.test.:1", "app.test.", 1),
            ("_x.app:00080", "_x.app", 80),
            ("192.0.2.1:80", "192.0.2.1", 80),
            ("[2001:DB8:0::1]:80", "2001:db8::1", 80),
            ("[::ffff:192.0.2.1]:80", "192.0.2.1", 80),
        ] {
            assert_eq!(Wanted::address(text), expected(host, port), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long_label = format!("{}:80", "a".repeat(64));
        let long_name = format!("{}a:80", "a.".repeat(127));
        for (text, reason) in [
            ("", Unusable::NoPort),
            ("app", Unusable::NoPort),
            (":80", Unusable::Host),
            ("app:", Unusable::Port),
            ("app:0", Unusable::Port),
            ("app:65536", Unusable::Port),
            ("app:-1", Unusable::Port),
            ("app:+80", Unusable::Port),
            ("app:8 0", Unusable::Port),
            ("app:80-81", Unusable::Port),
            ("app:http", Unusable::Port),
            ("app:٣", Unusable::Port),
            ("app..test:80", Unusable::Host),
            (".app:80", Unusable::Host),
            ("app/path:80", Unusable::Host),
            ("http://app:80", Unusable::Host),
            ("unix//run/a.sock:80", Unusable::Host),
            ("udp/app:80", Unusable::Host),
            ("user@app:80", Unusable::Host),
            ("a pp:80", Unusable::Host),
            ("app\r\n:80", Unusable::Host),
            ("app\0:80", Unusable::Host),
            ("{x}:80", Unusable::Host),
            ("ä.test:80", Unusable::Host),
            ("2001:db8::1", Unusable::Host),
            ("[app]:80", Unusable::Host),
            ("[::1:80", Unusable::Host),
            ("0.0.0.0:80", Unusable::Host),
            ("[::]:80", Unusable::Host),
            ("224.0.0.1:80", Unusable::Host),
            (&long_label, Unusable::Host),
            (&long_name, Unusable::Host),
        ] {
            let read = Wanted::address(text);
            // An address of version 6 without brackets ends in digits that look like a port.
            let is_v6 = text == "2001:db8::1";
            assert!(
                read == Err(reason) || is_v6 && read.is_err(),
                "{text:?}: {read:?}"
            );
        }
    }

    #[test]
    fn services_have_names_of_three_parts_or_one() {
        let named = |name: &str| Ok(Wanted::Services(name.into()));
        assert_eq!(
            Wanted::services("API", "tcp", "app.test"),
            named("_api._tcp.app.test")
        );
        assert_eq!(Wanted::services("", "", "_x._tcp.app."), named("_x._tcp.app."));
        for (service, proto, name, reason) in [
            ("api", "", "app", Unusable::HalfService),
            ("", "tcp", "app", Unusable::HalfService),
            ("", "", "", Unusable::Host),
            ("api", "tcp", "", Unusable::Host),
            ("a.b", "tcp", "app", Unusable::Host),
            ("api", "tcp.evil", "app", Unusable::Host),
            ("api", "tcp", "a b", Unusable::Host),
            ("", "", "192.0.2.1", Unusable::Host),
        ] {
            assert_eq!(
                Wanted::services(service, proto, name),
                Err(reason),
                "{service} {proto} {name}"
            );
        }
    }
}
