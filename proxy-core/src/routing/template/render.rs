//! What stands for each placeholder.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, UNIX_EPOCH};

use caddy_config::{AddressPart, ErrorPart, Placeholder, ProxyPart, SystemPart, TimePart, UpstreamPart};
use http::header::{self, HeaderMap, HeaderValue};
use http::{StatusCode, Version};
use tokio::time::Instant;

use super::duration::GoDuration;
use super::tls;
use crate::clock;
use crate::facts::{self, Facts};
use crate::percent;
use crate::request::{self, Context, PeerName};
use crate::routing::slots::Value;

/// The name of an HTTP version as Caddy writes it.
pub(crate) fn proto(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        Version::HTTP_3 => "HTTP/3.0",
        _ => "HTTP/1.1",
    }
}

/// Writes the value; `false`, and nothing, if there is none.
pub(super) fn placeholder(placeholder: &Placeholder, cx: &Context, out: &mut String) -> bool {
    match placeholder {
        Placeholder::Error(part) => return cx.error.as_ref().is_some_and(|_| error(*part, cx, out)),
        Placeholder::Proxy(part) => return proxy(part, cx, out),
        Placeholder::Upstream(part) => return upstream(*part, cx, out),
        Placeholder::ResponseStatus => return false,
        Placeholder::Method => out.push_str(cx.parts.method.as_str()),
        Placeholder::OrigMethod => out.push_str(cx.original_method().as_str()),
        Placeholder::Scheme => out.push_str(if cx.tls { "https" } else { "http" }),
        Placeholder::Proto => out.push_str(proto(cx.parts.version)),
        Placeholder::ProtoName => out.push_str(proto_name(cx.parts.version)),
        Placeholder::Host => out.push_str(split_port(cx.host_port()).0),
        Placeholder::HostLabel(index) => out.push_str(&label(cx, *index).to_lowercase()),
        Placeholder::Port => out.push_str(split_port(cx.host_port()).1),
        Placeholder::HostPort => out.push_str(cx.host_port()),
        Placeholder::RequestHeader(name) => push_joined(out, &cx.parts.headers, name),
        Placeholder::ResponseHeader(name) => push_joined(out, &cx.answer, name),
        Placeholder::Cookie(name) => out.push_str(cookie(cx, name).unwrap_or_default()),
        Placeholder::Remote => push(out, PeerName(cx.peer)),
        Placeholder::RemoteHost => match cx.peer {
            Some(peer) => push(out, peer.ip()),
            None => out.push('@'),
        },
        Placeholder::RemotePort => push_any(out, cx.peer.map(|peer| peer.port())),
        Placeholder::RemotePrefix { v4, v6 } => {
            if let Some(peer) = cx.peer {
                push_network(out, peer.ip(), *v4, *v6);
            }
        }
        Placeholder::ClientIp => push_any(out, cx.client_ip),
        Placeholder::Duration => push(out, GoDuration(since_begin(cx))),
        Placeholder::DurationMs => push(out, milliseconds(since_begin(cx))),
        Placeholder::Uuid => out.push_str(cx.uuid()),
        Placeholder::Time(part) => time(*part, out),
        Placeholder::Tls(part) => tls::part(part, cx, out),
        Placeholder::Local(part) => local(*part, cx, out),
        Placeholder::ShuttingDown => push(out, closing(cx).is_some()),
        Placeholder::TimeUntilShutdown => {
            let left = closing(cx).map(|at| at.saturating_duration_since(Instant::now()));
            push_any(out, left.map(GoDuration));
        }
        _ => target(placeholder, cx, out),
    }
    true
}

