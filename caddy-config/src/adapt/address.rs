//! Site addresses: `[http://|https://][host][:port][/path]`.

use std::net::{IpAddr, Ipv6Addr};

use ipnet::IpNet;

use crate::check;

/// Ends of names that no public authority knows.
const INTERNAL_SUFFIXES: [&str; 4] = [".localhost", ".local", ".internal", ".home.arpa"];

/// Addresses that no public authority knows.
const INTERNAL_NETWORKS: [&str; 9] = [
    "127.0.0.0/8",
    "0.0.0.0/16",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "::/7",
    "fe80::/10",
    "fc00::/7",
];

/// One address of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) scheme: Scheme,
    /// Lower case, no brackets; empty for every host.
    pub(super) host: String,
    /// `None` if it follows from the scheme.
    pub(super) port: Option<u16>,
    /// Empty for every path.
    pub(super) path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Not written: HTTPS, unless the port is that of HTTP.
    None,
    Http,
    Https,
}

/// What is wrong with an address, and a way out.
pub(super) type Problem = (String, Option<String>);

/// The ports by which HTTP and HTTPS are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub(super) http: u16,
    pub(super) https: u16,
}

// === impl Address ===

impl Address {
    /// Takes an address apart.
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let (scheme, rest) = split_scheme(text)?;
        let (authority, path) = rest
            .split_once('/')
            .map_or((rest, String::new()), |(a, p)| (a, format!("/{p}")));
        let (host, port) = split_port(authority);
        let port = match port {
            None | Some("") => None,
            Some(port) => Some(parse_port(port)?),
        };
        Ok(Self {
            scheme,
            host: parse_host(host)?,
            port,
            path,
        })
    }

    /// The port that it is served on.
    pub(super) fn listen_port(&self, ports: Ports) -> Result<u16, Problem> {
        let port = self.port.unwrap_or(if self.scheme == Scheme::Http {
            ports.http
        } else {
            ports.https
        });
        let other = match self.scheme {
            Scheme::Http => Some(ports.https),
            Scheme::Https => Some(ports.http),
            Scheme::None => None,
        };
        if other == Some(port) {
            let message = format!("the scheme does not go with port {port}");
            return Err((
                message,
                Some("change the scheme or the port, or leave one of them out".to_owned()),
            ));
        }
        Ok(port)
    }

    /// Whether it names any of several hosts.
    pub(super) fn is_wide(&self) -> bool {
        self.host.is_empty() || self.host.contains('*')
    }

    /// How narrow the host is: the more characters that are neither `*` nor a placeholder, the narrower.
    pub(super) fn host_specificity(&self) -> usize {
        specificity(&self.host)
    }

    /// [`Address::host_specificity`] of the path.
    pub(super) fn path_specificity(&self) -> usize {
        specificity(&self.path)
    }
}

fn specificity(text: &str) -> usize {
    let length = |part| match part {
        Part::Text(text) => text.bytes().filter(|byte| *byte != b'*').count(),
        Part::Placeholder(_) => 0,
    };
    parts(text).map(length).sum()
}

fn split_scheme(text: &str) -> Result<(Scheme, &str), Problem> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Ok((Scheme::None, text));
    };
    let help = match scheme.to_ascii_lowercase().as_str() {
        "http" => return Ok((Scheme::Http, rest)),
        "https" => return Ok((Scheme::Https, rest)),
        "ws" => "write http://; WebSockets are passed on as they are",
        "wss" => "write https://; WebSockets are passed on as they are",
        _ => "write http:// or https://, or no scheme",
    };
    Err((
        format!("the scheme {scheme}:// is not one of a site"),
        Some(help.to_owned()),
    ))
}

/// Host and port, if there is one. Brackets go; an IPv6 address without them has no port.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    if let Some((host, rest)) = authority
        .strip_prefix('[')
        .and_then(|inner| inner.split_once(']'))
    {
        return (host, rest.strip_prefix(':'));
    }
    match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => (host, Some(port)),
        _ => (authority, None),
    }
}

