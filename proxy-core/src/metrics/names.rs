//! The names of all metrics, with what they mean. Those that begin with `caddy_` are Caddy's, with its labels, so that
//! dashboards made for it show Doorway too.

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It only grows; its name ends with `_total`.
    Counter,
    Gauge,
    Histogram,
}

/// A metric with all its labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
}

const fn counter(name: &'static str, help: &'static str) -> Family {
    let kind = Kind::Counter;
    Family { name, kind, help }
}

const fn gauge(name: &'static str, help: &'static str) -> Family {
    let kind = Kind::Gauge;
    Family { name, kind, help }
}

const fn histogram(name: &'static str, help: &'static str) -> Family {
    let kind = Kind::Histogram;
    Family { name, kind, help }
}

// === configuration ===

pub(crate) const CONFIG_LAST_RELOAD_SUCCESSFUL: Family = gauge(
    "caddy_config_last_reload_successful",
    "Whether the last attempt to load a configuration was successful.",
);
pub(crate) const CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP: Family = gauge(
    "caddy_config_last_reload_success_timestamp_seconds",
    "When a configuration was loaded last.",
);
pub(crate) const CONFIG_LOADS: Family = counter(
    "doorway_config_loads_total",
    "Attempts to load a configuration, by result.",
);

pub(crate) const ADMIN_HTTP_REQUESTS: Family =
    counter("caddy_admin_http_requests_total", "Requests to the admin API.");
pub(crate) const ADMIN_HTTP_REQUEST_ERRORS: Family = counter(
    "caddy_admin_http_request_errors_total",
    "Requests to the admin API that ended with an error.",
);

// === requests, where `metrics` is configured ===

pub(crate) const HTTP_REQUESTS: Family = counter("caddy_http_requests_total", "Requests that were answered.");
pub(crate) const HTTP_REQUESTS_IN_FLIGHT: Family = gauge(
    "caddy_http_requests_in_flight",
    "Requests that are being answered.",
);
pub(crate) const HTTP_REQUEST_ERRORS: Family = counter(
    "caddy_http_request_errors_total",
    "Requests that ended with an error of a handler.",
);
pub(crate) const HTTP_REQUEST_DURATION: Family = histogram(
    "caddy_http_request_duration_seconds",
    "The time from the head of a request to the end of its answer.",
);
pub(crate) const HTTP_RESPONSE_DURATION: Family = histogram(
    "caddy_http_response_duration_seconds",
    "The time from the head of a request to the head of its answer.",
);
pub(crate) const HTTP_REQUEST_SIZE: Family = histogram(
    "caddy_http_request_size_bytes",
    "The size of a request: its head, and its body as far as its length is stated.",
);
pub(crate) const HTTP_RESPONSE_SIZE: Family =
    histogram("caddy_http_response_size_bytes", "The size of an answer's body.");

// === the proxy ===

pub(crate) const CONNECTIONS: Family = counter("doorway_connections_total", "Client connections accepted.");
pub(crate) const CONNECTIONS_OPEN: Family = gauge(
    "doorway_connections_open",
    "Client connections and tunnels that are open.",
);
pub(crate) const REQUESTS: Family = counter("doorway_requests_total", "Requests received.");
pub(crate) const FAILED_REQUESTS: Family = counter(
    "doorway_failed_requests_total",
    "Requests that could not be served, by what was at fault.",
);
pub(crate) const RETRIES: Family = counter(
    "doorway_upstream_retries_total",
    "Requests that were sent again because nothing of them can have reached an application.",
);
pub(crate) const UPSTREAM_CONNECTS: Family = counter(
    "doorway_upstream_connects_total",
    "Connections opened to upstreams.",
);
pub(crate) const UPSTREAM_IN_FLIGHT: Family = gauge(
    "doorway_upstream_requests_in_flight",
    "Requests that an upstream has in flight.",
);
pub(crate) const UPSTREAM_HEALTHY: Family = gauge(
    "caddy_reverse_proxy_upstreams_healthy",
    "Whether an upstream takes requests, as far as its health is concerned.",
);
pub(crate) const UPSTREAM_BREAKER: Family = gauge(
    "doorway_upstream_breaker_state",
    "How the circuit breaker of an upstream stands: 1 for that state, 0 for the others.",
);
pub(crate) const UPSTREAM_PANIC: Family = gauge(
    "doorway_upstream_panic",
    "Whether an upstream is used whatever its health, as too few are healthy.",
);
pub(crate) const LOG_LINES_DROPPED: Family = counter(
    "doorway_log_lines_dropped_total",
    "Lines of access logs that were dropped because they could not be written fast enough.",
);