/// The value with its kind, where expressions tell kinds apart.
pub(super) fn value(placeholder: &Placeholder, cx: &Context) -> Value {
    let mut text = String::new();
    if !self::placeholder(placeholder, cx, &mut text) {
        return Value::Null;
    }
    let number = matches!(
        placeholder,
        Placeholder::Port
            | Placeholder::RemotePort
            | Placeholder::Local(AddressPart::Port)
            | Placeholder::Error(ErrorPart::StatusCode)
            | Placeholder::Proxy(ProxyPart::StatusCode | ProxyPart::Retries)
            | Placeholder::Time(TimePart::Unix | TimePart::UnixMs | TimePart::Year)
            | Placeholder::DurationMs
    );
    let flag = matches!(
        placeholder,
        Placeholder::ShuttingDown | Placeholder::Proxy(ProxyPart::IsTransportError)
    );
    match (number, flag) {
        (true, _) => text.parse().map_or_else(|_| Value::text(&text), Value::Number),
        (_, true) => Value::Bool(text == "true"),
        _ => Value::text(&text),
    }
}

fn closing(cx: &Context) -> Option<Instant> {
    cx.facts.as_ref().and_then(|facts| facts.closing)
}

// === the target ===

fn target(placeholder: &Placeholder, cx: &Context, out: &mut String) {
    let original = cx.original_uri();
    match placeholder {
        Placeholder::Uri => out.push_str(cx.target()),
        Placeholder::UriEscaped => out.push_str(&percent::encode_query(cx.target())),
        Placeholder::Path => out.push_str(&percent::decode(cx.path())),
        Placeholder::PathEscaped => out.push_str(&percent::encode_query(&percent::decode(cx.path()))),
        Placeholder::PathDir => out.push_str(dir(&percent::decode(cx.path()))),
        Placeholder::PathFile => out.push_str(file(&percent::decode(cx.path()))),
        Placeholder::PathFileBase => out.push_str(split_extension(last(&percent::decode(cx.path()))).0),
        Placeholder::PathFileExt => out.push_str(split_extension(last(&percent::decode(cx.path()))).1),
        Placeholder::PathSegment(index) => out.push_str(segment(&percent::decode(cx.path()), *index)),
        Placeholder::Query => out.push_str(cx.query().unwrap_or_default()),
        Placeholder::QueryEscaped => out.push_str(&percent::encode_query(cx.query().unwrap_or_default())),
        Placeholder::PrefixedQuery => push_prefixed(out, cx.query()),
        Placeholder::QueryParam(name) => push_param(out, cx.query().unwrap_or_default(), name),
        Placeholder::OrigUri => out.push_str(request::target(original)),
        Placeholder::OrigPath => out.push_str(&percent::decode(original.path())),
        Placeholder::OrigPathDir => out.push_str(dir(&percent::decode(original.path()))),
        Placeholder::OrigPathFile => out.push_str(file(&percent::decode(original.path()))),
        Placeholder::OrigPathSegment(index) => {
            out.push_str(segment(&percent::decode(original.path()), *index));
        }
        Placeholder::OrigQuery => out.push_str(original.query().unwrap_or_default()),
        Placeholder::OrigPrefixedQuery => push_prefixed(out, original.query()),
        _ => {}
    }
}

fn dir(path: &str) -> &str {
    path.rfind('/').and_then(|at| path.get(..=at)).unwrap_or_default()
}

fn file(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The last segment that is not empty; of the root, the slash.
fn last(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => "/",
        trimmed => file(trimmed),
    }
}

/// A name without and its ending from the last point.
fn split_extension(file: &str) -> (&str, &str) {
    file.rfind('.')
        .and_then(|at| file.split_at_checked(at))
        .unwrap_or((file, ""))
}

fn segment(path: &str, index: usize) -> &str {
    path.trim_start_matches('/')
        .split('/')
        .nth(index)
        .unwrap_or_default()
}

fn push_prefixed(out: &mut String, query: Option<&str>) {
    if let Some(query) = query.filter(|query| !query.is_empty()) {
        out.push('?');
        out.push_str(query);
    }
}

/// The values of a parameter. A pair that holds a semicolon, which is a separator for some, is none.
fn push_param(out: &mut String, query: &str, name: &str) {
    let pairs = query.split('&').filter(|pair| !pair.contains(';'));
    let values = pairs.filter_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (!pair.is_empty() && percent::decode_query(key)? == name)
            .then(|| percent::decode_query(value))
            .flatten()
    });
    push_list(out, values);
}

