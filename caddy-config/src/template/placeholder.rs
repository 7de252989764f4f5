//! What placeholders stand for.

/// What a placeholder stands for. Its full name leads to it and back, see [`FromStr`](std::str::FromStr) and
/// [`Display`](std::fmt::Display).
///
/// A value that a request does not have is the empty string, with these exceptions, whose placeholder then stays as
/// it is written where Caddy replaces only what it knows (field values, bodies, messages of errors), and is empty
/// elsewhere: [`AuthUserId`](Self::AuthUserId), [`Error`](Self::Error), [`Proxy`](Self::Proxy),
/// [`Regexp`](Self::Regexp), [`ResponseStatus`](Self::ResponseStatus), [`Upstream`](Self::Upstream),
/// [`Variable`](Self::Variable).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Placeholder {
    /// `http.auth.user.id`: the name that a user authenticated with.
    AuthUserId,
    /// `http.vars.client_ip`: the client, found through trusted proxies.
    ClientIp,
    /// `http.request.cookie.NAME`: the value of the first cookie of that name, whatever its case.
    Cookie(String),
    /// `http.request.duration`: the time since the request came, such as `1.5ms`.
    Duration,
    /// `http.request.duration_ms`: the same as a number of milliseconds, with a fraction.
    DurationMs,
    /// `env.NAME`: a variable of the environment; the same for every request.
    Env(String),
    /// `http.error` and below: what error routes are told.
    Error(ErrorPart),
    /// `geo.country`: the country of the client's address, two letters in upper case; empty if it is not known.
    GeoCountry,
    /// `http.request.host`: the host without its port.
    Host,
    /// `http.request.host.labels.N`: a label of the host, 0 being the last.
    HostLabel(usize),
    /// `http.request.hostport`: the host as the request has it.
    HostPort,
    /// `http.request.local`: the address that the connection came in at.
    Local(AddressPart),
    /// `http.request.method`.
    Method,
    /// `http.request.orig_method`: before rewrites.
    OrigMethod,
    /// `http.request.orig_uri.path`: decoded, before rewrites.
    OrigPath,
    /// `http.request.orig_uri.path.dir`: see [`Self::PathDir`].
    OrigPathDir,
    /// `http.request.orig_uri.path.file`: see [`Self::PathFile`].
    OrigPathFile,
    /// `http.request.orig_uri.path.N`: see [`Self::PathSegment`].
    OrigPathSegment(usize),
    /// `http.request.orig_uri.prefixed_query`: see [`Self::PrefixedQuery`].
    OrigPrefixedQuery,
    /// `http.request.orig_uri.query`: before rewrites.
    OrigQuery,
    /// `http.request.orig_uri`: path and query as they came.
    OrigUri,
    /// `http.request.uri.path`: decoded.
    Path,
    /// `http.request.uri.path.dir`: the path to and with its last `/`.
    PathDir,
    /// `http.request.uri.path_escaped`: the path escaped so that it may be a value in a query.
    PathEscaped,
    /// `http.request.uri.path.file`: the path behind its last `/`.
    PathFile,
    /// `http.request.uri.path.file.base`: the file without its extension.
    PathFileBase,
    /// `http.request.uri.path.file.ext`: the file from its last point.
    PathFileExt,
    /// `http.request.uri.path.N`: a segment of the path, 0 being the first.
    PathSegment(usize),
    /// `http.request.port`: of the host; empty if it has none. A number in expressions.
    Port,
    /// `http.request.uri.prefixed_query`: the query with its `?`; empty if there is none.
    PrefixedQuery,
    /// `http.request.proto`: such as `HTTP/1.1` or `HTTP/2.0`.
    Proto,
    /// `http.request.proto_name`: such as `HTTP/1.1` or `HTTP/2`.
    ProtoName,
    /// `http.reverse_proxy` and below: the attempts so far and the response of the upstream.
    Proxy(ProxyPart),
    /// `http.request.uri.query`: without the `?`, not decoded.
    Query,
    /// `http.request.uri.query_escaped`: the query escaped so that it may be a value in another one.
    QueryEscaped,
    /// `http.request.uri.query.NAME`: the decoded values of a parameter, joined by `,`.
    QueryParam(String),
    /// `http.regexp.NAME.GROUP` or `http.regexp.GROUP`: what stands behind `http.regexp.`. A group, by number or name,
    /// of the expression of that name that matched last, or of whichever matched last.
    Regexp(String),
    /// `http.request.remote`: the peer's address and port.
    Remote,
    /// `http.request.remote.host`: the peer's address.
    RemoteHost,
    /// `http.request.remote.port`: the peer's port. A number in expressions.
    RemotePort,
    /// `http.request.remote.host/V4,V6`: the peer's network of so many bits, such as `10.1.0.0/16`.
    RemotePrefix {
        /// Bits of an IPv4 address, at most 32.
        v4: u8,
        /// Bits of an IPv6 address, at most 128.
        v6: u8,
    },
    /// `http.request.header.NAME`: the values of a request field, joined by `,`.
    RequestHeader(String),
    /// `http.response.header.NAME`: the values of a response field as it stands, joined by `,`.
    ResponseHeader(String),
    /// `http.response.status`: known when the response has been written, for logs. A number in expressions.
    ResponseStatus,
    /// `http.request.scheme`: `http` or `https`.
    Scheme,
    /// `http.shutting_down`: `true` while the process waits to stop. A bool in expressions.
    ShuttingDown,
    /// `system.NAME`: the machine; the same for every request.
    System(SystemPart),
    /// `time.now` and below: when the placeholder is read.
    Time(TimePart),
    /// `http.time_until_shutdown`: what is left of `shutdown_delay`; empty if the process is not to stop.
    TimeUntilShutdown,
    /// `http.request.tls.NAME`: the connection's TLS; empty without.
    Tls(TlsPart),
    /// `http.reverse_proxy.upstream.NAME`: the upstream that was chosen.
    Upstream(UpstreamPart),
    /// `http.request.uri`: path and query as they came.
    Uri,
    /// `http.request.uri_escaped`: path and query escaped so that they may be a value in a query.
    UriEscaped,
    /// `http.request.uuid`: one of the request's own, made when it is first asked for.
    Uuid,
    /// `http.vars.NAME`: a variable that `vars` set.
    Var(String),
    /// Any other name: a variable that `map` set.
    Variable(String),
}