// === countries, where `doors_geo` is configured ===

pub(crate) const GEO_REQUESTS: Family = counter(
    "doorway_geo_requests_total",
    "Requests that came to a doors_geo, by what became of them: redirected, or why they passed.",
);
pub(crate) const GEO_COUNTRIES: Family = counter(
    "doorway_geo_countries_total",
    "Those of them whose country was found, by country and by whether they were redirected.",
);
pub(crate) const ESKIP_ROUTES: Family = gauge("doorway_eskip_routes", "Routes of `eskip` handlers that run.");
pub(crate) const ESKIP_ROUTES_INVALID: Family = gauge(
    "doorway_eskip_routes_invalid",
    "Routes of `eskip` handlers that were left out, by reason.",
);
pub(crate) const ESKIP_UPDATED: Family = gauge(
    "doorway_eskip_updated_timestamp_seconds",
    "When routes of `eskip` handlers have changed last.",
);
pub(crate) const ROUTES: Family = gauge("doorway_routes", "Routes of each source of hosts.");
pub(crate) const ROUTES_INVALID: Family = gauge(
    "doorway_routes_invalid",
    "What no route could be made of, by source of hosts.",
);
pub(crate) const ROUTES_STALE: Family = gauge(
    "doorway_routes_stale",
    "Whether what a source of hosts says may not be the newest.",
);
pub(crate) const ROUTES_UPDATED: Family = gauge(
    "doorway_routes_updated_timestamp_seconds",
    "When each source of hosts has said something last.",
);
pub(crate) const ROUTE_NAMES: Family = gauge(
    "doorway_route_names",
    "Names of hosts and aliases that sources define.",
);
pub(crate) const ROUTE_CONFLICTS: Family =
    gauge("doorway_route_conflicts", "Hosts that several sources define.");
pub(crate) const ROUTES_UNBUILT: Family = gauge(
    "doorway_routes_unbuilt",
    "Names whose route counts but cannot be built.",
);
pub(crate) const ROUTES_APPLIED: Family = gauge(
    "doorway_routes_applied_revision",
    "The number of the store's revision that requests see.",
);

pub(crate) const GEO_AGE: Family = gauge(
    "doorway_geo_database_age_seconds",
    "The time since a database of countries was last known to be up to date; none without data.",
);
pub(crate) const GEO_PREFIXES: Family = gauge(
    "doorway_geo_database_prefixes",
    "The networks that a database of countries was made of, by address family.",
);
pub(crate) const GEO_COUNTRIES_KNOWN: Family = gauge(
    "doorway_geo_database_countries",
    "The countries that a database knows networks of.",
);
pub(crate) const GEO_FAILURES: Family = gauge(
    "doorway_geo_database_failures",
    "Attempts to update a database of countries that failed since the last one that did not.",
);

// === the process ===

pub(crate) const PROCESS_CPU: Family = counter(
    "process_cpu_seconds_total",
    "User and system time that the process has used.",
);
pub(crate) const PROCESS_MAX_FDS: Family =
    gauge("process_max_fds", "The most file descriptors that may be open.");
pub(crate) const PROCESS_OPEN_FDS: Family = gauge("process_open_fds", "File descriptors that are open.");
pub(crate) const PROCESS_RESIDENT_MEMORY: Family = gauge(
    "process_resident_memory_bytes",
    "Memory that the process has resident.",
);
pub(crate) const PROCESS_VIRTUAL_MEMORY: Family = gauge(
    "process_virtual_memory_bytes",
    "Address space that the process has mapped.",
);
pub(crate) const PROCESS_START_TIME: Family =
    gauge("process_start_time_seconds", "When the process was started.");
