//! What the pipeline knows of one request, from its head checks to its answer.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use http::header::{HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Request};
use http_body::Body as _;

use crate::body::Body;

/// One request on its way through the routes.
#[derive(Debug)]
pub(crate) struct Context {
    /// The head; filters of the request phase change it.
    pub(crate) parts: Parts,
    /// The host as the client gave it, with its port.
    pub(crate) host: Option<HeaderValue>,
    /// The direct peer; `None` if it came by a unix socket.
    pub(crate) peer: Option<SocketAddr>,
    /// The client behind trusted proxies, else the peer.
    pub(crate) client_ip: Option<IpAddr>,
    /// Whether the client speaks TLS to the proxy.
    pub(crate) tls: bool,
    /// Response fields that were set on the way in; the answer's own are added to them.
    pub(crate) early: HeaderMap,
}

/// How a peer is written down: its address, or `@` if it came by a unix socket and has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerName(pub(crate) Option<SocketAddr>);

/// Methods that are defined to change nothing (RFC 9110, section 9.2.1): sending one again does no harm.
const SAFE: [Method; 4] = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE];

/// Whether sending `request` twice is harmless and possible: it changes nothing and has no body.
pub(crate) fn may_repeat(request: &Request<Body>) -> bool {
    SAFE.contains(request.method()) && request.body().is_end_stream()
}

// === impl PeerName ===

impl fmt::Display for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("@"),
        }
    }
}

// === impl Context ===

impl Context {
    /// The path as it came, dot segments resolved.
    pub(crate) fn path(&self) -> &str {
        self.parts.uri.path()
    }

    /// The query without its `?`.
    pub(crate) fn query(&self) -> Option<&str> {
        self.parts.uri.query()
    }

    /// The host with its port, as text.
    pub(crate) fn host_port(&self) -> &str {
        self.host
            .as_ref()
            .and_then(|host| host.to_str().ok())
            .unwrap_or_default()
    }

    /// The host as routes compare it: no port, no brackets, no trailing dot, lower case.
    pub(crate) fn host_name(&self) -> Cow<'_, str> {
        self.host.as_ref().map_or(Cow::Borrowed(""), host_name)
    }
}

/// The host as routes compare it: without port and trailing dot, in lower case.
pub(crate) fn host_name(host: &HeaderValue) -> Cow<'_, str> {
    let text = std::str::from_utf8(host.as_bytes()).unwrap_or_default();
    let name = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => text.split_once(':').map_or(text, |(name, _)| name),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_safe_request_without_a_body_can_be_sent_again() {
        let request = |method: &str, body| Request::builder().method(method).body(body).unwrap();
        assert!(may_repeat(&request("GET", Body::empty())));
        assert!(!may_repeat(&request("GET", Body::full("x"))));
        for method in ["POST", "PUT", "DELETE", "PATCH", "X"] {
            assert!(!may_repeat(&request(method, Body::empty())), "{method}");
        }
    }

    #[test]
    fn hosts_that_mean_the_same_route_the_same() {
        for host in ["A.Test", "a.test:80", "a.test.", "a.test.:80", "a.test:"] {
            assert_eq!(
                host_name(&HeaderValue::from_str(host).unwrap()),
                "a.test",
                "{host}"
            );
        }
        assert_eq!(
            host_name(&HeaderValue::from_static("[2001:DB8::1]:80")),
            "2001:db8::1"
        );
    }
}