// === host and head ===

fn label(cx: &Context, index: usize) -> &str {
    split_port(cx.host_port())
        .0
        .rsplit('.')
        .nth(index)
        .unwrap_or_default()
}

fn split_port(host: &str) -> (&str, &str) {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') && (name.ends_with(']') || !name.contains(':')) => {
            (name, port)
        }
        _ => (host, ""),
    };
    (name.trim_start_matches('[').trim_end_matches(']'), port)
}

fn proto_name(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        Version::HTTP_3 => "HTTP/3",
        _ => "HTTP/1.1",
    }
}

/// Writes the value of a field as it came. `false` if `placeholder` is none, or the field is not there.
pub(super) fn field(placeholder: &Placeholder, cx: &Context, out: &mut Vec<u8>) -> bool {
    let (headers, name) = match placeholder {
        Placeholder::RequestHeader(name) => (&cx.parts.headers, name),
        Placeholder::ResponseHeader(name) => (&cx.answer, name),
        Placeholder::Proxy(ProxyPart::Header(name)) => match &cx.caught {
            Some(caught) => (caught.headers(), name),
            None => return false,
        },
        _ => return false,
    };
    let mut found = false;
    for value in headers.get_all(name) {
        if std::mem::replace(&mut found, true) {
            out.push(b',');
        }
        out.extend_from_slice(value.as_bytes());
    }
    found
}

fn push_joined(out: &mut String, headers: &HeaderMap, name: &str) {
    let values = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    push_list(out, values.map(String::from_utf8_lossy));
}

/// The first cookie of the name, whatever its case.
fn cookie<'c>(cx: &'c Context, name: &str) -> Option<&'c str> {
    let lines = cx
        .parts
        .headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok());
    let mut pairs = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim_matches('"'))
}

// === connection and time ===

fn local(part: AddressPart, cx: &Context, out: &mut String) {
    let Some(address) = cx.facts.as_ref().and_then(|facts| facts.local) else {
        return;
    };
    match part {
        AddressPart::Whole => push(out, address),
        AddressPart::Host => push(out, address.ip()),
        AddressPart::Port => push(out, address.port()),
    }
}

fn push_network(out: &mut String, address: IpAddr, v4: u8, v6: u8) {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX
                .checked_shl(32 - u32::from(v4.min(32)))
                .unwrap_or_default();
            push(out, Ipv4Addr::from_bits(address.to_bits() & mask));
            push(out, format_args!("/{v4}"));
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX
                .checked_shl(128 - u32::from(v6.min(128)))
                .unwrap_or_default();
            push(out, Ipv6Addr::from_bits(address.to_bits() & mask));
            push(out, format_args!("/{v6}"));
        }
    }
}

fn since_begin(cx: &Context) -> Duration {
    cx.facts
        .as_ref()
        .map(|facts| facts.began.elapsed())
        .unwrap_or_default()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn time(part: TimePart, out: &mut String) {
    let now = clock::wall();
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let date = clock::Date::of(now);
    match part {
        TimePart::Http => out.push_str(&httpdate::fmt_http_date(now)),
        TimePart::Unix => push(out, since.as_secs()),
        TimePart::UnixMs => push(out, since.as_millis()),
        TimePart::Year => push(out, date.year),
        TimePart::Now => push(out, format_args!("{date}.{:09} +0000 UTC", since.subsec_nanos())),
        TimePart::CommonLog => out.push_str(&date.common_log()),
    }
}

/// The machine, which is the same for every request.
pub(super) fn system(part: SystemPart) -> String {
    match part {
        SystemPart::Arch => match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
        .to_owned(),
        SystemPart::Hostname => facts::host_name(),
        SystemPart::Os => match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        }
        .to_owned(),
        SystemPart::Slash => std::path::MAIN_SEPARATOR.to_string(),
        SystemPart::WorkingDirectory => std::env::current_dir()
            .map(|path| path.display().to_string())
            .unwrap_or_default(),
    }
}

