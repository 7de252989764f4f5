//! `${...}` in the arguments of filters.

use std::borrow::Cow;

/// A text with placeholders, to be filled in for each request.
///
/// ```
/// use eskip::{Placeholder, Template};
///
/// let template = Template::parse("/users/${id}?from=${request.host}");
/// let filled = template.fill(|placeholder| match placeholder {
///     Placeholder::PathParameter(name) if name == "id" => Some("7".into()),
///     Placeholder::Host => Some("example.org".into()),
///     _ => None,
/// });
/// assert_eq!(filled.text, "/users/7?from=example.org");
/// assert!(filled.complete);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Part {
    Literal(String),
    Placeholder(Placeholder),
}

/// What is to be filled in.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Placeholder {
    /// `request.method`.
    Method,
    /// `request.host`.
    Host,
    /// `request.path`.
    Path,
    /// `request.rawQuery`.
    RawQuery,
    /// `request.source`: the first address of X-Forwarded-For, else the peer's.
    Source,
    /// `request.sourceFromLast`: the last address of X-Forwarded-For, else the peer's.
    SourceFromLast,
    /// `request.clientIP`: the peer's address.
    ClientIp,
    /// `request.header.NAME`.
    RequestHeader(String),
    /// `request.query.NAME`.
    Query(String),
    /// `request.cookie.NAME`.
    Cookie(String),
    /// `response.header.NAME`. Before there is a response, it has no value.
    ResponseHeader(String),
    /// Anything else: a parameter of the path, `id` of `Path("/users/:id")`.
    PathParameter(String),
}

/// A template with its values.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Filled {
    /// The text. A value that is missing is an empty text in it.
    pub text: String,
    /// Whether all values were there, and none was empty. Filters that set headers do nothing otherwise.
    pub complete: bool,
}

// === impl Template ===

impl Template {
    /// Takes a text apart. `${` that no `}` follows, `${}`, and braces inside of braces are text as any other.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once("${") {
            literal.push_str(before);
            let end = behind
                .find(['{', '}'])
                .and_then(|end| behind.split_at_checked(end));
            match end.and_then(|(name, end)| Some((name, end.strip_prefix('}')?))) {
                Some((name, behind)) if !name.is_empty() => {
                    if !literal.is_empty() {
                        parts.push(Part::Literal(std::mem::take(&mut literal)));
                    }
                    parts.push(Part::Placeholder(Placeholder::of(name)));
                    rest = behind;
                }
                _ => {
                    literal.push_str("${");
                    rest = behind;
                }
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Self { parts }
    }

    /// What is to be filled in, in the order of the text.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Placeholder(placeholder) => Some(placeholder),
            Part::Literal(_) => None,
        })
    }

    /// The text, if there is nothing to be filled in.
    #[must_use]
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Fills in the values that `value` gives. They are not looked through for placeholders: they may come from
    /// strangers.
    pub fn fill<'v>(&self, mut value: impl FnMut(&Placeholder) -> Option<Cow<'v, str>>) -> Filled {
        let mut filled = Filled {
            text: String::new(),
            complete: true,
        };
        for part in &self.parts {
            match part {
                Part::Literal(text) => filled.text.push_str(text),
                Part::Placeholder(placeholder) => {
                    let value = value(placeholder).unwrap_or_default();
                    filled.complete &= !value.is_empty();
                    filled.text.push_str(&value);
                }
            }
        }
        filled
    }
}

// === impl Placeholder ===

impl Placeholder {
    fn of(name: &str) -> Self {
        if let Some(name) = name.strip_prefix("request.header.") {
            return Self::RequestHeader(name.into());
        }
        if let Some(name) = name.strip_prefix("request.query.") {
            return Self::Query(name.into());
        }
        if let Some(name) = name.strip_prefix("request.cookie.") {
            return Self::Cookie(name.into());
        }
        if let Some(name) = name.strip_prefix("response.header.") {
            return Self::ResponseHeader(name.into());
        }
        match name {
            "request.method" => Self::Method,
            "request.host" => Self::Host,
            "request.path" => Self::Path,
            "request.rawQuery" => Self::RawQuery,
            "request.source" => Self::Source,
            "request.sourceFromLast" => Self::SourceFromLast,
            "request.clientIP" => Self::ClientIp,
            parameter => Self::PathParameter(parameter.into()),
        }
    }
}
