//! The reverse proxy: upstreams, choice, health, transport.

mod address;
mod balancing;
mod breaker;
mod consul;
mod dynamic;
mod health;
mod tls;
mod transport;

use std::time::Duration;

use serde::{Serialize, Serializer};

pub use self::{
    address::{UpstreamAddress, UpstreamAddressError},
    balancing::{
        CookiePolicy, FieldPolicy, KeyPolicy, LoadBalancing, QueryPolicy, RetryBudget, SelectionPolicy,
    },
    breaker::{BreakerRule, CircuitBreaker},
    consul::{ConsulLocality, ConsulTls, ConsulUpstreams},
    dynamic::{AUpstreams, DynamicUpstreams, IpVersions, SrvUpstreams},
    health::{ActiveChecks, HealthChecks, PassiveChecks},
    tls::{CaPool, Renegotiation, UpstreamTls},
    transport::{
        FallbackDelay, HttpTransport, HttpVersion, KeepAlive, NetworkProxy, ProxyProtocolVersion, Resolver,
        Transport,
    },
};
use super::{
    Headers, IpRange, MatcherSet, ResolverAddress, ResponseMatcher, Rewrite, Route, Status, http::nanos,
    is_false,
};

/// Forwards requests to one of several upstreams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReverseProxy {
    /// How to talk to the upstreams; `None` is HTTP/1.1 with the defaults of [`HttpTransport`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// When an upstream that fails is left alone for a while.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub circuit_breaker: Option<CircuitBreaker>,
    /// Which upstream is taken, and how often it is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancing: Option<LoadBalancing>,
    /// How it is found out which upstreams can be taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_checks: Option<HealthChecks>,
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
    /// How much of a request's body is read before it is sent; `None` is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_buffers: Option<BufferSize>,
    /// How much of a response's body is read before it is passed on; `None` is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_buffers: Option<BufferSize>,
    /// How long an upgraded connection may stay open; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub stream_timeout: Option<Duration>,
    /// How long upgraded connections outlive the configuration that they belong to; `None` is not at all in Caddy. In
    /// Doorway only the end of their listener ends them, after the grace period or this time, whichever is longer.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub stream_close_delay: Option<Duration>,
    /// Bytes of the buffers of an upgraded connection; `None` is 32 KiB in Caddy, and 8 KiB
    /// for each direction in Doorway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_buffer_size: Option<u32>,
    /// Changes to the request sent; the one that later handlers see stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<Rewrite>,
    /// What is done with certain responses instead of passing them on; the first that matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handle_response: Vec<ResponseHandler>,
    /// Whether each request to an upstream is logged.
    #[serde(skip_serializing_if = "is_false")]
    pub verbose_logs: bool,
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
    /// Where to connect.
    pub dial: UpstreamAddress,
    /// Requests in flight beyond which it is not chosen; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u32>,
}

/// How soon written bytes must leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushInterval {
    /// At once; -1 in JSON.
    Immediate,
    /// After at most this long; zero leaves it to the proxy.
    Every(Duration),
}

/// How much of a body is kept in memory before it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferSize {
    /// At most so many bytes.
    Bytes(u32),
    /// All of it; -1 in JSON.
    Unlimited,
}

// === impl Upstream ===

impl From<UpstreamAddress> for Upstream {
    fn from(dial: UpstreamAddress) -> Self {
        Self {
            dial,
            max_requests: None,
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

// === impl BufferSize ===

impl Serialize for BufferSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(bytes) => serializer.serialize_u32(*bytes),
            Self::Unlimited => serializer.serialize_i64(-1),
        }
    }
}
