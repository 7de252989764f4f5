//! The full names of placeholders.

use std::{borrow::Cow, fmt, str::FromStr};

use super::{
    AddressPart, ClientCertificatePart as Client, ErrorPart, Placeholder, ProxyPart, SanKind, SystemPart,
    TemplateError, TimePart, TlsPart, UpstreamPart,
};
use crate::check;

/// Names below these are Caddy's own.
const NAMESPACES: [&str; 5] = ["http.", "env.", "system.", "time.", "file."];

/// The supported placeholders, by their full names.
pub(crate) const SUPPORTED: &str = "supported: {http.request.NAME} with the NAME cookie.*, duration, duration_ms, \
    header.*, host, host.labels.*, hostport, local, method, orig_method, orig_uri, port, proto, proto_name, remote, \
    scheme, tls.*, uri, uri.path, uri.query, uri.query.*, uri.prefixed_query or uuid; {http.vars.*}; \
    {http.regexp.*}; {http.error.*}; {http.reverse_proxy.*}; {http.response.header.*}; {http.auth.user.id}; \
    {env.*}; {geo.country}; {system.*}; {time.now.*}";

/// Names without a part of the user's own.
static FIXED: [(&str, Placeholder); 94] = [
    ("geo.country", Placeholder::GeoCountry),
    ("http.auth.user.id", Placeholder::AuthUserId),
    ("http.error", Placeholder::Error(ErrorPart::Whole)),
    ("http.error.id", Placeholder::Error(ErrorPart::Id)),
    ("http.error.message", Placeholder::Error(ErrorPart::Message)),
    (
        "http.error.status_code",
        Placeholder::Error(ErrorPart::StatusCode),
    ),
    (
        "http.error.status_text",
        Placeholder::Error(ErrorPart::StatusText),
    ),
    ("http.error.trace", Placeholder::Error(ErrorPart::Trace)),
    ("http.request.duration", Placeholder::Duration),
    ("http.request.duration_ms", Placeholder::DurationMs),
    ("http.request.host", Placeholder::Host),
    ("http.request.hostport", Placeholder::HostPort),
    ("http.request.local", Placeholder::Local(AddressPart::Whole)),
    ("http.request.local.host", Placeholder::Local(AddressPart::Host)),
    ("http.request.local.port", Placeholder::Local(AddressPart::Port)),
    ("http.request.method", Placeholder::Method),
    ("http.request.orig_method", Placeholder::OrigMethod),
    ("http.request.orig_uri", Placeholder::OrigUri),
    ("http.request.orig_uri.path", Placeholder::OrigPath),
    ("http.request.orig_uri.path.dir", Placeholder::OrigPathDir),
    ("http.request.orig_uri.path.file", Placeholder::OrigPathFile),
    (
        "http.request.orig_uri.prefixed_query",
        Placeholder::OrigPrefixedQuery,
    ),
    ("http.request.orig_uri.query", Placeholder::OrigQuery),
    ("http.request.port", Placeholder::Port),
    ("http.request.proto", Placeholder::Proto),
    ("http.request.proto_name", Placeholder::ProtoName),
    ("http.request.remote", Placeholder::Remote),
    ("http.request.remote.host", Placeholder::RemoteHost),
    ("http.request.remote.port", Placeholder::RemotePort),
    ("http.request.scheme", Placeholder::Scheme),
    (
        "http.request.tls.cipher_suite",
        Placeholder::Tls(TlsPart::CipherSuite),
    ),
    (
        "http.request.tls.client.certificate_der_base64",
        client(Client::DerBase64),
    ),
    ("http.request.tls.client.certificate_pem", client(Client::Pem)),
    ("http.request.tls.client.fingerprint", client(Client::Fingerprint)),
    ("http.request.tls.client.issuer", client(Client::Issuer)),
    ("http.request.tls.client.public_key", client(Client::PublicKey)),
    (
        "http.request.tls.client.public_key_sha256",
        client(Client::PublicKeySha256),
    ),
    ("http.request.tls.client.san.dns_names", san(SanKind::DnsNames)),
    ("http.request.tls.client.san.emails", san(SanKind::Emails)),
    ("http.request.tls.client.san.ips", san(SanKind::Ips)),
    ("http.request.tls.client.san.uris", san(SanKind::Uris)),
    ("http.request.tls.client.serial", client(Client::Serial)),
    ("http.request.tls.client.subject", client(Client::Subject)),
    ("http.request.tls.ech", Placeholder::Tls(TlsPart::Ech)),
    ("http.request.tls.proto", Placeholder::Tls(TlsPart::Proto)),
    (
        "http.request.tls.proto_mutual",
        Placeholder::Tls(TlsPart::ProtoMutual),
    ),
    ("http.request.tls.resumed", Placeholder::Tls(TlsPart::Resumed)),
    (
        "http.request.tls.server_name",
        Placeholder::Tls(TlsPart::ServerName),
    ),
    ("http.request.tls.version", Placeholder::Tls(TlsPart::Version)),
    ("http.request.uri", Placeholder::Uri),
    ("http.request.uri.path", Placeholder::Path),
    ("http.request.uri.path.dir", Placeholder::PathDir),
    ("http.request.uri.path.file", Placeholder::PathFile),
    ("http.request.uri.path.file.base", Placeholder::PathFileBase),
    ("http.request.uri.path.file.ext", Placeholder::PathFileExt),
    ("http.request.uri.path_escaped", Placeholder::PathEscaped),
    ("http.request.uri.prefixed_query", Placeholder::PrefixedQuery),
    ("http.request.uri.query", Placeholder::Query),
    ("http.request.uri.query_escaped", Placeholder::QueryEscaped),
    ("http.request.uri_escaped", Placeholder::UriEscaped),
    ("http.request.uuid", Placeholder::Uuid),
    ("http.response.status", Placeholder::ResponseStatus),
    (
        "http.reverse_proxy.duration",
        Placeholder::Proxy(ProxyPart::Duration),
    ),
    (
        "http.reverse_proxy.duration_ms",
        Placeholder::Proxy(ProxyPart::DurationMs),
    ),
    (
        "http.reverse_proxy.is_transport_error",
        Placeholder::Proxy(ProxyPart::IsTransportError),
    ),
    (
        "http.reverse_proxy.retries",
        Placeholder::Proxy(ProxyPart::Retries),
    ),
    (
        "http.reverse_proxy.status_code",
        Placeholder::Proxy(ProxyPart::StatusCode),
    ),
    (
        "http.reverse_proxy.status_text",
        Placeholder::Proxy(ProxyPart::StatusText),
    ),
    (
        "http.reverse_proxy.upstream.address",
        Placeholder::Upstream(UpstreamPart::Address),
    ),
    (
        "http.reverse_proxy.upstream.duration",
        Placeholder::Upstream(UpstreamPart::Duration),
    ),
    (
        "http.reverse_proxy.upstream.duration_ms",
        Placeholder::Upstream(UpstreamPart::DurationMs),
    ),
    (
        "http.reverse_proxy.upstream.fails",
        Placeholder::Upstream(UpstreamPart::Fails),
    ),
    (
        "http.reverse_proxy.upstream.host",
        Placeholder::Upstream(UpstreamPart::Host),
    ),
    (
        "http.reverse_proxy.upstream.hostport",
        Placeholder::Upstream(UpstreamPart::HostPort),
    ),
    (
        "http.reverse_proxy.upstream.latency",
        Placeholder::Upstream(UpstreamPart::Latency),
    ),
    (
        "http.reverse_proxy.upstream.latency_ms",
        Placeholder::Upstream(UpstreamPart::LatencyMs),
    ),
    (
        "http.reverse_proxy.upstream.max_requests",
        Placeholder::Upstream(UpstreamPart::MaxRequests),
    ),
    (
        "http.reverse_proxy.upstream.port",
        Placeholder::Upstream(UpstreamPart::Port),
    ),
    (
        "http.reverse_proxy.upstream.requests",
        Placeholder::Upstream(UpstreamPart::Requests),
    ),
    (
        "http.reverse_proxy.upstreams.consul.tier",
        Placeholder::Proxy(ProxyPart::ConsulTier),
    ),
    ("http.shutting_down", Placeholder::ShuttingDown),
    ("http.time_until_shutdown", Placeholder::TimeUntilShutdown),
    ("http.vars.client_ip", Placeholder::ClientIp),
    ("system.arch", Placeholder::System(SystemPart::Arch)),
    ("system.hostname", Placeholder::System(SystemPart::Hostname)),
    ("system.os", Placeholder::System(SystemPart::Os)),
    ("system.slash", Placeholder::System(SystemPart::Slash)),
    ("system.wd", Placeholder::System(SystemPart::WorkingDirectory)),
    ("time.now", Placeholder::Time(TimePart::Now)),
    ("time.now.common_log", Placeholder::Time(TimePart::CommonLog)),
    ("time.now.http", Placeholder::Time(TimePart::Http)),
    ("time.now.unix", Placeholder::Time(TimePart::Unix)),
    ("time.now.unix_ms", Placeholder::Time(TimePart::UnixMs)),
    ("time.now.year", Placeholder::Time(TimePart::Year)),
];

