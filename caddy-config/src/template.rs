//! Text with placeholders, such as `https://{http.request.host}{http.request.uri}`.
//!
//! A placeholder is a name in braces. One that is no name at all, like the braces of a JSON body, is text, as in
//! Caddy; one that Caddy would replace and Doorway cannot is an error, since passing it on would show a client
//! what was meant for the proxy. A backslash before a brace makes it text.

use std::str::FromStr;

use crate::check;

/// Text in pieces, parsed once and evaluated for each request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

/// A piece of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// To be taken as it is; never empty.
    Text(String),
    /// To be replaced.
    Placeholder(Placeholder),
}

/// What a placeholder stands for. An absent value is the empty string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Placeholder {
    /// `http.vars.client_ip`: the client, found through trusted proxies.
    ClientIp,
    /// `http.request.cookie.NAME`: the value of the first cookie of that name.
    Cookie(String),
    /// `http.request.host`: the host without its port.
    Host,
    /// `http.request.hostport`: the host as the request has it.
    HostPort,
    /// `http.request.method`.
    Method,
    /// `http.request.uri.path`: decoded.
    Path,
    /// `http.request.port`: of the host; empty if it has none.
    Port,
    /// `http.request.uri.prefixed_query`: the query with its `?`; empty if there is none.
    PrefixedQuery,
    /// `http.request.proto`: such as `HTTP/1.1` or `HTTP/2.0`.
    Proto,
    /// `http.request.uri.query`: without the `?`, not decoded.
    Query,
    /// `http.request.remote`: the peer's address and port.
    Remote,
    /// `http.request.remote.host`: the peer's address.
    RemoteHost,
    /// `http.request.remote.port`: the peer's port.
    RemotePort,
    /// `http.request.header.NAME`: the values of a request field, joined by `,`.
    RequestHeader(String),
    /// `http.request.scheme`: `http` or `https`.
    Scheme,
    /// `http.request.uri`: path and query as they came.
    Uri,
}

/// A text has a placeholder that Caddy knows and Doorway does not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the placeholder `{{{name}}}` is not supported yet")]
pub struct TemplateError {
    name: String,
}

/// Names below these are Caddy's own.
const NAMESPACES: [&str; 5] = ["http.", "env.", "system.", "time.", "file."];

/// The supported placeholders, by their full names.
pub(crate) const SUPPORTED: &str = "supported: {http.request.NAME} with the NAME cookie.*, header.*, host, hostport, \
    method, port, proto, remote, remote.host, remote.port, scheme, uri, uri.path, uri.query or uri.prefixed_query; \
    {http.vars.client_ip}";

const REQUEST_HEADER: &str = "http.request.header.";
const REQUEST_COOKIE: &str = "http.request.cookie.";

// === impl TemplateError ===

impl TemplateError {
    /// The full name, without braces.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

// === impl Template ===

impl Template {
    /// The pieces in order; no two of them are text in a row.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn push_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Text(last)) => last.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }
}

impl FromStr for Template {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut template = Self::default();
        let mut rest = text;
        while let Some((before, tail)) = rest.split_once(['{', '}']) {
            let brace = if rest.get(before.len()..).is_some_and(|at| at.starts_with('{')) {
                "{"
            } else {
                "}"
            };
            if let Some(before) = before.strip_suffix('\\') {
                template.push_text(before);
                template.push_text(brace);
                rest = tail;
                continue;
            }
            template.push_text(before);
            let name = if brace == "{" { split_name(tail) } else { None };
            match name.map(|(name, behind)| (Placeholder::named(name), behind)) {
                Some((Ok(Some(placeholder)), behind)) => {
                    template.parts.push(Part::Placeholder(placeholder));
                    rest = behind;
                }
                Some((Err(error), _)) => return Err(error),
                Some((Ok(None), _)) | None => {
                    template.push_text(brace);
                    rest = tail;
                }
            }
        }
        template.push_text(rest);
        Ok(template)
    }
}