fn parse_port(text: &str) -> Result<u16, Problem> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = if digits { text.parse().ok() } else { None };
    port.ok_or_else(|| {
        let help = if text.contains('{') {
            Some("placeholders are not possible here".to_owned())
        } else {
            None
        };
        ("the port is not a number from 0 to 65535".to_owned(), help)
    })
}

fn parse_host(host: &str) -> Result<String, Problem> {
    if let Ok(address) = host.parse::<Ipv6Addr>() {
        return Ok(address.to_string());
    }
    let wrong = || {
        let help = "write a host, such as example.com, or :8080";
        (
            "this is not an address of a site".to_owned(),
            Some(help.to_owned()),
        )
    };
    let ascii = check::ascii_host(host).ok_or_else(wrong)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._*".contains(c);
    let mut out = String::with_capacity(ascii.len());
    for part in parts(&ascii) {
        match part {
            Part::Text(text) if text.chars().all(plain) => out.push_str(&text.to_ascii_lowercase()),
            Part::Text(_) => return Err(wrong()),
            Part::Placeholder(text) => out.push_str(text),
        }
    }
    Ok(out)
}

/// A part of a host or path.
enum Part<'t> {
    Text(&'t str),
    /// In its braces.
    Placeholder(&'t str),
}

/// The parts of a text; a brace without its other one is text.
fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = match rest.find('{') {
            Some(0) => rest.find('}').map_or(rest.len(), |end| end.saturating_add(1)),
            Some(start) if rest.get(start..)?.contains('}') => start,
            _ => rest.len(),
        };
        let (part, behind) = rest.split_at_checked(end).filter(|(part, _)| !part.is_empty())?;
        rest = behind;
        Some(if part.starts_with('{') && part.ends_with('}') {
            Part::Placeholder(part)
        } else {
            Part::Text(part)
        })
    })
}

// === names and certificates ===

/// Whether a certificate can be had for a name at all.
pub(super) fn qualifies_for_certificate(name: &str) -> bool {
    !name.starts_with('.')
        && !name.ends_with('.')
        && (!name.contains('*') || name.starts_with("*.") || name == "*")
        && !name.contains(|c: char| "()[]{}<> \t\n\"\\!@#$%^&|;'+=".contains(c))
}

/// Whether a public authority is asked for a name when nothing is said; never for an address.
pub(super) fn is_public(name: &str) -> bool {
    is_public_on_demand(name) && name.matches("*.").count() < 2
}

/// [`is_public`] for certificates that are obtained in handshakes: wildcards are never obtained there.
pub(super) fn is_public_on_demand(name: &str) -> bool {
    name.parse::<IpAddr>().is_err() && !is_internal(name)
}

/// Whether a public authority could issue for a name or an address.
pub(super) fn is_certifiable(name: &str) -> bool {
    let wildcard = name.contains('*');
    let lone = name.matches('*').count() == 1 && name.matches('.').count() > 1 && name.starts_with("*.");
    qualifies_for_certificate(name) && !is_internal(name) && (!wildcard || lone)
}

fn is_internal(name: &str) -> bool {
    if let Ok(address) = name.parse::<IpAddr>() {
        return INTERNAL_NETWORKS
            .iter()
            .any(|net| net.parse::<IpNet>().is_ok_and(|net| net.contains(&address)));
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || INTERNAL_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// Whether `wide` is `name`, or stands for it with `*` in place of its first labels.
pub(super) fn covers(wide: &str, name: &str) -> bool {
    wide == name || wildcards(name).any(|wildcard| wildcard == wide)
}

/// The wildcard names that stand for `name`: its first labels, one after the other, become `*`.
pub(super) fn wildcards(name: &str) -> impl Iterator<Item = String> {
    let mut labels: Vec<&str> = name.split('.').collect();
    let mut index = 0;
    std::iter::from_fn(move || {
        while labels.get(index).is_some_and(|label| label.is_empty()) {
            index = index.saturating_add(1);
        }
        *labels.get_mut(index)? = "*";
        index = index.saturating_add(1);
        Some(labels.join("."))
    })
}

#[cfg(test)]
mod tests;
