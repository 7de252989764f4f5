//! Text with placeholders, such as `https://{http.request.host}{http.request.uri}`.
//!
//! A placeholder is a name in braces. Braces around something that is no name, like those of a JSON body, are text,
//! as in Caddy; a name that Caddy would replace and Doorway cannot is an error, since passing it on would show a
//! client what was meant for the proxy. Every other name is a variable that a `map` may have made; one that none
//! made stays the text it is. A backslash before a brace makes it text.

mod names;
mod placeholder;

use std::str::FromStr;

pub(crate) use self::names::SUPPORTED;
pub use self::placeholder::{
    AddressPart, ClientCertificatePart, ErrorPart, Placeholder, ProxyPart, SanKind, SystemPart, TimePart,
    TlsPart, UpstreamPart,
};

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

/// A text has a placeholder that Caddy knows and Doorway does not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the placeholder `{{{name}}}` is not supported")]
pub struct TemplateError {
    name: String,
}

/// The longest name of a placeholder, in bytes.
const MAX_NAME: usize = 256;

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
            if let Some((name, behind)) = name {
                template.parts.push(Part::Placeholder(name.parse()?));
                rest = behind;
            } else {
                template.push_text(brace);
                rest = tail;
            }
        }
        template.push_text(rest);
        Ok(template)
    }
}

/// A name and what follows its brace. Names end soon, so that a text full of braces is not searched again and again.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let end = text
        .char_indices()
        .take_while(|(index, _)| *index <= MAX_NAME)
        .find(|(_, c)| !is_in_name(*c))?
        .0;
    let (name, behind) = text.split_at_checked(end)?;
    Some((name, behind.strip_prefix('}')?)).filter(|_| !name.is_empty())
}

/// Nearly everything: parameters of a query have any name. Without quotes and spaces, so that JSON is text.
fn is_in_name(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !"{}\"\\".contains(c)
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
    fn braces_around_no_name_are_text_and_those_inside_are_still_read() {
        let body = r#"{"host": "{http.request.host}", "x": {}}"#;
        assert_eq!(
            parts(body),
            [
                text(r#"{"host": ""#),
                Part::Placeholder(Placeholder::Host),
                text(r#"", "x": {}}"#)
            ]
        );
        assert_eq!(parts("{a b} } { {a"), [text("{a b} } { {a")]);
        let long = format!("{{{}}}", "x".repeat(300));
        assert_eq!(parts(&long), [text(&long)]);
    }

    #[test]
    fn a_name_of_no_one_is_a_variable() {
        assert_eq!(
            parts("{backend}!"),
            [
                Part::Placeholder(Placeholder::Variable("backend".to_owned())),
                text("!")
            ]
        );
    }

    #[test]
    fn a_backslash_makes_a_brace_text() {
        assert_eq!(parts(r"\{http.request.host\}"), [text("{http.request.host}")]);
        assert_eq!(parts(r"a\b{"), [text(r"a\b{")]);
    }

    #[test]
    fn what_caddy_knows_and_doorway_does_not_is_an_error() {
        for name in [
            "http.request.body",
            "file./etc/passwd",
            "time.then",
            "system.uptime",
            "http.request.header.",
            "http.request.host.labels.x",
            "http.matchers.file.relative",
        ] {
            let error = format!("a{{{name}}}").parse::<Template>().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("the placeholder `{{{name}}}` is not supported")
            );
        }
    }
}