const fn client(part: Client) -> Placeholder {
    Placeholder::Tls(TlsPart::Client(part))
}

const fn san(kind: SanKind) -> Placeholder {
    client(Client::San { kind, index: None })
}

/// Prefixes that a part of the user's own follows.
const COOKIE: &str = "http.request.cookie.";
const ENV: &str = "env.";
const HEADER: &str = "http.request.header.";
const LABEL: &str = "http.request.host.labels.";
const ORIG_SEGMENT: &str = "http.request.orig_uri.path.";
const PARAM: &str = "http.request.uri.query.";
const PROXY_HEADER: &str = "http.reverse_proxy.header.";
const REGEXP: &str = "http.regexp.";
const REMOTE_PREFIX: &str = "http.request.remote.host/";
const RESPONSE_HEADER: &str = "http.response.header.";
const SAN: &str = "http.request.tls.client.san.";
const SEGMENT: &str = "http.request.uri.path.";
const VAR: &str = "http.vars.";

// === impl Placeholder ===

impl FromStr for Placeholder {
    type Err = TemplateError;

    /// Reads a full name, without braces.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let fixed = FIXED.iter().find(|(full, _)| *full == name);
        if let Some(placeholder) = fixed
            .map(|(_, fixed)| fixed.clone())
            .or_else(|| with_own_part(name))
        {
            return Ok(placeholder);
        }
        if NAMESPACES.iter().any(|prefix| name.starts_with(prefix)) {
            return Err(TemplateError {
                name: name.to_owned(),
            });
        }
        Ok(Self::Variable(name.to_owned()))
    }
}