/// Which part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressPart {
    /// Address and port.
    Whole,
    /// The address.
    Host,
    /// The port. A number in expressions.
    Port,
}

/// What is told of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorPart {
    /// `http.error`: all of it in one text.
    Whole,
    /// `http.error.id`: a short random word, the same as in the log.
    Id,
    /// `http.error.message`.
    Message,
    /// `http.error.status_code`: a number in expressions.
    StatusCode,
    /// `http.error.status_text`: such as `Not Found`.
    StatusText,
    /// `http.error.trace`: where in the program it happened.
    Trace,
}

/// What is told of a reverse proxy's work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProxyPart {
    /// `http.reverse_proxy.upstreams.consul.tier`: `local` or `all`, which instances of a Consul service are used.
    ConsulTier,
    /// `http.reverse_proxy.duration`: the time that all attempts took.
    Duration,
    /// `http.reverse_proxy.duration_ms`.
    DurationMs,
    /// `http.reverse_proxy.header.NAME`: the values of a field of the upstream's response, joined by `,`.
    Header(String),
    /// `http.reverse_proxy.is_transport_error`: whether the attempt failed before there was a response. A bool in
    /// expressions.
    IsTransportError,
    /// `http.reverse_proxy.retries`: attempts after the first one.
    Retries,
    /// `http.reverse_proxy.status_code`: of the upstream's response. A number in expressions.
    StatusCode,
    /// `http.reverse_proxy.status_text`: such as `404 Not Found`.
    StatusText,
}

/// What is told of the upstream that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UpstreamPart {
    /// `address`: as it is dialled, with the network before it if that is not TCP.
    Address,
    /// `duration`: the time from sending the request to the end of the response's head.
    Duration,
    /// `duration_ms`.
    DurationMs,
    /// `fails`: failures that count against it.
    Fails,
    /// `host`.
    Host,
    /// `hostport`.
    HostPort,
    /// `latency`: the time from sending the request to the response's head.
    Latency,
    /// `latency_ms`.
    LatencyMs,
    /// `max_requests`: how many it may have in flight.
    MaxRequests,
    /// `port`.
    Port,
    /// `requests`: how many it has in flight.
    Requests,
}

/// What is told of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SystemPart {
    /// `arch`: the processor, by Go's names: `amd64`, `arm64`.
    Arch,
    /// `hostname`.
    Hostname,
    /// `os`: by Go's names: `linux`, `darwin`.
    Os,
    /// `slash`: what separates the parts of a path.
    Slash,
    /// `wd`: the working directory.
    WorkingDirectory,
}

/// How the time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimePart {
    /// `time.now`: such as `2026-08-01 12:00:00.123456789 +0000 UTC`.
    Now,
    /// `time.now.common_log`: such as `01/Aug/2026:12:00:00 +0000`.
    CommonLog,
    /// `time.now.http`: as in the field `Date`.
    Http,
    /// `time.now.unix`: seconds.
    Unix,
    /// `time.now.unix_ms`: milliseconds.
    UnixMs,
    /// `time.now.year`.
    Year,
}

/// What is told of a connection's TLS.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsPart {
    /// `cipher_suite`: by its name in the standards.
    CipherSuite,
    /// `client.NAME`: the certificate that the client showed.
    Client(ClientCertificatePart),
    /// `ech`: whether the hello was encrypted. A bool in expressions.
    Ech,
    /// `proto`: what was agreed on by ALPN.
    Proto,
    /// `proto_mutual`: `true`.
    ProtoMutual,
    /// `resumed`: whether a session was taken up again. A bool in expressions.
    Resumed,
    /// `server_name`: what the client asked for.
    ServerName,
    /// `version`: such as `tls1.3`.
    Version,
}

/// What is told of a client's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientCertificatePart {
    /// `certificate_der_base64`.
    DerBase64,
    /// `fingerprint`: SHA-256 in hexadecimal digits.
    Fingerprint,
    /// `issuer`: a distinguished name.
    Issuer,
    /// `certificate_pem`.
    Pem,
    /// `public_key`: in hexadecimal digits.
    PublicKey,
    /// `public_key_sha256`: in hexadecimal digits.
    PublicKeySha256,
    /// `san.KIND` (all, as a list) or `san.KIND.N`: alternative names.
    San {
        /// Which of them.
        kind: SanKind,
        /// The number of one of them, from 0.
        index: Option<usize>,
    },
    /// `serial`: a decimal number.
    Serial,
    /// `subject`: a distinguished name.
    Subject,
}

/// The kind of an alternative name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SanKind {
    /// `dns_names`.
    DnsNames,
    /// `emails`.
    Emails,
    /// `ips`.
    Ips,
    /// `uris`.
    Uris,
}
