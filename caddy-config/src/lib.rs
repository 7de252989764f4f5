//! Caddy's configuration, a Caddyfile or JSON, as one typed model, every mistake with its place.
//!
//! Two texts lead to one [`Config`]: [`from_caddyfile`] reads what people write and [`from_json`] what programs
//! write, and [`Config::to_json`] prints the model as Caddy's own JSON. The part of Caddy's language that the model
//! has is read as Caddy reads it, which is checked against the real one: the same servers, the same routes in the
//! same order, the same text. The rest is an error, never passed over.
//!
//! ```
//! let text = "example.com {\n\treverse_proxy app:8080\n}\n";
//! let adapted = caddy_config::from_caddyfile("Caddyfile", text, &|_| None)?;
//!
//! let http = adapted.config.apps.http.as_ref().ok_or("there are servers")?;
//! assert_eq!(http.servers["srv0"].listen[0].to_string(), ":443");
//!
//! let json = adapted.config.to_json();
//! assert_eq!(caddy_config::from_json("printed.json", &json)?, adapted.config);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Findings
//!
//! All mistakes of a text come at once, in its order, each with file, line and column, the source line with a mark,
//! and a way out:
//!
//! ```
//! let text = "example.com {\n\trespnd hello\n\theader X-A {http.request.body}\n}\n";
//! let findings = caddy_config::from_caddyfile("Caddyfile", text, &|_| None).unwrap_err();
//! assert_eq!(findings.iter().count(), 2);
//! assert!(findings.to_string().starts_with(
//!     "Caddyfile:2:2: unknown directive `respnd`\n  2 | \trespnd hello\n    | \t^^^^^^\n  help: did you mean `respond`?"
//! ));
//! ```
//!
//! Keys of a `doors_handler` are masked in the lines shown, and of an environment variable its name is shown, not
//! its value.
//!
//! # What it does not do
//!
//! It opens no file and reads no environment: texts and a look-up for variables come in as arguments. It does not
//! decode keys, load certificates or resolve names; whoever runs the configuration does. Texts are limited in
//! length, nesting and number of values, so that one made to hurt ends in an error at once.
#![cfg_attr(
    not(any(test, fuzzing)),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

mod adapt;
mod caddyfile;
mod check;
mod diagnostic;
pub mod expression;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod json;
mod model;
mod named_routes;
pub mod regexp;
mod source;
mod suggest;
mod support;
mod surroundings;
mod template;
mod text;
mod units;

pub use self::{
    adapt::{Adapted, Places, from_caddyfile, from_caddyfile_in},
    caddyfile::format::{format, unformatted},
    diagnostic::{Diagnostic, Diagnostics, Place, Severity},
    json::{from_json, handlers_from_json},
    model::{
        AUpstreams, Account, AcmeChallenge, AcmeChallenges, AcmeIssuer, ActiveChecks, Admin, AdminConfig,
        AppendEncoder, Apps, Authentication, AuthenticationProviders, AutomaticHttps, Automation,
        AutomationPolicy, BreakerRule, Brotli, BufferSize, CaPool, CertificateAuthority, CertificateFile,
        CertificateSelection, Certificates, ChainPreference, CircuitBreaker, ClientAuthMode,
        ClientAuthentication, ClientVerifier, Config, ConsulLocality, ConsulTls, ConsulUpstreams,
        CookiePolicy, CopyResponse, CopyResponseHeaders, DataLoss, DirMode, DockerMode, DockerRoutes,
        DockerTls, DoorsGeo, DoorsHandler, DoorsUpstream, DynamicUpstreams, Encode, Encoding, Encodings,
        ErrorResponse, ErrorRoutes, Eskip, EskipBreaker, EskipBreakerKind, EskipPassiveHealth,
        EskipTextError, Expression, ExternalAccount, FallbackDelay, FieldPolicy, FileMode, FileWriter,
        FilterAction, FilterEncoder, FlushInterval, Gzip, Handler, HashAlgorithm, HeaderOps, Headers,
        HealthChecks, HostPort, HostPortError, HttpApp, HttpBasic, HttpMetrics, HttpTransport, HttpVersion,
        InternalIssuer, Invoke, IpMask, IpMatcher, IpRange, IpRangeError, IpSource, IpVersions, Issuer,
        KeepAlive, KeyAndValue, KeyPolicy, KeyType, KubernetesRoutes, LeafLoader, LineFormat, ListenAddress,
        ListenError, ListenerWrapper, LoadBalancing, Log, LogEncoder, LogFilter, LogLevel, LogLevelName,
        LogSampling, LogSink, LogWriter, Logging, Malformed, Map, Mapping, MatcherSet, Metrics, NetworkProxy,
        NewerDocuments, OnDemand, OnDemandPermission, PassiveChecks, PkiApp, Protocol, ProxyProtocol,
        ProxyProtocolFallback, ProxyProtocolVersion, QueryOps, QueryPolicy, QueryReplacement, RedirectScheme,
        RegexpFilter, RegexpMatcher, RegexpReplacement, Renegotiation, Replacement, RequestBody, Resolver,
        ResolverAddress, ResponseHandler, ResponseMatcher, ResponseOps, RetryBudget, ReverseProxy, Rewrite,
        RollCompression, Route, RouteFiles, RouteSnapshot, RouteSources, RouteStore, RoutesToken, Secret,
        SelectionPolicy, Server, ServerLogs, SrvUpstreams, StaticResponse, Status, Storage, StoreKind,
        StoreUrl, StoreUrlError, Subroute, SubstringReplacement, TimeOfDay, TlsApp, TlsConnectionPolicy,
        TlsMatcher, TlsVersion, TokenAccess, Transport, UnixSocket, Upstream, UpstreamAddress,
        UpstreamAddressError, UpstreamTls, Value, Vars, WhenMissing, Zstd, ZstdLevel,
    },
    support::{Area, Support, SupportState, support, support_of},
    surroundings::{FileError, Inputs, Surroundings},
    template::{
        AddressPart, ClientCertificatePart, ErrorPart, Part, Placeholder, ProxyPart, SanKind, SystemPart,
        Template, TemplateError, TimePart, TlsPart, UpstreamPart,
    },
    text::text_from_bytes,
    units::duration,
};

/// The README's snippet is a test, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
