//! Text with placeholders, parsed once when a route is compiled.

use std::fmt::Write as _;
use std::str::FromStr;

use caddy_config::{Part, Placeholder, TemplateError};
use http::Version;
use http::header;

use crate::percent::decode as percent_decode;
use crate::request::{Context, PeerName};

/// Text with placeholders, as the configuration's language defines them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Template(caddy_config::Template);

// === impl Template ===

impl Template {
    /// The text for one request.
    pub(crate) fn render(&self, cx: &Context) -> String {
        let mut out = String::new();
        for part in self.0.parts() {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Placeholder(placeholder) => render(placeholder, cx, &mut out),
            }
        }
        out
    }

    /// The text if it is the same for every request.
    pub(crate) fn as_static(&self) -> Option<&str> {
        match self.0.parts() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }
}

impl FromStr for Template {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

fn render(placeholder: &Placeholder, cx: &Context, out: &mut String) {
    match placeholder {
        Placeholder::Method => out.push_str(cx.parts.method.as_str()),
        Placeholder::Scheme => out.push_str(if cx.tls { "https" } else { "http" }),
        Placeholder::Proto => out.push_str(proto(cx.parts.version)),
        Placeholder::Host => out.push_str(split_port(cx.host_port()).0),
        Placeholder::Port => out.push_str(split_port(cx.host_port()).1),
        Placeholder::HostPort => out.push_str(cx.host_port()),
        Placeholder::Uri => out.push_str(cx.parts.uri.path_and_query().map_or("/", |uri| uri.as_str())),
        Placeholder::Path => out.push_str(&percent_decode(cx.path())),
        Placeholder::Query => out.push_str(cx.query().unwrap_or_default()),
        Placeholder::PrefixedQuery => {
            if let Some(query) = cx.query() {
                out.push('?');
                out.push_str(query);
            }
        }
        Placeholder::RequestHeader(name) => push_joined(out, cx, name),
        Placeholder::Cookie(name) => out.push_str(cookie(cx, name).unwrap_or_default()),
        Placeholder::Remote => push_display(out, PeerName(cx.peer)),
        Placeholder::RemoteHost => match cx.peer {
            Some(peer) => push_display(out, peer.ip()),
            None => out.push('@'),
        },
        Placeholder::RemotePort => {
            if let Some(peer) = cx.peer {
                push_display(out, peer.port());
            }
        }
        Placeholder::ClientIp => {
            if let Some(ip) = cx.client_ip {
                push_display(out, ip);
            }
        }
        // Unknown, as one that no request has: it stays as it is written.
        other => {
            let written = write!(out, "{{{other}}}");
            debug_assert!(written.is_ok(), "a String takes all text");
        }
    }
}

// === helpers ===

/// The name of an HTTP version as Caddy writes it.
pub(crate) fn proto(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        Version::HTTP_3 => "HTTP/3.0",
        _ => "HTTP/1.1",
    }
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

fn push_joined(out: &mut String, cx: &Context, name: &str) {
    for (index, value) in cx.parts.headers.get_all(name).iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&String::from_utf8_lossy(value.as_bytes()));
    }
}

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
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value.trim_matches('"'))
}

fn push_display(out: &mut String, value: impl std::fmt::Display) {
    let written = write!(out, "{value}");
    debug_assert!(written.is_ok(), "a String takes all text");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::tests::context;

    fn rendered(template: &str) -> String {
        let mut cx = context("GET", "http://A.test:8080/p%20q/%zz?x=1&y");
        cx.parts
            .headers
            .append("cookie", "a=1; up=\"tok\"".parse().unwrap());
        cx.parts.headers.append("x-many", "1".parse().unwrap());
        cx.parts.headers.append("x-many", "2".parse().unwrap());
        template.parse::<Template>().unwrap().render(&cx)
    }

    #[test]
    fn placeholders_give_the_request() {
        let cases = [
            (
                "https://{http.request.host}{http.request.uri}",
                "https://A.test/p%20q/%zz?x=1&y",
            ),
            ("{http.request.hostport} {http.request.port}", "A.test:8080 8080"),
            ("{http.request.uri.path}", "/p q/%zz"),
            (
                "{http.request.uri.query}{http.request.uri.prefixed_query}",
                "x=1&y?x=1&y",
            ),
            (
                "{http.request.method} {http.request.scheme} {http.request.proto}",
                "GET http HTTP/1.1",
            ),
            ("{http.request.header.X-Many} {http.request.cookie.up}", "1,2 tok"),
            (
                "{http.request.remote} {http.request.remote.host} {http.vars.client_ip}",
                "192.0.2.1:4711 192.0.2.1 192.0.2.9",
            ),
        ];
        for (template, expected) in cases {
            assert_eq!(rendered(template), expected, "{template}");
        }
    }

    #[test]
    fn the_port_is_split_from_names_and_ipv6_addresses() {
        for (host, expected) in [
            ("a:1", ("a", "1")),
            ("a", ("a", "")),
            ("[::1]:80", ("::1", "80")),
            ("[::1]", ("::1", "")),
        ] {
            assert_eq!(split_port(host), expected);
        }
    }
}
