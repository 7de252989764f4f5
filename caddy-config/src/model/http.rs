//! The HTTP application: servers, what they listen on, and their limits.

use std::{collections::BTreeMap, time::Duration};

use serde::{Serialize, Serializer};

use super::{
    ErrorRoutes, IpRange, ListenAddress, ListenerWrapper, Route, RouteSources, TlsConnectionPolicy, is_false,
    sorted,
};

/// `apps.http`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HttpApp {
    /// The port that plain HTTP is known by; `None` is 80. It decides which servers get TLS and redirects by
    /// themselves, not what is listened on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_port: Option<u16>,
    /// The port that HTTPS is known by; `None` is 443.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https_port: Option<u16>,
    /// How long a stop waits for requests in flight; nanoseconds in JSON. `None` and zero are no bound in Caddy.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub grace_period: Option<Duration>,
    /// How long a stop waits before listeners are closed, so that balancers see it coming; `None` is not at all.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub shutdown_delay: Option<Duration>,
    /// The servers by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, Server>,
    /// `Some`: requests are counted and measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<HttpMetrics>,
    /// Doorway's own: where hosts come from beside the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route_sources: Option<RouteSources>,
}

/// What requests are counted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HttpMetrics {
    /// Also by host, of those that sites are for; all others are one.
    #[serde(skip_serializing_if = "is_false")]
    pub per_host: bool,
    /// With `per_host`, every host is counted by itself. Clients choose what they send: it can be without end.
    #[serde(skip_serializing_if = "is_false")]
    pub observe_catchall_hosts: bool,
}

/// One server: a set of listeners with one list of routes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Server {
    /// Where it listens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listen: Vec<ListenAddress>,
    /// What stands between the sockets and HTTP.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "sorted")]
    pub listener_wrappers: Vec<ListenerWrapper>,
    /// Limit for reading one request's body; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub read_timeout: Option<Duration>,
    /// Limit for reading a request's head; `None` is one minute.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub read_header_timeout: Option<Duration>,
    /// How long a client may send nothing of a body that is waited for; `None` is one minute.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub read_idle_timeout: Option<Duration>,
    /// Bytes of a body that must come per second, on the average of that time; `None` is Doorway's own least rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_min_rate: Option<u32>,
    /// Limit for writing one response; `None` is no limit.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub write_timeout: Option<Duration>,
    /// How long a client may take nothing of a response; `None` is one minute.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub write_idle_timeout: Option<Duration>,
    /// Bytes of a response that must go per second, on the average of that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_min_rate: Option<u32>,
    /// Bytes that Caddy writes at once. Doorway writes what an upstream sends as it comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_write_chunk: Option<u64>,
    /// How long a kept-alive connection may wait for its next request; `None` is five minutes.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub idle_timeout: Option<Duration>,
    /// The time between two probes of a silent connection by TCP; `None` is 15 seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub keepalive_interval: Option<Duration>,
    /// The silence before the first probe; `None` is 15 seconds.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub keepalive_idle: Option<Duration>,
    /// The probes without answer after which a connection is closed; `None` is 9.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keepalive_count: Option<u32>,
    /// Doorway's own: how many connections one client may have open at each listener; `None` is any number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_connections_per_client: Option<u32>,
    /// Doorway's own: the most streams at once on one connection of HTTP/2; `None` is 250.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_streams: Option<u32>,
    /// Doorway's own: frames per second, on the average, that a client of HTTP/2 may send without its requests and their
    /// answers giving reason for them; `None` is 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_control_frames: Option<u32>,
    /// Doorway's own: how many of them may come at once; `None` is twice as many as in a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_control_frames_burst: Option<u32>,
    /// Doorway's own: streams that may be reset for a fault of the client before its connection is closed; `None` is 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_stream_errors: Option<u32>,
    /// Limit of a request's head in bytes; `None` is the server's own default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_header_bytes: Option<u64>,
    /// Whether a response may begin before the request's body was read. In Doorway it always may.
    #[serde(skip_serializing_if = "is_false")]
    pub enable_full_duplex: bool,
    /// Request fields with `_` in their names that are kept; a `*` at the end stands for any rest. All others are
    /// dropped, since upstreams may take `_` for `-`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected_underscore_headers: Vec<String>,
    /// The same for names with a dot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expected_dot_headers: Vec<String>,
    /// Tried in order, see [`Route`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// For requests that ended with an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorRoutes>,
    /// Routes that an [`Invoke`](super::Invoke) runs, by name. After reading, every name that is invoked is there,
    /// and none of them leads back to itself.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub named_routes: BTreeMap<String, Route>,
    /// How connections are encrypted. `None`: only as automatic HTTPS decides. `Some` makes every listener of
    /// the server a TLS one; the first policy that matches the handshake is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_connection_policies: Option<Vec<TlsConnectionPolicy>>,
    /// What of automatic HTTPS is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automatic_https: Option<AutomaticHttps>,
    /// Whether a request's host must be the name that its connection asked for; `None`: if a policy asks clients
    /// for certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict_sni_host: Option<bool>,
    /// Peers whose forwarding headers are believed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "sorted")]
    pub trusted_proxies: Option<IpSource>,
    /// Fields that carry the client's address, in order; empty means `X-Forwarded-For`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_ip_headers: Vec<String>,
    /// `true` (1 in JSON): the client is the rightmost address that no trusted proxy has; `false` (0): the
    /// leftmost valid one, which the client controls.
    #[serde(skip_serializing_if = "is_false", serialize_with = "zero_or_one")]
    pub trusted_proxies_strict: bool,
    /// Whether peers on unix sockets are trusted like those in `trusted_proxies`.
    #[serde(skip_serializing_if = "is_false")]
    pub trusted_proxies_unix: bool,
    /// Which sites are logged to which logger; `None` is no access log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logs: Option<ServerLogs>,
    /// HTTP versions on offer; empty means HTTP/1.1, HTTP/2 and HTTP/3.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protocols: Vec<Protocol>,
    /// HTTP versions on offer at each address of `listen`, in their order, where they differ from `protocols`;
    /// `None` is no difference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listen_protocols: Vec<Option<Vec<Protocol>>>,
    /// `Some(false)`: no early data of TLS. Doorway takes none anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_0rtt: Option<bool>,
    /// Doorway's own: whether the hosts of [`HttpApp::route_sources`] are served here, beside `routes`.
    #[serde(skip_serializing_if = "is_false")]
    pub route_sources: bool,
}

