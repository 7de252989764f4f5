//! The typed model: what a configuration says, whichever text it came from.
//!
//! The structs follow Caddy's JSON field by field (a Rust name that differs, such as `matchers` for `match`,
//! says so). They hold only what Doorway understands: a text with anything else never becomes a [`Config`].
//! Fields are public and freely combined, so a value built by hand may contradict itself; only
//! [`crate::from_json`] and [`crate::from_caddyfile`] promise a checked one.

mod admin;
mod handler;
mod http;
mod listen;
mod listener_wrapper;
mod logging;
mod matcher;
mod route;
mod route_sources;
mod scalar;
mod tls;
mod upstream;

use serde::{Serialize, Serializer, ser::Error as _};

pub use self::admin::{Admin, AdminConfig, CertificateAuthority, PkiApp, Storage};
pub use self::handler::{
    Account, Authentication, AuthenticationProviders, Brotli, CopyResponse, CopyResponseHeaders, DoorsGeo,
    DoorsHandler, DoorsUpstream, Encode, Encoding, Encodings, ErrorResponse, Eskip, EskipBreaker,
    EskipBreakerKind, EskipPassiveHealth, EskipTextError, Gzip, Handler, HashAlgorithm, HeaderOps, Headers,
    HttpBasic, Invoke, KeyAndValue, Map, Mapping, Metrics, QueryOps, QueryReplacement, RedirectScheme,
    RegexpReplacement, Replacement, RequestBody, ResponseMatcher, ResponseOps, Rewrite, StaticResponse,
    Status, Subroute, SubstringReplacement, Value, Vars, Zstd, ZstdLevel,
};
pub use self::http::{AutomaticHttps, HttpApp, HttpMetrics, IpSource, Protocol, Server, ServerLogs};
pub use self::listen::{ListenAddress, ListenError, UnixSocket};
pub use self::listener_wrapper::{ListenerWrapper, ProxyProtocol, ProxyProtocolFallback};
pub use self::logging::{
    AppendEncoder, DirMode, FileMode, FileWriter, FilterAction, FilterEncoder, IpMask, LineFormat, Log,
    LogEncoder, LogFilter, LogLevel, LogLevelName, LogSampling, LogSink, LogWriter, Logging, Malformed,
    RegexpFilter, RollCompression, TimeOfDay,
};
pub use self::matcher::{Expression, IpMatcher, MatcherSet, RegexpMatcher};
pub use self::route::{ErrorRoutes, Route};
pub use self::route_sources::{
    DataLoss, DockerMode, DockerRoutes, DockerTls, KubernetesRoutes, NewerDocuments, RouteFiles,
    RouteSnapshot, RouteSources, RouteStore, RoutesToken, StoreKind, StoreUrl, StoreUrlError, TokenAccess,
    WhenMissing,
};
pub use self::scalar::{HostPort, HostPortError, IpRange, IpRangeError, ResolverAddress, Secret};
pub use self::tls::{
    AcmeChallenge, AcmeChallenges, AcmeIssuer, Automation, AutomationPolicy, CertificateFile,
    CertificateSelection, Certificates, ChainPreference, ClientAuthMode, ClientAuthentication,
    ClientVerifier, ExternalAccount, InternalIssuer, Issuer, KeyType, LeafLoader, OnDemand,
    OnDemandPermission, TlsApp, TlsConnectionPolicy, TlsMatcher, TlsVersion,
};
pub use self::upstream::{
    AUpstreams, ActiveChecks, BreakerRule, BufferSize, CaPool, CircuitBreaker, ConsulLocality, ConsulTls,
    ConsulUpstreams, CookiePolicy, DynamicUpstreams, FallbackDelay, FieldPolicy, FlushInterval, HealthChecks,
    HttpTransport, HttpVersion, IpVersions, KeepAlive, KeyPolicy, LoadBalancing, NetworkProxy, PassiveChecks,
    ProxyProtocolVersion, QueryPolicy, Renegotiation, Resolver, ResponseHandler, RetryBudget, ReverseProxy,
    SelectionPolicy, SrvUpstreams, Transport, Upstream, UpstreamAddress, UpstreamAddressError, UpstreamTls,
};

/// One whole configuration document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Config {
    /// The administration endpoint; `None` leaves Caddy's default, `localhost:2019`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin: Option<Admin>,
    /// Loggers beside the default one, and changes to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<Logging>,
    /// Where certificates and authorities are kept; `None` is the data directory.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "sorted")]
    pub storage: Option<Storage>,
    /// What runs.
    #[serde(skip_serializing_if = "Apps::is_empty")]
    pub apps: Apps,
}

/// The applications of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Apps {
    /// The HTTP servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpApp>,
    /// The proxy's own certificate authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pki: Option<PkiApp>,
    /// Certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsApp>,
}

// === impl Config ===

impl Config {
    /// The document as one line of Caddy JSON.
    ///
    /// The text is what `caddy adapt` prints for the same model: absent and empty fields are left out,
    /// durations are nanoseconds, and `<`, `>` and `&` are written as `\u003c` and so on. It carries the
    /// secrets in clear: it is configuration, not something to log.
    #[must_use]
    pub fn to_json(&self) -> String {
        escape_html(
            &serde_json::to_string(self).expect("the model has string keys and no fallible serialiser"),
        )
    }

    /// [`Config::to_json`] over several lines, indented by tabs, with a line feed at the end.
    #[must_use]
    pub fn to_json_pretty(&self) -> String {
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(b"\t");
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        self.serialize(&mut serializer)
            .expect("writing to memory, with string keys and no fallible serialiser");
        let mut text = escape_html(&String::from_utf8(bytes).expect("serde_json writes UTF-8"));
        text.push('\n');
        text
    }
}

// === impl Apps ===

impl Apps {
    /// Whether nothing is configured to run.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.http.is_none() && self.pki.is_none() && self.tls.is_none()
    }
}

/// Writes the characters that Caddy's encoder escapes the way it does. In JSON they occur only inside strings.
fn escape_html(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// Caddy prints the fields of what a module defines, such as a handler, by name, at any depth; going through a map
/// does the same.
fn sorted<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut value = serde_json::to_value(value).map_err(S::Error::custom)?;
    value.sort_all_objects();
    value.serialize(serializer)
}

/// For `skip_serializing_if`, which passes a reference.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
const fn is_false(value: &bool) -> bool {
    !*value
}

#[cfg(test)]
mod tests;
