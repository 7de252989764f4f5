//! Upstreams: `[SCHEME://]HOST[:PORT]`, where the port may be a range, `unix/PATH`, or an address with placeholders.

use super::super::super::cx::Cx;
use crate::{
    caddyfile::token::Token,
    check,
    model::{HostPort, HostPortError, UpstreamAddress, UpstreamAddressError},
};

/// More upstreams of one proxy are refused: a port range can be written in a few characters.
pub(super) const MAX_UPSTREAMS: usize = 10_000;

/// What the upstreams' scheme says about the transport.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scheme {
    #[default]
    None,
    Http,
    Https,
    H2c,
}

/// The scheme, and the addresses that one word stands for.
pub(super) fn parse(token: &Token, cx: &mut Cx<'_>) -> Option<(Scheme, Vec<UpstreamAddress>)> {
    let text = token.text.as_str();
    let (scheme, rest) = match text.split_once("://") {
        None => return without_scheme(token, cx),
        Some((scheme, rest)) => match scheme.to_ascii_lowercase().as_str() {
            "http" => (Scheme::Http, rest),
            "https" => (Scheme::Https, rest),
            "h2c" => (Scheme::H2c, rest),
            other => {
                cx.error(
                    token.span,
                    format!("upstreams by {other}:// are not supported"),
                    scheme_help(other),
                );
                return None;
            }
        },
    };
    if check::no_placeholder(rest).is_err() {
        let help = "leave the scheme out; for TLS, write `transport http { tls }`".to_owned();
        cx.error(token.span, "a scheme before an upstream with placeholders", help);
        return None;
    }
    let default_port = if scheme == Scheme::Https { 443 } else { 80 };
    let dials = dials(rest, default_port)
        .map_err(|error| refuse(token, error.into(), rest, cx))
        .ok()?;
    let (other, what) = if scheme == Scheme::Https {
        (80, "HTTP")
    } else {
        (443, "HTTPS")
    };
    if dials.iter().any(|dial| dial.port() == other) {
        let message = format!("the scheme does not go with port {other}, which is for {what}");
        cx.error(token.span, message, None);
    }
    Some((scheme, dials.into_iter().map(UpstreamAddress::from).collect()))
}

fn without_scheme(token: &Token, cx: &mut Cx<'_>) -> Option<(Scheme, Vec<UpstreamAddress>)> {
    let (scheme, text) = match token.text.strip_prefix("unix+h2c/") {
        Some(path) => (Scheme::H2c, format!("unix/{path}")),
        None => (Scheme::None, token.text.clone()),
    };
    if check::no_placeholder(&text).is_err() || text.contains('/') {
        let address = text
            .parse::<UpstreamAddress>()
            .map_err(|error| refuse(token, error, &text, cx))
            .ok()?;
        return Some((scheme, vec![address]));
    }
    let dials = dials(&text, 80)
        .map_err(|error| refuse(token, error.into(), &text, cx))
        .ok()?;
    Some((scheme, dials.into_iter().map(UpstreamAddress::from).collect()))
}

fn dials(text: &str, default_port: u16) -> Result<Vec<HostPort>, HostPortError> {
    let bare = text
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .unwrap_or(text);
    if bare.parse::<std::net::Ipv6Addr>().is_ok() {
        return Ok(vec![HostPort::new(bare.to_owned(), default_port)]);
    }
    if let Some((host, (first, last))) = text
        .rsplit_once(':')
        .and_then(|(host, ports)| Some((host, range(ports)?)))
    {
        let host: HostPort = format!("{host}:1").parse()?;
        return Ok((first..=last)
            .map(|port| HostPort::new(host.host().to_owned(), port))
            .collect());
    }
    let dial: HostPort = match text.parse() {
        Err(HostPortError::NoPort) if !text.is_empty() => format!("{text}:{default_port}").parse()?,
        other => other?,
    };
    if dial.port() == 0 {
        Err(HostPortError::Port)
    } else {
        Ok(vec![dial])
    }
}

/// `FIRST-LAST`, in order and without zero.
fn range(ports: &str) -> Option<(u16, u16)> {
    let (first, last) = ports.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let range =
        (digits(first) && digits(last)).then(|| Some((first.parse().ok()?, last.parse().ok()?)))??;
    Some(range).filter(|(first, last)| *first > 0 && first <= last)
}

fn refuse(token: &Token, error: UpstreamAddressError, text: &str, cx: &mut Cx<'_>) {
    let message = match error {
        UpstreamAddressError::Address(HostPortError::Port) => {
            "the port is not a number from 1 to 65535, nor a range such as 8080-8083".to_owned()
        }
        UpstreamAddressError::Address(_) => "this is not an upstream".to_owned(),
        other => other.to_string(),
    };
    let help = if text.starts_with("unix/") {
        "write unix//path/of/the.sock"
    } else if text.contains('/') {
        "an upstream has no path: write a host and a port, such as app:8080"
    } else {
        "write a host and a port, such as app:8080 or [::1]:8080"
    };
    cx.error(token.span, message, help.to_owned());
}

fn scheme_help(scheme: &str) -> String {
    let help = match scheme {
        "ws" => "write http://; WebSockets are passed on as they are",
        "wss" => "write https://; WebSockets are passed on as they are",
        _ => "write http://, https:// or h2c://, or no scheme",
    };
    help.to_owned()
}
