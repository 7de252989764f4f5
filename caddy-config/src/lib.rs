//! Caddy's configuration as one typed model, every error with its place.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod adapt;
mod caddyfile;
mod check;
mod diagnostic;
mod json;
mod model;
mod source;
mod suggest;
mod template;
mod text;
mod units;

pub use self::adapt::{Adapted, from_caddyfile};
pub use self::diagnostic::{Diagnostic, Diagnostics, Place, Severity};
pub use self::json::from_json;
pub use self::template::{Part, Placeholder, Template, TemplateError};
pub use self::text::text_from_bytes;

pub use self::model::{
    Admin, Apps, AutomaticHttps, Automation, AutomationPolicy, CertificateFile, CertificateSelection,
    Certificates, Config, DoorsHandler, DoorsUpstream, DynamicUpstreams, FlushInterval, Handler, HeaderOps,
    Headers, HostPort, HostPortError, HttpApp, HttpTransport, HttpVersion, IpRange, IpRangeError, IpSource,
    Issuer, KeepAlive, LoadBalancing, Log, LogEncoder, LogLevel, LogWriter, Logging, MatcherSet, Protocol,
    Replacement, Resolver, ResolverAddress, ResponseMatcher, ResponseOps, ReverseProxy, Route, Secret,
    SelectionPolicy, Server, ServerLogs, StaticResponse, Subroute, TlsApp, TlsConnectionPolicy, TlsMatcher,
    Transport, Upstream,
};
