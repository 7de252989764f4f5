//! Options of `servers`.

use super::{
    Area::ServerOption,
    Support,
    SupportState::{Accepted, Active, Refused},
    row,
};

pub(super) const ROWS: &[Support] = &[
    row(ServerOption, "name", Active, ""),
    row(
        ServerOption,
        "timeouts",
        Active,
        "read_header, read_body, write, idle; read_body_idle with its rate; write_idle",
    ),
    row(
        ServerOption,
        "timeouts write_idle RATE",
        Accepted,
        "a response must go on within the time, however slowly",
    ),
    row(
        ServerOption,
        "timeouts write_max_chunk",
        Accepted,
        "what an upstream sends is passed on as it comes",
    ),
    row(
        ServerOption,
        "protocols",
        Active,
        "h3 is not served yet and says so",
    ),
    row(
        ServerOption,
        "listener_wrappers",
        Active,
        "proxy_protocol and tls; http_redirect is refused, since a listener that speaks TLS answers plain \
         HTTP with 400",
    ),
    row(ServerOption, "keepalive_interval", Active, ""),
    row(ServerOption, "keepalive_idle", Active, ""),
    row(ServerOption, "keepalive_count", Active, ""),
    row(
        ServerOption,
        "max_connections_per_client",
        Active,
        "Doorway's own: connections of one address (of IPv6, of one /64) that a listener has open at once; further ones \
         are closed. A balancer that does not speak the PROXY protocol counts as one client",
    ),
    row(
        ServerOption,
        "max_streams",
        Active,
        "Doorway's own: streams at once on one connection of HTTP/2, 250 if nothing is said",
    ),
    row(
        ServerOption,
        "max_control_frames",
        Active,
        "Doorway's own: `PER_SECOND [AT_ONCE]`, 1000 and twice as many; frames of HTTP/2 beyond those that requests and their \
         answers give reason for. A client that sends more is cut off",
    ),
    row(
        ServerOption,
        "max_stream_errors",
        Active,
        "Doorway's own: streams of one connection that may be reset for a fault of the client, 100 if nothing is said; then \
         it is cut off",
    ),
    row(ServerOption, "max_header_size", Active, "at least 8 KiB"),
    row(ServerOption, "trusted_proxies", Active, "`static` ranges"),
    row(ServerOption, "trusted_proxies_strict", Active, ""),
    row(
        ServerOption,
        "trusted_proxies_unix",
        Active,
        "peers on unix sockets are trusted to name the client",
    ),
    row(ServerOption, "client_ip_headers", Active, ""),
    row(
        ServerOption,
        "strict_sni_host",
        Active,
        "on by itself where `client_auth` asks clients for certificates; other hosts get 421",
    ),
    row(
        ServerOption,
        "metrics",
        Active,
        "write the global option `metrics` instead, as Caddy asks for too",
    ),
    row(ServerOption, "log_credentials", Active, ""),
    row(
        ServerOption,
        "trace",
        Accepted,
        "handlers are not logged one by one; `doorway explain` shows which of them a request takes",
    ),
    row(ServerOption, "expected_underscore_headers", Active, ""),
    row(ServerOption, "expected_dot_headers", Active, ""),
    row(
        ServerOption,
        "enable_full_duplex",
        Active,
        "requests and responses always flow at the same time",
    ),
    row(ServerOption, "0rtt", Active, "`off`, which is how it always is"),
    row(
        ServerOption,
        "packet_conn_wrappers",
        Refused,
        "HTTP/3 is not served yet, and Doorway has no plug-ins; remove it",
    ),
    row(
        ServerOption,
        "listener_wrappers http_redirect",
        Refused,
        "a listener that speaks TLS answers plain HTTP with 400; let clients come to the HTTP port, which is \
         redirected by itself",
    ),
];
