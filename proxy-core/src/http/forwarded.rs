//! Who the client is, and what upstreams are told of it.

use std::net::IpAddr;

use http::Version;
use http::header::{self, Entry, HeaderMap, HeaderName, HeaderValue};

use super::connection::Connection;
use super::marks::Marks;
use crate::ip_set::IpSet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
pub(crate) const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The most elements of a forwarding field that are looked at; a longer list ends the search for a client.
const MAX_ELEMENTS: usize = 64;

/// How many proxies of this kind a request may come through.
const MAX_HOPS: usize = 8;

/// Which peers are trusted proxies.
#[derive(Debug)]
pub(crate) struct Trusted {
    pub(crate) networks: IpSet,
    /// Those that come by a unix socket.
    pub(crate) unix: bool,
}

/// The client of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// The address that the request is said to come from; `None` if it came by a unix socket.
    pub(crate) ip: Option<IpAddr>,
    /// Whether the direct peer is a trusted proxy.
    pub(crate) via_trusted_proxy: bool,
}

// === the client ===

/// Finds the client: the direct peer, or behind trusted proxies the first address from the right that is
/// none of them. What cannot be read ends the search: the last address that was vouched for counts.
pub(crate) fn client(
    connection: &Connection,
    headers: &HeaderMap,
    trusted: &Trusted,
    fields: &[HeaderName],
) -> Client {
    let peer = connection.peer().map(|peer| peer.ip());
    if !peer.map_or(trusted.unix, |peer| trusted.networks.contains(peer)) {
        return Client {
            ip: peer,
            via_trusted_proxy: false,
        };
    }
    let named = fields.iter().find(|field| headers.contains_key(*field));
    let ip = named.map_or(peer, |field| from_right(headers, field, &trusted.networks, peer));
    Client {
        ip,
        via_trusted_proxy: true,
    }
}

fn from_right(
    headers: &HeaderMap,
    field: &HeaderName,
    trusted: &IpSet,
    peer: Option<IpAddr>,
) -> Option<IpAddr> {
    let mut vouched = peer;
    let lines: Vec<&HeaderValue> = headers.get_all(field).iter().collect();
    let elements = lines
        .iter()
        .rev()
        .flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
    for element in elements.take(MAX_ELEMENTS) {
        let Some(ip) = element_ip(element.trim_ascii()) else {
            return vouched;
        };
        if !trusted.contains(ip) {
            return Some(ip);
        }
        vouched = Some(ip);
    }
    vouched
}

/// Reads `1.2.3.4`, `1.2.3.4:5`, `::1`, `[::1]` and `[::1]:5`.
fn element_ip(element: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(element).ok()?;
    let ip = text
        .parse()
        .ok()
        .or_else(|| {
            text.parse()
                .ok()
                .map(|address: std::net::SocketAddr| address.ip())
        })
        .or_else(|| {
            text.strip_prefix('[')?
                .strip_suffix(']')?
                .parse()
                .ok()
                .map(IpAddr::V6)
        });
    ip.map(|ip| ip.to_canonical())
}

// === what upstreams are told ===

/// Fields that an upstream is sent beside those of the request.
#[derive(Debug, Default)]
pub(crate) struct Added(Vec<(HeaderName, HeaderValue)>);

// === impl Added ===

impl Added {
    /// X-Forwarded-For, -Proto and -Host, and this proxy in Via (RFC 9110, section 7.6.3). What a peer that is no
    /// trusted proxy says of the client is removed from `headers`; what a trusted one says stays and is completed.
    /// `received` is the version that the request came in.
    pub(crate) fn to(
        headers: &mut HeaderMap,
        connection: &Connection,
        client: &Client,
        host: Option<&HeaderValue>,
        marks: Marks,
        received: Version,
    ) -> Self {
        let mut added = Vec::with_capacity(4);
        let proto = HeaderValue::from_static(if connection.is_tls() { "https" } else { "http" });
        if client.via_trusted_proxy {
            if let Some(peer) = connection.peer_ip() {
                append_peer(headers, peer);
            }
            headers.entry(X_FORWARDED_PROTO).or_insert(proto);
            if let (Entry::Vacant(entry), Some(host)) = (headers.entry(X_FORWARDED_HOST), host) {
                entry.insert(host.clone());
            }
        } else {
            if marks.any(Marks::FORWARDED) {
                // Servers that read these would believe whoever sends them.
                for name in [
                    header::FORWARDED,
                    X_REAL_IP,
                    X_FORWARDED_FOR,
                    X_FORWARDED_PROTO,
                    X_FORWARDED_HOST,
                ] {
                    headers.remove(name);
                }
            }
            // As Caddy: of a client without an address nothing is said.
            if let Some(peer) = connection.peer_ip() {
                added.push((X_FORWARDED_FOR, peer.clone()));
                added.push((X_FORWARDED_PROTO, proto));
                added.extend(host.map(|host| (X_FORWARDED_HOST, host.clone())));
            }
        }
        added.push((header::VIA, HeaderValue::from_static(hop(received))));
        Self(added)
    }

