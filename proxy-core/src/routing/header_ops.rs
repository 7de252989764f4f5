//! Changes to header fields, of requests and responses, in Caddy's order: add, set, delete, replace.

#[cfg(test)]
mod tests;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use regex::Regex;

use super::template::Template;
use crate::request::Context;
use crate::response_matcher::ResponseMatcher;

/// Changes to the fields of one head. The order is fixed, whatever order they were written in.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderOps {
    pub(crate) add: Vec<(HeaderName, Template)>,
    pub(crate) set: Vec<(HeaderName, Template)>,
    pub(crate) delete: Vec<NamePattern>,
    pub(crate) replace: Vec<Replacement>,
}

/// Which fields to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamePattern {
    All,
    Exact(HeaderName),
    Prefix(String),
    Suffix(String),
    Contains(String),
}

/// A replacement inside the values of one field, or of all.
#[derive(Clone, Debug)]
pub(crate) struct Replacement {
    pub(crate) field: Option<HeaderName>,
    pub(crate) search: Search,
    pub(crate) replace: Template,
}

/// What is replaced.
#[derive(Clone, Debug)]
pub(crate) enum Search {
    Text(Template),
    Regex(Regex),
}

/// Changes to a response, with the condition under which they apply.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResponseOps {
    pub(crate) ops: HeaderOps,
    /// Wait for the answer's own fields.
    pub(crate) deferred: bool,
    /// Only for answers like this.
    pub(crate) only: ResponseMatcher,
}

// === where fields are changed ===

/// The fields of a head, and the request that placeholders speak of.
pub(crate) trait Head {
    fn cx(&self) -> &Context;
    fn fields(&mut self) -> &mut HeaderMap;
}

/// The request itself.
pub(crate) struct OfRequest<'c>(pub(crate) &'c mut Context);

/// The answer to it, as far as it is there.
pub(crate) struct OfAnswer<'c>(pub(crate) &'c mut Context);

/// Another head, such as that of the request to an upstream.
pub(crate) struct Beside<'c> {
    pub(crate) cx: &'c Context,
    pub(crate) fields: &'c mut HeaderMap,
}

impl Head for OfRequest<'_> {
    fn cx(&self) -> &Context {
        self.0
    }

    fn fields(&mut self) -> &mut HeaderMap {
        &mut self.0.parts.headers
    }
}

impl Head for OfAnswer<'_> {
    fn cx(&self) -> &Context {
        self.0
    }

    fn fields(&mut self) -> &mut HeaderMap {
        &mut self.0.answer
    }
}

impl Head for Beside<'_> {
    fn cx(&self) -> &Context {
        self.cx
    }

    fn fields(&mut self) -> &mut HeaderMap {
        self.fields
    }
}

// === impl HeaderOps ===