impl fmt::Display for Placeholder {
    /// Writes the full name, without braces.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = FIXED.iter().find(|(_, fixed)| fixed == self) {
            return f.write_str(name);
        }
        let (prefix, own): (_, Cow<'_, str>) = match self {
            Self::Cookie(name) => (COOKIE, name.into()),
            Self::Env(name) => (ENV, name.into()),
            Self::HostLabel(index) => (LABEL, index.to_string().into()),
            Self::OrigPathSegment(index) => (ORIG_SEGMENT, index.to_string().into()),
            Self::PathSegment(index) => (SEGMENT, index.to_string().into()),
            Self::Proxy(ProxyPart::Header(name)) => (PROXY_HEADER, name.into()),
            Self::QueryParam(name) => (PARAM, name.into()),
            Self::Regexp(group) => (REGEXP, group.into()),
            Self::RemotePrefix { v4, v6 } => (REMOTE_PREFIX, format!("{v4},{v6}").into()),
            Self::RequestHeader(name) => (HEADER, name.into()),
            Self::ResponseHeader(name) => (RESPONSE_HEADER, name.into()),
            Self::Tls(TlsPart::Client(Client::San { kind, index })) => {
                let kind = sans()
                    .find(|(_, known)| known == kind)
                    .map_or("", |(name, _)| name);
                (SAN, format!("{kind}.{}", index.unwrap_or_default()).into())
            }
            Self::Var(name) => (VAR, name.into()),
            Self::Variable(name) => ("", name.into()),
            _ => ("", "".into()),
        };
        write!(f, "{prefix}{own}")
    }
}