    /// Puts them among `headers`, for those who change them there.
    pub(crate) fn move_into(&mut self, headers: &mut HeaderMap) {
        for (name, value) in self.0.drain(..) {
            headers.append(name, value);
        }
    }

    /// The fields, in their order.
    pub(crate) fn fields(&self) -> &[(HeaderName, HeaderValue)] {
        &self.0
    }
}

/// This proxy in Via: the version of the request that it received, and its name.
const fn hop(received: Version) -> &'static str {
    match received {
        Version::HTTP_10 => "1.0 doorway",
        Version::HTTP_2 => "2.0 doorway",
        Version::HTTP_3 => "3.0 doorway",
        _ => "1.1 doorway",
    }
}

/// Whether `name` could be taken for one of the forwarding fields by a server that treats `_` or `.` as
/// `-`. Such fields are dropped, whoever sends them.
pub(crate) fn is_alias(name: &HeaderName) -> bool {
    name.as_str().bytes().any(|byte| byte == b'_' || byte == b'.')
}

/// Whether the request came through so many proxies of this kind that it must be going round in circles.
pub(crate) fn is_looping(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::VIA).iter();
    let hops = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    hops.filter(|hop| hop.trim_ascii().ends_with(b" doorway")).count() >= MAX_HOPS
}

fn append_peer(headers: &mut HeaderMap, peer: &HeaderValue) {
    let mut joined = Vec::new();
    for value in headers.get_all(X_FORWARDED_FOR) {
        joined.extend_from_slice(value.as_bytes());
        joined.extend_from_slice(b", ");
    }
    joined.extend_from_slice(peer.as_bytes());
    if let Ok(value) = HeaderValue::from_maybe_shared(bytes::Bytes::from(joined)) {
        headers.insert(X_FORWARDED_FOR, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(peer: &str) -> Connection {
        Connection::new(peer.parse().unwrap(), false)
    }

    fn trusted() -> Trusted {
        Trusted {
            networks: IpSet::new(&["10.0.0.0/8".parse().unwrap()]),
            unix: false,
        }
    }

    #[test]
    fn a_peer_on_a_unix_socket_names_the_client_only_if_it_is_trusted() {
        for (unix, named, ip) in [
            (false, &["7.7.7.7"][..], None),
            (true, &["7.7.7.7"], "7.7.7.7".parse().ok()),
            (true, &["7.7.7.7, 10.1.1.1"], "7.7.7.7".parse().ok()),
            (true, &[], None),
        ] {
            let trusted = Trusted { unix, ..trusted() };
            let found = client(
                &Connection::local(false),
                &xff(named),
                &trusted,
                &[X_FORWARDED_FOR],
            );
            let expected = Client {
                ip,
                via_trusted_proxy: unix,
            };
            assert_eq!(found, expected, "{named:?}");
        }
    }

    fn xff(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(X_FORWARDED_FOR, line.parse().unwrap());
        }
        headers
    }

    #[test]
    fn the_client_is_the_first_address_from_the_right_that_is_no_trusted_proxy() {
        let cases: [(&[&str], &str); 9] = [
            (&["6.6.6.6, 7.7.7.7, 10.1.1.1"], "7.7.7.7"),
            (&["6.6.6.6", "7.7.7.7, 10.1.1.1"], "7.7.7.7"),
            (&["7.7.7.7:4711"], "7.7.7.7"),
            (&["[2001:db8::1]:80"], "2001:db8::1"),
            (&["[2001:db8::1]"], "2001:db8::1"),
            (&["6.6.6.6, unknown, 10.1.1.1"], "10.1.1.1"),
            (&["6.6.6.6,, 10.1.1.1"], "10.1.1.1"),
            (&["garbage"], "10.0.0.9"),
            (&["10.2.2.2, 10.1.1.1"], "10.2.2.2"),
        ];
        for (lines, expected) in cases {
            let found = client(
                &connection("10.0.0.9:1"),
                &xff(lines),
                &trusted(),
                &[X_FORWARDED_FOR],
            );
            assert_eq!(found.ip, expected.parse().ok(), "{lines:?}");
        }
    }

    #[test]
    fn an_ipv4_mapped_network_holds_ipv4_addresses() {
        let set = IpSet::new(&["::ffff:10.0.0.0/104".parse().unwrap()]);
        assert!(set.contains("10.1.2.3".parse().unwrap()));
        assert!(!set.contains("11.1.2.3".parse().unwrap()));
    }

    #[test]
    fn a_peer_that_is_not_trusted_cannot_name_a_client() {
        let found = client(
            &connection("9.9.9.9:1"),
            &xff(&["6.6.6.6"]),
            &trusted(),
            &[X_FORWARDED_FOR],
        );
        assert_eq!(
            found,
            Client {
                ip: "9.9.9.9".parse().ok(),
                via_trusted_proxy: false
            }
        );
    }

    #[test]
    fn ten_thousand_elements_cost_no_more_than_the_first_ones() {
        let many = vec!["10.1.1.1"; 10_000].join(",");
        let found = client(
            &connection("10.0.0.9:1"),
            &xff(&[&many]),
            &trusted(),
            &[X_FORWARDED_FOR],
        );
        assert_eq!(found.ip, "10.1.1.1".parse().ok());
    }

    /// The fields that an upstream sees.
    fn seen(mut headers: HeaderMap, client: &Client, host: Option<&HeaderValue>, peer: &str) -> HeaderMap {
        let marks = Marks::of(&headers);
        let version = Version::HTTP_2;
        let added = Added::to(&mut headers, &connection(peer), client, host, marks, version);
        for (name, value) in added.fields() {
            headers.append(name, value.clone());
        }
        headers
    }

    #[test]
    fn a_request_that_goes_round_in_circles_is_known_by_its_hops() {
        let mut headers = HeaderMap::new();
        headers.append(
            header::VIA,
            HeaderValue::from_static("1.1 other, 1.1 doorway, 2.0 cdn"),
        );
        let client = Client {
            ip: "9.9.9.9".parse().ok(),
            via_trusted_proxy: false,
        };
        for _ in 1..MAX_HOPS {
            assert!(!is_looping(&headers));
            headers = seen(headers, &client, None, "9.9.9.9:1");
        }
        assert!(is_looping(&headers));
        assert!(
            headers
                .get_all(header::VIA)
                .iter()
                .skip(1)
                .all(|hop| hop == "2.0 doorway")
        );
    }

    #[test]
    fn an_untrusted_peers_forwarding_fields_are_replaced() {
        let mut headers = xff(&["6.6.6.6"]);
        headers.insert(X_REAL_IP, HeaderValue::from_static("6.6.6.6"));
        headers.insert(header::FORWARDED, HeaderValue::from_static("for=6.6.6.6"));
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static("https"));
        let client = Client {
            ip: "9.9.9.9".parse().ok(),
            via_trusted_proxy: false,
        };
        let headers = seen(
            headers,
            &client,
            Some(&HeaderValue::from_static("a.test")),
            "9.9.9.9:1",
        );

        let all = |name| headers.get_all(name).iter().collect::<Vec<_>>();
        assert_eq!(all(X_FORWARDED_FOR), ["9.9.9.9"]);
        assert_eq!(all(X_FORWARDED_PROTO), ["http"]);
        assert_eq!(all(X_FORWARDED_HOST), ["a.test"]);
        assert!(!headers.contains_key(X_REAL_IP) && !headers.contains_key(header::FORWARDED));
    }

    #[test]
    fn a_trusted_peers_forwarding_fields_are_kept_and_continued() {
        let mut headers = xff(&["6.6.6.6", "7.7.7.7"]);
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static("https"));
        let client = Client {
            ip: "7.7.7.7".parse().ok(),
            via_trusted_proxy: true,
        };
        let headers = seen(headers, &client, None, "10.0.0.9:1");

        assert_eq!(headers.get_all(X_FORWARDED_FOR).iter().count(), 1);
        assert_eq!(headers[X_FORWARDED_FOR], "6.6.6.6, 7.7.7.7, 10.0.0.9");
        assert_eq!(headers[X_FORWARDED_PROTO], "https");
    }
}
