//! The configuration as data. The fields of each struct are in the order of the alphabet, as Go writes maps.

use serde::Serialize;

use super::{Protocol, RenderOptions};
use crate::desired::{Desired, Route};

/// The marker of the last route, while it holds the place of the one to come.
pub(super) const NO_MARKER: &str = r#""@id":"""#;

const UNAVAILABLE: &str = "503 Service Unavailable: no healthy replica.\n";
const NOT_FOUND: &str = "404 Not Found: no application is served at this address.\n";

/// The statuses by which a proxy says that it has found no replica that takes a request.
const NO_REPLICA: &str = "{http.error.status_code} in [502, 503]";

#[derive(Debug, Serialize)]
pub(super) struct Document<'d> {
    admin: Admin<'d>,
    apps: Apps<'d>,
}

#[derive(Debug, Serialize)]
struct Admin<'d> {
    listen: &'d str,
}

#[derive(Debug, Serialize)]
struct Apps<'d> {
    http: Http<'d>,
}

#[derive(Debug, Serialize)]
struct Http<'d> {
    servers: Servers<'d>,
}

#[derive(Debug, Serialize)]
struct Servers<'d> {
    shipwick: Server<'d>,
}

#[derive(Debug, Serialize)]
struct Server<'d> {
    #[serde(skip_serializing_if = "Option::is_none")]
    automatic_https: Option<AutomaticHttps>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Errors>,
    listen: &'d [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    protocols: Vec<&'static str>,
    routes: Vec<Entry<'d>>,
}

#[derive(Debug, Serialize)]
struct AutomaticHttps {
    disable: bool,
}

#[derive(Debug, Serialize)]
struct Errors {
    routes: [ErrorRoute; 1],
}

#[derive(Debug, Serialize)]
struct ErrorRoute {
    handle: [Answer; 1],
    #[serde(rename = "match")]
    matches: [Expression; 1],
}

#[derive(Debug, Serialize)]
struct Expression {
    expression: &'static str,
}

#[derive(Debug, Serialize)]
struct Entry<'d> {
    #[serde(rename = "@id", skip_serializing_if = "Option::is_none")]
    id: Option<&'static str>,
    handle: Vec<Handler<'d>>,
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    matches: Option<[Match<'d>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminal: Option<bool>,
}

#[derive(Debug, Serialize)]
struct Match<'d> {
    host: &'d [&'d str],
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<[String; 2]>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Handler<'d> {
    Answer(Answer),
    Proxy(Proxy<'d>),
    Rewrite(Rewrite<'d>),
}

#[derive(Debug, Serialize)]
struct Answer {
    body: &'static str,
    handler: &'static str,
    headers: Headers,
    status_code: u16,
}

#[derive(Debug, Serialize)]
struct Headers {
    #[serde(rename = "Content-Type")]
    content_type: [&'static str; 1],
    #[serde(rename = "Retry-After", skip_serializing_if = "Option::is_none")]
    retry_after: Option<[&'static str; 1]>,
}

#[derive(Debug, Serialize)]
struct Rewrite<'d> {
    handler: &'static str,
    strip_path_prefix: &'d str,
}

#[derive(Debug, Serialize)]
struct Proxy<'d> {
    #[serde(skip_serializing_if = "Option::is_none")]
    flush_interval: Option<i8>,
    handler: &'static str,
    health_checks: HealthChecks,
    load_balancing: LoadBalancing,
    transport: Transport,
    upstreams: Vec<Dial<'d>>,
}

#[derive(Debug, Serialize)]
struct HealthChecks {
    passive: Passive,
}

#[derive(Debug, Serialize)]
struct Passive {
    fail_duration: &'static str,
    max_fails: u8,
}

#[derive(Debug, Serialize)]
struct LoadBalancing {
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_match: Option<[Never; 1]>,
    selection_policy: Policy,
    try_duration: &'static str,
}

/// Matches no request: a set without matchers matches all of them.
#[derive(Debug, Serialize)]
struct Never {
    not: [Anything; 1],
}

#[derive(Debug, Serialize)]
struct Anything {}

#[derive(Debug, Serialize)]
struct Policy {
    policy: &'static str,
}

#[derive(Debug, Serialize)]
struct Transport {
    dial_timeout: &'static str,
    protocol: &'static str,
}

#[derive(Debug, Serialize)]
struct Dial<'d> {
    dial: &'d str,
}

