//! The body of the fuzz target `forwarded`: who the client is, and what an upstream is told of it.
//!
//! The first byte of an input says who asks, by its bits: a trusted proxy, over a unix socket, over TLS, in HTTP/2. The
//! lines after the first are its fields.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::LazyLock;

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Request, Version};

use super::fields::{lines, read, values};
use crate::forward::outgoing;
use crate::http::connection::Connection;
use crate::http::forwarded::{self, Client, Trusted, X_FORWARDED_PROTO};
use crate::http::marks::Marks;
use crate::ip_set::IpSet;

/// A trusted proxy, and one of others.
const PROXY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9));
const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// This proxy, as the next one sees it.
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 10));

/// What a client puts in front of its list to be taken for somebody else.
const FORGED: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 66));

/// Lists that are longer may be read in part.
const SHORT: usize = 60;

const FOR: &str = "x-forwarded-for";

/// The fields that name the client, in order of preference.
static NAMING: LazyLock<[HeaderName; 2]> =
    LazyLock::new(|| [HeaderName::from_static("x-client"), HeaderName::from_static(FOR)]);

/// Who asks.
#[derive(Clone, Copy)]
struct Peer {
    is_trusted: bool,
    is_local: bool,
    speaks_tls: bool,
    version: Version,
}

pub(super) fn check(data: &[u8]) {
    let mut lines = lines(data);
    let Some(peer) = lines.next().and_then(<[u8]>::first).map(|byte| Peer::of(*byte)) else {
        return;
    };
    let fields = read(lines);
    let connection = peer.connection();
    let client = client_of(&connection, &fields, peer.is_trusted);
    check_client(peer, client, &fields);
    let told = told(peer, &connection, &client, &fields);
    check_told(peer, &fields, &told);
    check_next(peer, client, &fields, &told);
}

fn client_of(connection: &Connection, fields: &HeaderMap, trusts_unix: bool) -> Client {
    let networks = ["10.0.0.0/8", "fd00::/8"].map(|net| net.parse().expect("the network is one"));
    let trusted = Trusted {
        networks: IpSet::new(&networks),
        unix: trusts_unix,
    };
    forwarded::client(connection, fields, &trusted, &*NAMING)
}

/// Only a trusted proxy names clients, and what stands left of the one that it names changes nothing.
fn check_client(peer: Peer, client: Client, fields: &HeaderMap) {
    assert_eq!(client.via_trusted_proxy, peer.is_trusted);
    let naming = NAMING.iter().find(|name| fields.contains_key(*name));
    let Some(naming) = naming.filter(|_| peer.is_trusted) else {
        assert_eq!(client.ip, peer.ip(), "nobody else may name a client");
        return;
    };
    let named = elements(fields, naming.as_str());
    let addresses: Vec<_> = named.iter().map(|element| address(element)).collect();
    if client.ip != peer.ip() {
        assert!(addresses.contains(&client.ip), "{client:?} of {fields:?}");
    }
    let mut forged = fields.clone();
    let first = values(fields, naming.as_str())
        .first()
        .copied()
        .unwrap_or_default();
    let first = [FORGED.to_string().as_bytes(), b", ", first].concat();
    let rest = values(fields, naming.as_str()).into_iter().skip(1);
    forged.remove(naming);
    for value in std::iter::once(first.as_slice()).chain(rest) {
        let value = HeaderValue::from_bytes(value).expect("it was one before");
        forged.append(naming, value);
    }
    let fooled = client_of(&peer.connection(), &forged, true).ip;
    let all_trusted = addresses.iter().all(|address| address.is_some_and(is_trusted));
    if !all_trusted {
        assert_eq!(fooled, client.ip, "{forged:?}");
    }
}

/// What an upstream gets.
fn told(peer: Peer, connection: &Connection, client: &Client, fields: &HeaderMap) -> HeaderMap {
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.headers = fields.clone();
    parts.version = peer.version;
    let marks = Marks::of(fields);
    let host = HeaderValue::from_static("a.test");
    let mut added = outgoing::prepare(&mut parts, connection, Some(client), Some(&host), None, marks);
    added.move_into(&mut parts.headers);
    parts.headers
}