fn with_own_part(name: &str) -> Option<Placeholder> {
    let behind = |prefix: &str| name.strip_prefix(prefix).filter(|own| !own.is_empty());
    let field = |prefix: &str| {
        behind(prefix)
            .filter(|word| check::field_name(word).is_ok())
            .map(str::to_owned)
    };
    let number = |prefix: &str| behind(prefix).and_then(index);
    let text = |prefix: &str| behind(prefix).map(str::to_owned);
    None.or_else(|| field(HEADER).map(Placeholder::RequestHeader))
        .or_else(|| field(COOKIE).map(Placeholder::Cookie))
        .or_else(|| field(PROXY_HEADER).map(|name| Placeholder::Proxy(ProxyPart::Header(name))))
        .or_else(|| field(RESPONSE_HEADER).map(Placeholder::ResponseHeader))
        .or_else(|| text(VAR).map(Placeholder::Var))
        .or_else(|| text(ENV).map(Placeholder::Env))
        .or_else(|| text(PARAM).map(Placeholder::QueryParam))
        .or_else(|| text(REGEXP).map(Placeholder::Regexp))
        .or_else(|| number(LABEL).map(Placeholder::HostLabel))
        .or_else(|| number(SEGMENT).map(Placeholder::PathSegment))
        .or_else(|| number(ORIG_SEGMENT).map(Placeholder::OrigPathSegment))
        .or_else(|| behind(REMOTE_PREFIX).and_then(prefix_lengths))
        .or_else(|| behind(SAN).and_then(one_san))
}

/// A number in plain decimal digits.
fn index(text: &str) -> Option<usize> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// `V4,V6`, or one number for both.
fn prefix_lengths(text: &str) -> Option<Placeholder> {
    let (v4, v6) = text.split_once(',').unwrap_or((text, text));
    let (v4, v6) = (u8::try_from(index(v4)?).ok()?, u8::try_from(index(v6)?).ok()?);
    (v4 <= 32 && v6 <= 128).then_some(Placeholder::RemotePrefix { v4, v6 })
}

/// `KIND.N`.
fn one_san(text: &str) -> Option<Placeholder> {
    let (kind, number) = text.split_once('.')?;
    let (_, kind) = sans().find(|(name, _)| *name == kind)?;
    let index = Some(index(number)?);
    Some(client(Client::San { kind, index }))
}

fn sans() -> impl Iterator<Item = (&'static str, SanKind)> {
    [
        ("dns_names", SanKind::DnsNames),
        ("emails", SanKind::Emails),
        ("ips", SanKind::Ips),
        ("uris", SanKind::Uris),
    ]
    .into_iter()
}

#[cfg(test)]
mod tests {
    use super::{FIXED, Placeholder};

    #[test]
    fn every_name_leads_to_a_placeholder_and_back() {
        let own = [
            "http.request.cookie.a",
            "http.request.header.X-A",
            "http.request.host.labels.2",
            "http.request.orig_uri.path.0",
            "http.request.remote.host/24,64",
            "http.request.tls.client.san.dns_names.1",
            "http.request.tls.client.san.uris.0",
            "http.request.uri.path.3",
            "http.request.uri.query.a[b]",
            "http.regexp.name.1",
            "http.regexp.1",
            "http.response.header.X-A",
            "http.reverse_proxy.header.X-A",
            "http.vars.a.b",
            "env.HOME",
            "my_own",
        ];
        for name in FIXED.iter().map(|(name, _)| *name).chain(own) {
            let placeholder: Placeholder = name.parse().unwrap();
            assert_eq!(placeholder.to_string(), name, "{placeholder:?}");
        }
        assert_eq!(
            "http.request.remote.host/16".parse(),
            Ok(Placeholder::RemotePrefix { v4: 16, v6: 16 })
        );
    }

    #[test]
    fn names_below_caddys_own_that_are_none_are_errors() {
        for name in [
            "http.request.host.labels.-1",
            "http.request.uri.path.a",
            "http.request.remote.host/33,1",
            "http.request.tls.client.san.x.1",
            "http.request.tls.client.san.ips.",
            "http.vars.",
            "env.",
            "http.x",
        ] {
            assert!(name.parse::<Placeholder>().is_err(), "{name}");
        }
    }
}
