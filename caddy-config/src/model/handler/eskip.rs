//! Routes in Skipper's language, and what Skipper is told beside them.

mod alone;
mod text;

use std::time::Duration;

use serde::Serialize;
use serde_json::Number;

pub use self::text::EskipTextError;
use crate::{
    check,
    model::{http::nanos, is_false},
    regexp,
};

/// Answers each request by a route in Skipper's language. Its texts are kept as they are written: whoever runs the
/// configuration reads them.
///
/// There is at least one source of routes: a file, a text, a URL, or what the program gives that the proxy is part of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Eskip {
    /// Files with routes, read again while the proxy runs; a relative path is one from the working directory.
    #[serde(rename = "routes_files", skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Routes that stand in the configuration.
    #[serde(rename = "inline_routes", skip_serializing_if = "Vec::is_empty")]
    pub inline: Vec<String>,
    /// Where routes are fetched, again and again; `http` or `https`.
    #[serde(rename = "routes_urls", skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// Sources of routes of the program that the proxy is part of, by the names that it gives them: letters, digits, and
    /// `_`, `-`, `.`.
    #[serde(rename = "routes_sources", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The time between two looks at files, URLs and sources; nanoseconds in JSON. `None` is 3 seconds, and it is never zero.
    #[serde(
        rename = "source_poll_timeout",
        skip_serializing_if = "Option::is_none",
        serialize_with = "nanos"
    )]
    pub poll: Option<Duration>,
    /// Filters that each route gets before its own, such as `flowId("reuse") -> compress()`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_filters_prepend: Vec<String>,
    /// Filters that each route gets behind its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_filters_append: Vec<String>,
    /// Changes to predicates and filters: `/regular expression/replacement/`, whatever character stands for the slash.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub edit_routes: Vec<String>,
    /// As `edit_routes`, but the changed route is added to the one that there is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clone_routes: Vec<String>,
    /// Whether backends get the host that the client asked for, where no filter says otherwise, and not their own.
    #[serde(skip_serializing_if = "is_false")]
    pub preserve_host: bool,
    /// Whether a slash at the end of a path means nothing.
    #[serde(skip_serializing_if = "is_false")]
    pub ignore_trailing_slash: bool,
    /// Whether predicates see the host of a request in lower case, without its port and a dot at the end.
    #[serde(skip_serializing_if = "is_false")]
    pub normalize_host: bool,
    /// Whether the certificates of backends are not verified.
    #[serde(skip_serializing_if = "is_false")]
    pub insecure: bool,
    /// How often a request may go back to the routes by `<loopback>`: -1 forbids it, and `None` is 9. No other number
    /// is below 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_loopbacks: Option<i32>,
    /// The status for requests that no route is for: 100 to 511; `None` is 404.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_status: Option<u16>,
    /// Where routes to `<forward>` go, such as `http://10.0.0.1:9090`; `None` leaves such routes invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_backend: Option<String>,
    /// Where the `oauthTokeninfo` filters ask about tokens; `http` or `https`. `None` leaves routes with them invalid.
    #[serde(rename = "oauth_tokeninfo_url", skip_serializing_if = "Option::is_none")]
    pub tokeninfo_url: Option<String>,
    /// Filters that no route may have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled_filters: Vec<String>,
    /// What routes without a breaker of their own have, for all backends or for one host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breakers: Vec<EskipBreaker>,
    /// Whether endpoints that fail get fewer requests, and how few; `None` is not.
    #[serde(rename = "passive_health_check", skip_serializing_if = "Option::is_none")]
    pub passive_health: Option<EskipPassiveHealth>,
}

/// A circuit breaker of Skipper's routes; [`str::parse`] reads what Skipper's flag `-breaker` takes, such as
/// `type=rate,host=www.example.org,window=300,failures=30,timeout=4m,half-open-requests=45,idle-ttl=5m`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EskipBreaker {
    /// What opens it; `type` in JSON, with its numbers beside.
    #[serde(flatten)]
    pub kind: EskipBreakerKind,
    /// The host, with its port if requests have one, that it is for; `None` is every one without a breaker of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// How long it stays open before requests are let through to try; nanoseconds in JSON. `None` is a minute.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub timeout: Option<Duration>,
    /// How many requests at once may try then, and how many of them must succeed; `None` is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_open_requests: Option<u32>,
    /// How long one that is not used is remembered; nanoseconds in JSON. `None` is an hour.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub idle_ttl: Option<Duration>,
}

/// What opens a circuit breaker of Skipper's routes. A request fails if it gets no answer, or one of 500 or above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EskipBreakerKind {
    /// So many failures in a row.
    Consecutive {
        /// At least one.
        failures: u32,
    },
    /// So many failures among the last requests.
    Rate {
        /// At least one, and at most `window`.
        failures: u32,
        /// How many requests are looked back on; at most 65,536.
        window: u32,
    },
    /// Nothing does.
    Disabled,
}

/// When endpoints that fail get fewer requests; [`str::parse`] reads what Skipper's flag `-passive-health-check` takes,
/// such as `period=1s,min-requests=10,max-drop-probability=0.9`.
///
/// A request fails if it gets no answer, whatever the status of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EskipPassiveHealth {
    /// How long requests are counted before they are judged, never zero; nanoseconds in JSON.
    #[serde(serialize_with = "nanos_of")]
    pub period: Duration,
    /// An endpoint with fewer requests in a period is not judged; at least one.
    pub min_requests: u32,
    /// The largest part of an endpoint's requests that others get, 0 to 1.
    pub max_drop_probability: Number,
    /// An endpoint of which a smaller part of the requests fails is well: 0 to `max_drop_probability`; `None` is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_drop_probability: Option<Number>,
    /// If a larger part of a route's endpoints is not well, all get their requests: 0 to 1; `None` is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unhealthy_endpoints_ratio: Option<Number>,
}

/// A duration that is always there, in nanoseconds.
fn nanos_of<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    nanos(&Some(*duration), serializer)
}

// === impl Eskip ===

impl Eskip {
    /// Whether `text` may be one of `files`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check_file(text: &str) -> Result<(), &'static str> {
        check::file(text)
    }

    /// Whether `text` may be one of `urls`, or `tokeninfo_url`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check_url(text: &str) -> Result<(), &'static str> {
        check::download_url(text)
    }

    /// Whether `text` may be one of `sources`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check_source(text: &str) -> Result<(), &'static str> {
        check::routes_source(text)
    }

    /// Whether `text` may be one of `edit_routes` or `clone_routes`.
    ///
    /// # Errors
    ///
    /// What is wrong with it, or with its regular expression.
    pub fn check_edit(text: &str) -> Result<(), String> {
        let pattern = check::edit(text)?;
        regexp::compile(pattern).map_err(|error| error.to_string())?;
        Ok(())
    }

    /// Whether `text` may be `forward_backend`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check_forward_backend(text: &str) -> Result<(), &'static str> {
        check::forward_backend(text)
    }

    /// Whether `text` may be one of `disabled_filters`.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check_filter_name(text: &str) -> Result<(), &'static str> {
        check::filter_name(text)
    }
}

// === impl EskipBreakerKind ===

impl EskipBreakerKind {
    /// The names in a configuration.
    pub(crate) const NAMES: [&str; 3] = ["consecutive", "disabled", "rate"];
}