fn check_told(peer: Peer, fields: &HeaderMap, told: &HeaderMap) {
    let all = |name: &str| values(told, name);
    let scheme: &[u8] = if peer.speaks_tls { b"https" } else { b"http" };
    let ip = peer.ip().map(|ip| ip.to_string().into_bytes());
    if peer.is_trusted {
        assert!(!all(X_FORWARDED_PROTO.as_str()).is_empty());
        assert!(!all("x-forwarded-host").is_empty());
        if let Some(ip) = &ip {
            let lines = all(FOR);
            assert_eq!(lines.len(), 1, "{told:?}");
            assert!(lines.iter().all(|line| line.ends_with(ip)), "{told:?}");
        }
    } else {
        let only = |name: &str, value: &[u8]| {
            let wanted: Vec<_> = ip.iter().map(|_| value).collect();
            assert_eq!(all(name), wanted, "{name} of a stranger");
        };
        only(FOR, ip.as_deref().unwrap_or_default());
        only(X_FORWARDED_PROTO.as_str(), scheme);
        only("x-forwarded-host", b"a.test");
        for name in ["forwarded", "x-real-ip"] {
            assert_eq!(all(name).len(), 0, "{name} of a stranger");
        }
    }
    let (before, after) = (values(fields, "via"), all("via"));
    if !fields.contains_key("connection") {
        assert_eq!(after.split_last().map(|(_, rest)| rest), Some(before.as_slice()));
    }
    let hop: &[u8] = if peer.version == Version::HTTP_2 {
        b"2.0 doorway"
    } else {
        b"1.1 doorway"
    };
    assert_eq!(after.last(), Some(&hop));
}

/// A proxy behind this one, which trusts it, sees the same client.
fn check_next(peer: Peer, client: Client, fields: &HeaderMap, told: &HeaderMap) {
    // A field that a Connection field takes away, a field of another's, and long lists may be read otherwise there.
    let plain = !fields.contains_key("connection") && !fields.contains_key("x-client");
    if peer.is_local || !plain || elements(fields, FOR).len() > SHORT {
        return;
    }
    let here = Connection::new(SocketAddr::new(HERE, 1), false);
    assert_eq!(client_of(&here, told, true).ip, client.ip, "{told:?}");
}

fn elements(fields: &HeaderMap, name: &str) -> Vec<Vec<u8>> {
    let lines = values(fields, name).join(&b","[..]);
    let elements = lines.split(|byte| *byte == b',');
    elements.map(|element| element.trim_ascii().to_vec()).collect()
}

/// The address that an element names, with a port or without.
fn address(element: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(element).ok()?;
    let inner = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inner, port)) => {
            let good = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
            inner.parse().ok().filter(|ip: &IpAddr| good && ip.is_ipv6())
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') => host.parse().ok().filter(|_| is_port(port)),
            _ => text.parse().ok(),
        },
    };
    inner.map(|ip| ip.to_canonical())
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

fn is_trusted(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets().starts_with(&[10]),
        IpAddr::V6(ip) => ip.octets().starts_with(&[0xfd]),
    }
}

// === impl Peer ===

impl Peer {
    fn of(byte: u8) -> Self {
        Self {
            is_trusted: byte & 1 != 0,
            is_local: byte & 2 != 0,
            speaks_tls: byte & 4 != 0,
            version: if byte & 8 == 0 {
                Version::HTTP_11
            } else {
                Version::HTTP_2
            },
        }
    }

    fn ip(self) -> Option<IpAddr> {
        let ip = if self.is_trusted { PROXY } else { STRANGER };
        (!self.is_local).then_some(ip)
    }

    fn connection(self) -> Connection {
        match self.ip() {
            Some(ip) => Connection::new(SocketAddr::new(ip, 1), self.speaks_tls),
            None => Connection::local(self.speaks_tls),
        }
    }
}
