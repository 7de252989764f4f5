//! How to talk to upstreams.

use std::time::Duration;

use serde::Serialize;

use super::{ResolverAddress, UpstreamTls, nanos};

/// How to talk to upstreams; `protocol` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "protocol", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Transport {
    /// HTTP.
    Http(Box<HttpTransport>),
}

/// HTTP to upstreams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HttpTransport {
    /// Who resolves upstream names; `None` is the system's configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolver: Option<Resolver>,
    /// `Some`: TLS is spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<UpstreamTls>,
    /// Kept connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_alive: Option<KeepAlive>,
    /// `Some(false)`: the proxy never asks for a compressed answer by itself. Doorway never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<bool>,
    /// Connections to one upstream; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_conns_per_host: Option<u32>,
    /// A header that tells the upstream the client's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_protocol: Option<ProxyProtocolVersion>,
    /// A proxy to reach upstreams through; `None` is what the environment says in Caddy, and none in Doorway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_proxy: Option<NetworkProxy>,
    /// Limit for connecting; `None` is three seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub dial_timeout: Option<Duration>,
    /// The head start of IPv6 before IPv4 is tried too; `None` is 300 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dial_fallback_delay: Option<FallbackDelay>,
    /// Limit from the end of the request to the response's head; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub response_header_timeout: Option<Duration>,
    /// How long `100 Continue` is waited for before the body is sent; `None` is not at all.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub expect_continue_timeout: Option<Duration>,
    /// Limit of a response's head in bytes; `None` is 10 MiB in Caddy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_response_header_size: Option<u32>,
    /// Bytes of the buffer for writing; `None` is 4 KiB in Caddy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_buffer_size: Option<u32>,
    /// Bytes of the buffer for reading; `None` is 4 KiB in Caddy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_buffer_size: Option<u32>,
    /// Limit for each read; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub read_timeout: Option<Duration>,
    /// Limit for each write; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub write_timeout: Option<Duration>,
    /// HTTP versions; empty means 1.1, and 2 where TLS offers it. With [`HttpVersion::H2c`] among them,
    /// HTTP/2 is spoken without asking.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<HttpVersion>,
    /// The address that connections are made from; `None` leaves it to the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_address: Option<String>,
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
    /// The time between two probes of a silent connection by TCP; `None` is 30 seconds in Caddy.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub probe_interval: Option<Duration>,
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
    /// HTTP/3.
    #[serde(rename = "3")]
    Http3,
    /// HTTP/2 without TLS, by prior knowledge.
    #[serde(rename = "h2c")]
    H2c,
}

/// The version of the PROXY protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ProxyProtocolVersion {
    /// A line of text.
    V1,
    /// A binary header.
    V2,
}

/// A proxy to reach upstreams through; `from` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
#[non_exhaustive]
pub enum NetworkProxy {
    /// None, whatever the environment says.
    None {},
    /// This one.
    Url {
        /// Where it is, with placeholders.
        url: String,
    },
}

/// The head start of IPv6 before IPv4 is tried too, in nanoseconds; below zero, one address is tried after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct FallbackDelay(i64);

// === impl HttpVersion ===

impl HttpVersion {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "1.1" => Some(Self::Http11),
            "2" => Some(Self::Http2),
            "3" => Some(Self::Http3),
            "h2c" => Some(Self::H2c),
            _ => None,
        }
    }
}

// === impl ProxyProtocolVersion ===

impl ProxyProtocolVersion {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Self::V1),
            "v2" => Some(Self::V2),
            _ => None,
        }
    }
}

// === impl FallbackDelay ===

impl FallbackDelay {
    /// `nanos` nanoseconds. Zero stands for the default, which is no value of this type.
    #[must_use]
    pub fn new(nanos: i64) -> Option<Self> {
        (nanos != 0).then_some(Self(nanos))
    }

    /// The head start; `None` if one address is tried after the other.
    #[must_use]
    pub fn head_start(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }
}