// === impl Document ===

impl<'d> Document<'d> {
    pub(super) fn new(desired: &'d Desired, routes: &'d [Route<'d>], options: &'d RenderOptions) -> Self {
        let entries = routes.iter().map(|route| Entry::new(route, options));
        let shipwick = Server {
            automatic_https: options.plain_http.then_some(AutomaticHttps { disable: true }),
            errors: options.error_route.then(Errors::new),
            listen: &options.listen,
            protocols: options.protocols.iter().copied().map(Protocol::as_str).collect(),
            routes: entries.chain([Entry::last()]).collect(),
        };
        Self {
            admin: Admin {
                listen: desired.admin.listen(),
            },
            apps: Apps {
                http: Http {
                    servers: Servers { shipwick },
                },
            },
        }
    }
}

// === impl Entry ===

impl<'d> Entry<'d> {
    fn new(route: &'d Route<'d>, options: &RenderOptions) -> Self {
        let strip = route.path.filter(|path| path.strip && !route.dials.is_empty());
        let rewrite = strip.map(|path| {
            Handler::Rewrite(Rewrite {
                handler: "rewrite",
                strip_path_prefix: path.prefix.as_str(),
            })
        });
        let last = if route.dials.is_empty() {
            Handler::Answer(Answer::unavailable())
        } else {
            Handler::Proxy(Proxy::new(route, options))
        };
        let path = route.path.map(|path| path.prefix.as_str());
        Self {
            id: None,
            handle: rewrite.into_iter().chain([last]).collect(),
            matches: Some([Match {
                host: &route.hosts,
                path: path.map(|path| [path.to_owned(), format!("{path}/*")]),
            }]),
            terminal: Some(true),
        }
    }

    /// Answers for all other hosts. It matches none by name, since a certificate would be asked for then.
    fn last() -> Self {
        Self {
            id: Some(""),
            handle: vec![Handler::Answer(Answer::new(404, NOT_FOUND, None))],
            matches: None,
            terminal: None,
        }
    }
}

// === impl Errors ===

impl Errors {
    fn new() -> Self {
        Self {
            routes: [ErrorRoute {
                handle: [Answer::unavailable()],
                matches: [Expression {
                    expression: NO_REPLICA,
                }],
            }],
        }
    }
}

// === impl Answer ===

impl Answer {
    fn new(status_code: u16, body: &'static str, retry_after: Option<[&'static str; 1]>) -> Self {
        Self {
            body,
            handler: "static_response",
            headers: Headers {
                content_type: ["text/plain; charset=utf-8"],
                retry_after,
            },
            status_code,
        }
    }

    fn unavailable() -> Self {
        Self::new(503, UNAVAILABLE, Some(["5"]))
    }
}

// === impl Proxy ===

impl<'d> Proxy<'d> {
    fn new(route: &'d Route<'d>, options: &RenderOptions) -> Self {
        Self {
            flush_interval: route.streams.then_some(-1),
            handler: "reverse_proxy",
            health_checks: HealthChecks {
                passive: Passive {
                    fail_duration: "5s",
                    max_fails: 1,
                },
            },
            load_balancing: LoadBalancing {
                retry_match: options.never_twice.then_some([Never { not: [Anything {}] }]),
                selection_policy: Policy {
                    policy: "round_robin",
                },
                try_duration: "5s",
            },
            transport: Transport {
                dial_timeout: "500ms",
                protocol: "http",
            },
            upstreams: route.dials.iter().map(|dial| Dial { dial }).collect(),
        }
    }
}