/// What of automatic HTTPS is off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AutomaticHttps {
    /// All of it: no certificates, no redirects, no TLS unless a policy says so.
    #[serde(skip_serializing_if = "is_false")]
    pub disable: bool,
    /// No redirects from HTTP.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_redirects: bool,
    /// No certificates are obtained.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_certificates: bool,
    /// Hosts that get neither certificates nor redirects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<String>,
    /// Hosts that get redirects, but no certificates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skip_certificates: Vec<String>,
    /// Certificates are obtained for names that a loaded one is good for too.
    #[serde(skip_serializing_if = "is_false")]
    pub ignore_loaded_certificates: bool,
}

/// Where a list of addresses comes from; `source` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "source", rename_all = "snake_case")]
#[non_exhaustive]
pub enum IpSource {
    /// Written in the configuration.
    Static {
        /// Networks and single addresses.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        ranges: Vec<IpRange>,
    },
}

/// An HTTP version that a server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Protocol {
    /// HTTP/1.1 (and 1.0).
    H1,
    /// HTTP/2 over TLS.
    H2,
    /// HTTP/2 without TLS, by prior knowledge.
    H2c,
    /// HTTP/3.
    H3,
}

/// Which requests of a server are logged, and to which logger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServerLogs {
    /// The logger of requests that no entry of `logger_names` names; `None` is the default logger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_logger_name: Option<String>,
    /// Host (one left-most `*` label allowed) to loggers; the empty name is the default logger.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub logger_names: BTreeMap<String, Vec<String>>,
    /// Hosts whose requests are not logged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skip_hosts: Vec<String>,
    /// Whether requests to hosts without an entry in `logger_names` are not logged.
    #[serde(skip_serializing_if = "is_false")]
    pub skip_unmapped_hosts: bool,
    /// Whether `Cookie`, `Set-Cookie`, `Authorization` and `Proxy-Authorization` are logged as they are; else
    /// only that they were there.
    #[serde(skip_serializing_if = "is_false")]
    pub should_log_credentials: bool,
    /// Whether each handler is logged as it runs, at level debug.
    #[serde(skip_serializing_if = "is_false")]
    pub trace: bool,
}

// === impl Protocol ===

impl Protocol {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "h1" => Some(Self::H1),
            "h2" => Some(Self::H2),
            "h2c" => Some(Self::H2c),
            "h3" => Some(Self::H3),
            _ => None,
        }
    }
}

/// Durations are integers of nanoseconds, as Caddy prints them.
pub(super) fn nanos<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(duration) => serializer.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)),
        None => serializer.serialize_none(),
    }
}

/// A switch that Caddy spells as a number.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn zero_or_one<S: Serializer>(value: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(u8::from(*value))
}
