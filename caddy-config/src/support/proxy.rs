//! Options of `reverse_proxy` and of its transport.

use super::{
    Area::{ReverseProxy, Transport as Http},
    Support,
    SupportState::{Accepted, Active, Pending, Refused},
    row,
};

/// Why options of checks change nothing yet.
const NO_CHECKS: &str = "upstreams are not checked yet: one that does not answer is found out by requests";

/// Why what upstreams did before does not count yet.
const NO_PASSIVE: &str = "failures are not counted yet: every request may choose every upstream";

/// Why options of retries change nothing yet.
const NO_RETRIES: &str = "a request is not sent again yet, but where no byte of it was sent";

/// Why TLS options have to wait.
const NO_TLS: &str = "TLS to upstreams is not there yet; write http:// if the network between is trusted";

/// Why policies change nothing yet.
const RANDOM: &str = "upstreams are chosen at random yet";

/// What could be a matter of trust, and so is not passed over.
const STICKY: &str = "a client is not led to the same upstream each time yet: upstreams are chosen at random";

pub(super) const ROWS: &[Support] = &[
    row(
        ReverseProxy,
        "to",
        Active,
        "host, host:port, http://, h2c://, port ranges, [::1]",
    ),
    row(ReverseProxy, "to https://", Pending, NO_TLS),
    row(
        ReverseProxy,
        "to unix/",
        Pending,
        "unix sockets of upstreams are not dialled yet; let the upstream listen on 127.0.0.1",
    ),
    row(
        ReverseProxy,
        "to {placeholder}",
        Pending,
        "placeholders in upstreams are not filled in yet; name each upstream, and choose with matchers",
    ),
    row(ReverseProxy, "dynamic", Active, "`doors_upstreams`"),
    row(ReverseProxy, "dynamic_upstreams", Active, "`doors_upstreams`"),
    row(
        ReverseProxy,
        "dynamic a",
        Pending,
        "write the name as an upstream: its addresses are followed, and one of them is chosen at random",
    ),
    row(
        ReverseProxy,
        "dynamic srv",
        Pending,
        "SRV records are not followed yet; write host:port",
    ),
    row(
        ReverseProxy,
        "dynamic multi",
        Pending,
        "several sources are not joined yet; write all of them as upstreams",
    ),
    row(ReverseProxy, "lb_policy", Active, "`random`"),
    row(ReverseProxy, "lb_policy random", Active, ""),
    row(ReverseProxy, "lb_policy random_choose", Accepted, RANDOM),
    row(ReverseProxy, "lb_policy first", Accepted, RANDOM),
    row(ReverseProxy, "lb_policy round_robin", Accepted, RANDOM),
    row(ReverseProxy, "lb_policy weighted_round_robin", Accepted, RANDOM),
    row(ReverseProxy, "lb_policy least_conn", Accepted, RANDOM),
    row(ReverseProxy, "lb_policy ip_hash", Accepted, STICKY),
    row(ReverseProxy, "lb_policy client_ip_hash", Accepted, STICKY),
    row(ReverseProxy, "lb_policy uri_hash", Accepted, STICKY),
    row(ReverseProxy, "lb_policy query", Accepted, STICKY),
    row(ReverseProxy, "lb_policy header", Accepted, STICKY),
    row(ReverseProxy, "lb_policy cookie", Accepted, STICKY),
    row(ReverseProxy, "lb_retries", Accepted, NO_RETRIES),
    row(ReverseProxy, "lb_try_duration", Accepted, NO_RETRIES),
    row(ReverseProxy, "lb_try_interval", Accepted, NO_RETRIES),
    row(ReverseProxy, "lb_retry_match", Accepted, NO_RETRIES),
    row(ReverseProxy, "health_uri", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_path", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_port", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_upstream", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_method", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_request_body", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_headers", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_follow_redirects", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_interval", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_timeout", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_passes", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_fails", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_status", Accepted, NO_CHECKS),
    row(ReverseProxy, "health_body", Accepted, NO_CHECKS),
    row(ReverseProxy, "fail_duration", Accepted, NO_PASSIVE),
    row(ReverseProxy, "max_fails", Accepted, NO_PASSIVE),
    row(ReverseProxy, "unhealthy_status", Accepted, NO_PASSIVE),
    row(ReverseProxy, "unhealthy_latency", Accepted, NO_PASSIVE),
    row(
        ReverseProxy,
        "unhealthy_request_count",
        Accepted,
        "requests to one upstream are not limited yet",
    ),
    row(
        ReverseProxy,
        "flush_interval",
        Active,
        "every byte is passed on at once, which meets any value",
    ),
    row(
        ReverseProxy,
        "request_buffers",
        Accepted,
        "request bodies are passed on as they come",
    ),
    row(
        ReverseProxy,
        "response_buffers",
        Accepted,
        "response bodies are passed on as they come",
    ),
    row(
        ReverseProxy,
        "stream_timeout",
        Accepted,
        "streams stay open as long as both sides want",
    ),
    row(
        ReverseProxy,
        "stream_close_delay",
        Active,
        "streams of unchanged sites outlive a reload anyway",
    ),
    row(
        ReverseProxy,
        "stream_buffer_size",
        Accepted,
        "the size of buffers is Doorway's own",
    ),
    row(
        ReverseProxy,
        "trusted_proxies",
        Active,
        "beside those of the server",
    ),
    row(ReverseProxy, "header_up", Active, ""),
    row(ReverseProxy, "header_down", Active, ""),
    row(ReverseProxy, "method", Active, ""),
    row(ReverseProxy, "rewrite", Active, ""),
    row(ReverseProxy, "handle_response", Active, ""),
    row(ReverseProxy, "replace_status", Active, ""),
    row(
        ReverseProxy,
        "verbose_logs",
        Accepted,
        "requests to upstreams have no lines of their own",
    ),
    row(ReverseProxy, "transport", Active, "`http`"),
    row(
        ReverseProxy,
        "transport fastcgi",
        Refused,
        "Doorway does not speak FastCGI; run a web server beside PHP and `reverse_proxy` to it",
    ),
    row(
        ReverseProxy,
        "buffer_requests",
        Refused,
        "Caddy has dropped it; write `request_buffers`",
    ),
    row(
        ReverseProxy,
        "buffer_responses",
        Refused,
        "Caddy has dropped it; write `response_buffers`",
    ),
    row(
        ReverseProxy,
        "max_buffer_size",
        Refused,
        "Caddy has dropped it; write `request_buffers` and `response_buffers`",
    ),
];

