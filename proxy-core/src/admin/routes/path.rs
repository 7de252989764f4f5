//! Paths of requests: brought to their plain form, then told apart.

use http::Uri;

/// What a request is about.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::admin) enum Path {
    Config(String),
    /// The id, and the rest of the path behind it.
    Id(Option<(String, String)>),
    Load,
    Adapt,
    Stop,
    Upstreams,
    Geo,
    Pods,
    Eskip,
    Metrics,
    /// `/replicas`, `/routes` and everything below it.
    Hosts(String),
    /// Everything below `/pki/`.
    Pki(String),
    Unknown,
}

/// A path that is about nothing.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::admin) enum Asked {
    /// It is written here in its plain form.
    Elsewhere(String),
    /// It cannot be decoded.
    Nonsense,
}

// === impl Path ===

/// The paths that metrics tell apart. Those that end with a slash stand for all below them.
const COUNTED: [&str; 14] = [
    "/adapt",
    "/config/",
    "/doors/geo",
    "/doors/pods",
    "/eskip/routes",
    "/id/",
    "/load",
    "/metrics",
    "/pki/",
    "/replicas",
    "/reverse_proxy/upstreams",
    "/routes",
    "/routes/",
    "/stop",
];

/// The path by which a request is counted, if it is for something that there is.
pub(in crate::admin) fn counted(uri: &Uri) -> Option<&'static str> {
    let is_of = |one: &&str| uri.path() == *one || (one.ends_with('/') && uri.path().starts_with(*one));
    COUNTED.into_iter().find(is_of)
}

impl Path {
    pub(in crate::admin) fn of(uri: &Uri) -> Result<Self, Asked> {
        let written = uri.path();
        let mut plain = clean(written);
        if matches!(plain.as_str(), "/config" | "/id" | "/pki") {
            plain.push('/');
        }
        if plain != written {
            let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
            return Err(Asked::Elsewhere(plain + &query));
        }
        let path = decode(&plain).ok_or(Asked::Nonsense)?;
        Ok(match path.as_str() {
            "/load" => Self::Load,
            "/adapt" => Self::Adapt,
            "/stop" => Self::Stop,
            "/reverse_proxy/upstreams" => Self::Upstreams,
            "/doors/geo" => Self::Geo,
            "/doors/pods" => Self::Pods,
            "/eskip/routes" => Self::Eskip,
            "/metrics" => Self::Metrics,
            "/replicas" | "/routes" => Self::Hosts(path),
            _ if path.starts_with("/routes/") => Self::Hosts(path),
            _ if path.starts_with("/pki/") => Self::Pki(path),
            _ if path.starts_with("/config/") => Self::Config(path),
            _ => match path.strip_prefix("/id/") {
                Some(rest) => Self::Id(id(rest)),
                None => Self::Unknown,
            },
        })
    }
}

fn id(rest: &str) -> Option<(String, String)> {
    let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
    (!id.is_empty()).then(|| (id.to_owned(), rest.to_owned()))
}

/// The path without `.`, `..` and empty parts. Percent signs stay as they are.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let mut plain: String = parts.iter().flat_map(|part| ["/", part]).collect();
    if plain.is_empty() || path.ends_with('/') {
        plain.push('/');
    }
    plain
}

fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uri: &str) -> Result<Path, Asked> {
        Path::of(&uri.parse().unwrap())
    }

    #[test]
    fn paths_are_told_apart_as_caddy_does() {
        let id = |id: &str, rest: &str| Ok(Path::Id(Some((id.to_owned(), rest.to_owned()))));
        assert_eq!(of("/config/"), Ok(Path::Config("/config/".to_owned())));
        assert_eq!(
            of("/config/%61/b/?x=1"),
            Ok(Path::Config("/config/a/b/".to_owned()))
        );
        assert_eq!(
            of("/config/%2e%2e/x"),
            Ok(Path::Config("/config/../x".to_owned()))
        );
        assert_eq!(of("/id/"), Ok(Path::Id(None)));
        assert_eq!(of("/id/a"), id("a", ""));
        assert_eq!(of("/id/a%2Fb/c/d"), id("a", "b/c/d"));
        assert_eq!(of("/load"), Ok(Path::Load));
        for hosts in ["/routes", "/routes/", "/routes/a.test/history", "/replicas"] {
            assert_eq!(of(hosts), Ok(Path::Hosts(hosts.to_owned())), "{hosts}");
        }
        for unknown in [
            "/",
            "/replicas/",
            "/routesx",
            "/load/",
            "/stop/",
            "/configs",
            "/debug/pprof/",
        ] {
            assert_eq!(of(unknown), Ok(Path::Unknown), "{unknown}");
        }
    }

    #[test]
    fn other_spellings_are_redirected_and_nonsense_is_refused() {
        for (path, location) in [
            ("/config", "/config/"),
            ("/config?x=1", "/config/?x=1"),
            ("/id", "/id/"),
            ("/config//apps", "/config/apps"),
            ("/config/./x", "/config/x"),
            ("/a/../config/", "/config/"),
            ("//config/", "/config/"),
            ("/load/../load", "/load"),
            ("/../..", "/"),
        ] {
            assert_eq!(of(path), Err(Asked::Elsewhere(location.to_owned())), "{path}");
        }
        for path in ["/config/%zz", "/config/%", "/config/%f", "/config/%ff"] {
            assert_eq!(of(path), Err(Asked::Nonsense), "{path}");
        }
    }
}
