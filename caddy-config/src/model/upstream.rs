//! The reverse proxy: upstreams, choice, transport.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::{
    Headers, HostPort, IpRange, ResolverAddress, ResponseMatcher, Rewrite, Route, Status, http::nanos,
};

/// Forwards requests to one of several upstreams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReverseProxy {
    /// How to talk to the upstreams; `None` is HTTP/1.1 with the defaults of [`HttpTransport`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Which upstream is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancing: Option<LoadBalancing>,
    /// Fixed upstreams.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub upstreams: Vec<Upstream>,
    /// Upstreams that are found out for each request; they go before the fixed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_upstreams: Option<DynamicUpstreams>,
    /// How soon written bytes must leave. Doorway passes every byte on at once, which meets any value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_interval: Option<FlushInterval>,
    /// Peers whose forwarding headers are believed, beside those of the server.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted_proxies: Vec<IpRange>,
    /// Changes to the fields of the request sent and of the response received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Headers>,
    /// Changes to the request sent; the one that later handlers see stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<Rewrite>,
    /// What is done with certain responses instead of passing them on; the first that matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handle_response: Vec<ResponseHandler>,
}

/// What is done with certain responses of an upstream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResponseHandler {
    /// `match` in JSON; `None` is every response.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matcher: Option<ResponseMatcher>,
    /// The response is passed on with this status; `routes` are not looked at then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<Status>,
    /// These run instead of passing the response on, with the original request; what they leave unanswered goes on
    /// in the chain behind the proxy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

/// One fixed upstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Upstream {
    /// Where to connect; an empty host is the local machine.
    pub dial: HostPort,
}

/// Upstreams that are found out for each request; `source` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "source")]
#[non_exhaustive]
pub enum DynamicUpstreams {
    /// What the `doors_handler` before it in the chain chose.
    #[serde(rename = "doors_upstreams")]
    Doors {},
}

/// How soon written bytes must leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushInterval {
    /// At once; -1 in JSON.
    Immediate,
    /// After at most this long; zero leaves it to the proxy.
    Every(Duration),
}

/// How one of several upstreams is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LoadBalancing {
    /// `None` is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection_policy: Option<SelectionPolicy>,
}

/// The rule of choice; `policy` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "policy", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SelectionPolicy {
    /// Any available one, all equally likely.
    Random {},
}

/// How to talk to upstreams; `protocol` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "protocol", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Transport {
    /// HTTP.
    Http(HttpTransport),
}

/// HTTP to upstreams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HttpTransport {
    /// Who resolves upstream names; `None` is the system's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolver: Option<Resolver>,
    /// Kept connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_alive: Option<KeepAlive>,
    /// Limit for connecting; `None` is three seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub dial_timeout: Option<Duration>,
    /// Limit from the end of the request to the response's head; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub response_header_timeout: Option<Duration>,
    /// HTTP versions; empty means 1.1, and 2 where TLS offers it. With [`HttpVersion::H2c`] among them,
    /// HTTP/2 is spoken without asking.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<HttpVersion>,
}

/// Name servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resolver {
    /// Where to ask.
    pub addresses: Vec<ResolverAddress>,
}

/// Kept connections to upstreams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeepAlive {
    /// `Some(false)`: every request gets its own connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// How many idle connections in all; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_idle_conns: Option<u32>,
    /// How many idle connections per upstream; `None` is 32.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_idle_conns_per_host: Option<u32>,
    /// How long an idle connection is kept; `None` is two minutes.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub idle_timeout: Option<Duration>,
}

/// An HTTP version spoken to upstreams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub enum HttpVersion {
    /// HTTP/1.1.
    #[serde(rename = "1.1")]
    Http11,
    /// HTTP/2, agreed on in the TLS handshake.
    #[serde(rename = "2")]
    Http2,
    /// HTTP/2 without TLS, by prior knowledge.
    #[serde(rename = "h2c")]
    H2c,
}

// === impl HttpVersion ===

impl HttpVersion {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "1.1" => Some(Self::Http11),
            "2" => Some(Self::Http2),
            "h2c" => Some(Self::H2c),
            _ => None,
        }
    }
}

// === impl FlushInterval ===

impl Serialize for FlushInterval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Immediate => serializer.serialize_i64(-1),
            Self::Every(duration) => nanos(&Some(*duration), serializer),
        }
    }
}