pub(super) const TRANSPORT: &[Support] = &[
    row(Http, "dial_timeout", Active, ""),
    row(
        Http,
        "dial_fallback_delay",
        Accepted,
        "addresses of one name are tried one after the other",
    ),
    row(Http, "response_header_timeout", Active, ""),
    row(
        Http,
        "expect_continue_timeout",
        Accepted,
        "what the client expects is passed on, and so is the answer",
    ),
    row(
        Http,
        "read_timeout",
        Accepted,
        "an upstream that falls silent is not cut off",
    ),
    row(
        Http,
        "write_timeout",
        Accepted,
        "an upstream that takes nothing is not cut off",
    ),
    row(
        Http,
        "read_buffer",
        Accepted,
        "the size of buffers is Doorway's own",
    ),
    row(
        Http,
        "write_buffer",
        Accepted,
        "the size of buffers is Doorway's own",
    ),
    row(
        Http,
        "max_response_header",
        Accepted,
        "the limit of an upstream's head is Doorway's own",
    ),
    row(Http, "keepalive", Active, ""),
    row(
        Http,
        "keepalive_interval",
        Accepted,
        "connections are probed every 15 seconds",
    ),
    row(
        Http,
        "keepalive_idle_conns",
        Accepted,
        "idle connections are limited to each upstream, not in all",
    ),
    row(Http, "keepalive_idle_conns_per_host", Active, ""),
    row(
        Http,
        "max_conns_per_host",
        Accepted,
        "connections to one upstream are not limited yet",
    ),
    row(
        Http,
        "compression",
        Active,
        "`off`, which is how it always is: what client and upstream agree on is passed on",
    ),
    row(Http, "versions", Active, "1.1 or h2c; 2 only where TLS offers it"),
    row(
        Http,
        "versions 3",
        Pending,
        "HTTP/3 to upstreams is not there; leave the option out",
    ),
    row(Http, "tls", Pending, NO_TLS),
    row(Http, "tls_client_auth", Pending, NO_TLS),
    row(Http, "tls_insecure_skip_verify", Pending, NO_TLS),
    row(Http, "tls_curves", Pending, NO_TLS),
    row(Http, "tls_timeout", Pending, NO_TLS),
    row(Http, "tls_trust_pool", Pending, NO_TLS),
    row(Http, "tls_trusted_ca_certs", Pending, NO_TLS),
    row(Http, "tls_server_name", Pending, NO_TLS),
    row(Http, "tls_renegotiation", Pending, NO_TLS),
    row(Http, "tls_except_ports", Pending, NO_TLS),
    row(
        Http,
        "proxy_protocol",
        Pending,
        "the PROXY protocol to upstreams is not there yet; an upstream that expects it would refuse every \
         connection, so let it read X-Forwarded-For",
    ),
    row(
        Http,
        "network_proxy",
        Pending,
        "upstreams are reached directly; `network_proxy none` says so",
    ),
    row(
        Http,
        "network_proxy none",
        Active,
        "the environment's proxies are never used",
    ),
    row(
        Http,
        "forward_proxy_url",
        Pending,
        "upstreams are reached directly; remove it",
    ),
    row(Http, "resolvers", Active, ""),
    row(
        Http,
        "local_address",
        Pending,
        "the system chooses the address that upstreams are reached from; remove it",
    ),
];