// === errors and upstreams ===

fn error(part: ErrorPart, cx: &Context, out: &mut String) -> bool {
    let Some(told) = &cx.error else { return false };
    match part {
        ErrorPart::Whole => push(out, &**told),
        ErrorPart::Id => out.push_str(&told.id),
        ErrorPart::Message => out.push_str(&told.message),
        ErrorPart::StatusCode => push(out, told.status.as_u16()),
        ErrorPart::StatusText => out.push_str(words(told.status)),
        ErrorPart::Trace => out.push_str(request::TRACE),
    }
    true
}

fn proxy(part: &ProxyPart, cx: &Context, out: &mut String) -> bool {
    let facts = cx.facts.as_ref();
    let took = || facts.and_then(|facts| facts.proxied);
    match part {
        ProxyPart::ConsulTier => some(out, facts.and_then(|facts| facts.consul_tier)),
        ProxyPart::Header(name) => {
            let Some(caught) = &cx.caught else { return false };
            if !caught.headers().contains_key(name) {
                return false;
            }
            push_joined(out, caught.headers(), name);
            true
        }
        ProxyPart::StatusCode => some(out, cx.caught.as_ref().map(|caught| caught.status().as_u16())),
        ProxyPart::StatusText => some(
            out,
            cx.caught
                .as_ref()
                .map(|caught| format!("{} {}", caught.status().as_u16(), words(caught.status()))),
        ),
        ProxyPart::Retries => some(
            out,
            facts
                .filter(|facts| facts.upstream.is_some())
                .map(|facts| facts.retries),
        ),
        ProxyPart::Duration => some(out, took().map(GoDuration)),
        ProxyPart::DurationMs => some(out, took().map(milliseconds)),
        ProxyPart::IsTransportError => some(out, facts.map(|facts| facts.transport_error)),
    }
}

fn upstream(part: UpstreamPart, cx: &Context, out: &mut String) -> bool {
    let chosen = cx
        .facts
        .as_deref()
        .and_then(|facts: &Facts| facts.upstream.as_ref());
    let Some(chosen) = chosen else { return false };
    match part {
        UpstreamPart::Address => {
            out.push_str(if chosen.is_socket() { "unix/" } else { "tcp/" });
            out.push_str(&chosen.address());
        }
        UpstreamPart::HostPort => out.push_str(&chosen.address()),
        UpstreamPart::Host => out.push_str(&chosen.host),
        UpstreamPart::Port => push(out, chosen.port),
        UpstreamPart::Latency | UpstreamPart::Duration => {
            return some(out, chosen.latency.map(GoDuration));
        }
        UpstreamPart::LatencyMs | UpstreamPart::DurationMs => {
            return some(out, chosen.latency.map(milliseconds));
        }
        UpstreamPart::Fails | UpstreamPart::MaxRequests | UpstreamPart::Requests => out.push('0'),
    }
    true
}

fn words(status: StatusCode) -> &'static str {
    match status.as_u16() {
        // As Go words them, and so Caddy.
        203 => "Non-Authoritative Information",
        413 => "Request Entity Too Large",
        414 => "Request URI Too Long",
        416 => "Requested Range Not Satisfiable",
        _ => status.canonical_reason().unwrap_or_default(),
    }
}

// === writing ===

fn some(out: &mut String, value: Option<impl Display>) -> bool {
    let is_some = value.is_some();
    push_any(out, value);
    is_some
}

fn push_list<'t>(out: &mut String, values: impl Iterator<Item = Cow<'t, str>>) {
    for (index, value) in values.enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&value);
    }
}

fn push_any(out: &mut String, value: Option<impl Display>) {
    if let Some(value) = value {
        push(out, value);
    }
}

fn push(out: &mut String, value: impl Display) {
    let written = write!(out, "{value}");
    debug_assert!(written.is_ok(), "a String takes all text");
}