// === impl Placeholder ===

impl Placeholder {
    /// `None` for a name that Caddy would not replace either.
    fn named(name: &str) -> Result<Option<Self>, TemplateError> {
        let placeholder = match name {
            "http.vars.client_ip" => Self::ClientIp,
            "http.request.host" => Self::Host,
            "http.request.hostport" => Self::HostPort,
            "http.request.method" => Self::Method,
            "http.request.uri.path" => Self::Path,
            "http.request.port" => Self::Port,
            "http.request.uri.prefixed_query" => Self::PrefixedQuery,
            "http.request.proto" => Self::Proto,
            "http.request.uri.query" => Self::Query,
            "http.request.remote" => Self::Remote,
            "http.request.remote.host" => Self::RemoteHost,
            "http.request.remote.port" => Self::RemotePort,
            "http.request.scheme" => Self::Scheme,
            "http.request.uri" => Self::Uri,
            _ => match (
                word_behind(REQUEST_HEADER, name),
                word_behind(REQUEST_COOKIE, name),
            ) {
                (Some(field), _) => Self::RequestHeader(field),
                (None, Some(cookie)) => Self::Cookie(cookie),
                (None, None) if is_caddys(name) => {
                    return Err(TemplateError {
                        name: name.to_owned(),
                    });
                }
                (None, None) => return Ok(None),
            },
        };
        Ok(Some(placeholder))
    }
}

/// The name of a header field or cookie behind `prefix`.
fn word_behind(prefix: &str, name: &str) -> Option<String> {
    let word = name.strip_prefix(prefix)?;
    check::field_name(word).is_ok().then(|| word.to_owned())
}

/// A name and what follows its brace. Names end soon, so that a text full of braces is not searched again and again.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let (name, behind) = text.split_at_checked(text.find(|c| !is_word(c))?)?;
    Some((name, behind.strip_prefix('}')?))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-/,?%:".contains(c)
}

/// Whether Caddy has something to put in its place.
fn is_caddys(name: &str) -> bool {
    NAMESPACES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::{Part, Placeholder, Template};

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn parts(text: &str) -> Vec<Part> {
        text.parse::<Template>().unwrap().parts().to_vec()
    }

    #[test]
    fn placeholders_and_text_alternate() {
        assert_eq!(
            parts("https://{http.request.host}{http.request.uri}!"),
            [
                text("https://"),
                Part::Placeholder(Placeholder::Host),
                Part::Placeholder(Placeholder::Uri),
                text("!")
            ]
        );
        assert_eq!(parts(""), []);
        assert_eq!(
            parts("{http.request.cookie.a}"),
            [Part::Placeholder(Placeholder::Cookie("a".to_owned()))]
        );
        assert_eq!(
            parts("{http.request.header.X-A}"),
            [Part::Placeholder(Placeholder::RequestHeader("X-A".to_owned()))]
        );
    }

    #[test]
    fn braces_that_name_nothing_are_text_and_those_inside_are_still_read() {
        let body = r#"{"host": "{http.request.host}", "x": {}}"#;
        assert_eq!(
            parts(body),
            [
                text(r#"{"host": ""#),
                Part::Placeholder(Placeholder::Host),
                text(r#"", "x": {}}"#)
            ]
        );
        assert_eq!(parts("{unknown} } { "), [text("{unknown} } { ")]);
    }

    #[test]
    fn a_backslash_makes_a_brace_text() {
        assert_eq!(parts(r"\{http.request.host\}"), [text("{http.request.host}")]);
        assert_eq!(parts(r"a\b{"), [text(r"a\b{")]);
    }

    #[test]
    fn what_caddy_knows_and_doorway_does_not_is_an_error() {
        for name in [
            "http.request.uuid",
            "env.HOME",
            "time.now",
            "system.hostname",
            "http.request.header.",
        ] {
            let error = format!("a{{{name}}}").parse::<Template>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("the placeholder `{{{name}}}` is not supported yet")
            );
        }
    }
}