impl HeaderOps {
    /// Changes the fields of `head`.
    pub(crate) fn apply(&self, head: &mut impl Head) {
        if self.delete.contains(&NamePattern::All) {
            head.fields().clear();
        }
        for (name, value) in &self.add {
            let value = render(value, head.cx());
            head.fields().append(name, value);
        }
        for (name, value) in &self.set {
            let value = render(value, head.cx());
            head.fields().insert(name, value);
        }
        for pattern in &self.delete {
            pattern.delete_from(head.fields());
        }
        for replacement in &self.replace {
            replacement.apply(head);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.add.is_empty() && self.set.is_empty() && self.delete.is_empty() && self.replace.is_empty()
    }

    /// Whether the changes are the same for every request.
    pub(crate) fn is_fixed(&self) -> bool {
        self.templates().all(|template| template.as_static().is_some())
    }

    /// Whether placeholders ask for the upstream that was chosen.
    pub(crate) fn asks_for_upstream(&self) -> bool {
        self.templates().any(Template::asks_for_upstream)
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        let values = self.add.iter().chain(&self.set).map(|(_, value)| value);
        let replaced = self.replace.iter().flat_map(|one| {
            let search = match &one.search {
                Search::Text(text) => Some(text),
                Search::Regex(_) => None,
            };
            search.into_iter().chain([&one.replace])
        });
        values.chain(replaced)
    }

    /// Whether the field `name` may be changed.
    pub(crate) fn touches(&self, name: &HeaderName) -> bool {
        let named = |(given, _): &(HeaderName, Template)| given == name;
        self.add.iter().any(named)
            || self.set.iter().any(named)
            || self.delete.iter().any(|pattern| pattern.matches(name.as_str()))
            || self.replace.iter().any(|replacement| replacement.is_for(name))
    }
}

/// The value of a field for one request.
pub(crate) fn render(template: &Template, cx: &Context) -> HeaderValue {
    match template.as_static() {
        Some(text) => field_value(text.as_bytes()),
        None => field_value(&template.render_bytes(cx)),
    }
}

/// `bytes` as the value of a field. What must not stand in one, such as a line break that a client wrote into its query,
/// becomes a space, as in Go. Leaving the field as it was instead would let the client choose: its own value of a field
/// that the proxy vouches for would pass.
fn field_value(bytes: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(bytes)
        .or_else(|_| {
            let fits = |b: &u8| {
                if b.is_ascii_control() && *b != b'\t' {
                    b' '
                } else {
                    *b
                }
            };
            HeaderValue::from_bytes(&bytes.iter().map(fits).collect::<Vec<u8>>())
        })
        .unwrap_or_else(|_| HeaderValue::from_static(""))
}

// === impl NamePattern ===

impl NamePattern {
    /// `Name`, `Pre*`, `*fix`, `*mid*` or `*`. `None` if it is no field name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let inner = lower.trim_matches('*').to_owned();
        Some(match (lower.starts_with('*'), lower.ends_with('*')) {
            _ if lower == "*" => Self::All,
            (true, true) => Self::Contains(inner),
            (true, false) => Self::Suffix(inner),
            (false, true) => Self::Prefix(inner),
            (false, false) => Self::Exact(HeaderName::from_bytes(lower.as_bytes()).ok()?),
        })
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Exact(exact) => exact == name,
            Self::Prefix(text) => name.starts_with(text.as_str()),
            Self::Suffix(text) => name.ends_with(text.as_str()),
            Self::Contains(text) => name.contains(text.as_str()),
        }
    }

    fn delete_from(&self, headers: &mut HeaderMap) {
        match self {
            // Was cleared before anything was added.
            Self::All => {}
            Self::Exact(name) => {
                headers.remove(name);
            }
            Self::Prefix(_) | Self::Suffix(_) | Self::Contains(_) => {
                let found: Vec<HeaderName> = headers
                    .keys()
                    .filter(|name| self.matches(name.as_str()))
                    .cloned()
                    .collect();
                for name in found {
                    headers.remove(name);
                }
            }
        }
    }
}

// === impl Replacement ===

impl Replacement {
    /// Whether it changes the field `name`. "All fields" are not those that say how long a message is: these are the
    /// proxy's own.
    fn is_for(&self, name: &HeaderName) -> bool {
        match &self.field {
            Some(field) => field == name,
            None => !matches!(*name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING),
        }
    }

    fn apply(&self, head: &mut impl Head) {
        let with = self.replace.render(head.cx());
        let wanted = match &self.search {
            Search::Text(search) => search.render(head.cx()),
            Search::Regex(_) => String::new(),
        };
        for (name, value) in head.fields().iter_mut() {
            if !self.is_for(name) {
                continue;
            }
            let Ok(text) = std::str::from_utf8(value.as_bytes()) else {
                continue;
            };
            let replaced = match &self.search {
                Search::Text(_) => text.replace(&wanted, &with),
                Search::Regex(regex) => regex.replace_all(text, with.as_str()).into_owned(),
            };
            *value = field_value(replaced.as_bytes());
        }
    }
}

// === impl ResponseOps ===

impl ResponseOps {
    /// Changes the fields of an answer with `status`, if the condition holds.
    pub(crate) fn apply(&self, status: u16, cx: &mut Context) {
        if self.only.matches(status, &cx.answer) {
            self.ops.apply(&mut OfAnswer(cx));
        }
    }
}
