//! Fields that are changed or left out before they are written.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::format::Fields;

/// What stands in place of a credential; there is nothing in it to change.
const REDACTED: &str = "REDACTED";

/// Filters by the path of the field, such as `request>headers>Authorization`.
#[derive(Debug, Default)]
pub(crate) struct Filters(HashMap<String, Filter>);

/// What is done to a field.
#[derive(Debug)]
pub(crate) enum Filter {
    /// Changes cookies of a `Cookie` field, by name.
    Cookie(Vec<(String, ItemAction)>),
    Delete,
    /// Puts the first eight digits of the SHA-256 in place of the value.
    Hash,
    /// Keeps so many leading bits of IPv4 and of IPv6 addresses; `None` keeps all.
    IpMask(Option<u8>, Option<u8>),
    /// Changes parameters of the query of a URI, by name.
    Query(Vec<(String, ItemAction)>),
    /// Replaces by regular expressions, one after the other.
    Regexp(Vec<(Regex, String)>),
    Rename(String),
    Replace(String),
    /// Changes cookies of `Set-Cookie` fields, by name.
    SetCookie(Vec<(String, ItemAction)>),
}

/// What is done to one cookie or parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ItemAction {
    Delete,
    Hash,
    Replace(String),
}

/// Hands fields on as the filters want them.
pub(super) struct Filtered<'f> {
    filters: &'f Filters,
    fields: &'f mut dyn Fields,
    /// Of the object that is open, with a `>` at the end.
    path: String,
    /// How many objects are open inside one that is left out, and that one.
    left_out: usize,
}

/// What becomes of one field.
enum Fate<'f> {
    As(Cow<'f, str>),
    Replaced(&'f str),
    Changed(&'f Filter),
    Gone,
}

// === impl Filters ===

impl Filters {
    pub(crate) fn new(filters: impl IntoIterator<Item = (String, Filter)>) -> Self {
        Self(filters.into_iter().collect())
    }

    /// These filters too; of two for one field, the one that is there stays.
    pub(crate) fn add(&mut self, others: Self) {
        for (path, filter) in others.0 {
            self.0.entry(path).or_insert(filter);
        }
    }
}

// === impl Filter ===

impl Filter {
    /// One value, changed. `None`: it is left out.
    fn change<'v>(&self, value: &'v str) -> Option<Cow<'v, str>> {
        Some(match self {
            Self::Delete => return None,
            Self::Rename(_) => Cow::Borrowed(value),
            Self::Replace(text) => Cow::Owned(text.clone()),
            _ if value == REDACTED => Cow::Borrowed(value),
            Self::Hash => Cow::Owned(hash(value)),
            Self::IpMask(v4, v6) => Cow::Owned(mask(value, *v4, *v6)),
            Self::Regexp(operations) => {
                let mut value = Cow::Borrowed(value);
                for (regex, with) in operations {
                    if regex.is_match(&value) {
                        value = Cow::Owned(regex.replace_all(&value, with.as_str()).into_owned());
                    }
                }
                value
            }
            Self::Query(actions) => query(value, actions),
            Self::Cookie(actions) => Cow::Owned(cookies(value, actions)),
            Self::SetCookie(actions) => return set_cookie(value, actions),
        })
    }
}

// === impl Filtered ===

impl<'f> Filtered<'f> {
    pub(super) fn new(filters: &'f Filters, fields: &'f mut dyn Fields) -> Self {
        Self {
            filters,
            fields,
            path: String::new(),
            left_out: 0,
        }
    }

    fn fate<'k>(&mut self, key: &'k str) -> Fate<'k>
    where
        'f: 'k,
    {
        if self.left_out > 0 {
            return Fate::Gone;
        }
        let length = self.path.len();
        self.path.push_str(key);
        let filter = self.filters.0.get(self.path.as_str());
        self.path.truncate(length);
        match filter {
            None => Fate::As(Cow::Borrowed(key)),
            Some(Filter::Delete) => Fate::Gone,
            Some(Filter::Rename(name)) => Fate::As(Cow::Borrowed(name)),
            Some(Filter::Replace(text)) => Fate::Replaced(text),
            Some(filter) => Fate::Changed(filter),
        }
    }
}

impl Fields for Filtered<'_> {
    fn text(&mut self, key: &str, value: &str) {
        match self.fate(key) {
            Fate::Gone => {}
            Fate::As(key) => self.fields.text(&key, value),
            Fate::Replaced(text) => self.fields.text(key, text),
            Fate::Changed(filter) => {
                if let Some(value) = filter.change(value) {
                    self.fields.text(key, &value);
                }
            }
        }
    }

    fn number(&mut self, key: &str, value: u64) {
        match self.fate(key) {
            Fate::Gone => {}
            Fate::As(key) => self.fields.number(&key, value),
            Fate::Replaced(text) => self.fields.text(key, text),
            Fate::Changed(Filter::Hash) => self.fields.text(key, &hash(&value.to_string())),
            Fate::Changed(_) => self.fields.number(key, value),
        }
    }

    fn duration(&mut self, key: &str, value: Duration) {
        match self.fate(key) {
            Fate::Gone => {}
            Fate::As(key) => self.fields.duration(&key, value),
            Fate::Replaced(text) => self.fields.text(key, text),
            Fate::Changed(_) => self.fields.duration(key, value),
        }
    }

    fn list(&mut self, key: &str, values: &mut dyn Iterator<Item = Cow<'_, str>>) {
        match self.fate(key) {
            Fate::Gone => {}
            Fate::As(key) => self.fields.list(&key, values),
            Fate::Replaced(text) => self.fields.text(key, text),
            Fate::Changed(filter) => {
                let mut changed = values
                    .filter_map(|value| filter.change(&value).map(|value| Cow::Owned(value.into_owned())));
                self.fields.list(key, &mut changed);
            }
        }
    }

    fn value(&mut self, key: &str, value: &Value) {
        if let Value::String(text) = value {
            return self.text(key, text);
        }
        match self.fate(key) {
            Fate::Gone => {}
            Fate::As(key) => self.fields.value(&key, value),
            Fate::Replaced(text) => self.fields.text(key, text),
            Fate::Changed(_) => self.fields.value(key, value),
        }
    }

    fn open(&mut self, key: &str) {
        let fate = self.fate(key);
        self.path.push_str(key);
        self.path.push('>');
        match fate {
            Fate::As(key) => self.fields.open(&key),
            Fate::Changed(_) => self.fields.open(key),
            Fate::Gone => self.left_out += 1,
            Fate::Replaced(text) => {
                self.fields.text(key, text);
                self.left_out += 1;
            }
        }
    }

    fn close(&mut self) {
        let inside = self.path.strip_suffix('>').unwrap_or_default();
        let parent = inside.rfind('>').map_or(0, |end| end + 1);
        self.path.truncate(parent);
        if self.left_out > 0 {
            self.left_out -= 1;
        } else {
            self.fields.close();
        }
    }
}

// === what is done to a value ===

/// The first four bytes of the SHA-256, as Caddy writes them.
fn hash(value: &str) -> String {
    let digest = Sha256::digest(value.as_bytes());
    digest.iter().take(4).fold(String::new(), |mut out, byte| {
        let written = write!(out, "{byte:02x}");
        debug_assert!(written.is_ok(), "a String takes all text");
        out
    })
}

/// A list of addresses, with ports or without; what is no address stays as it is.
fn mask(value: &str, v4: Option<u8>, v6: Option<u8>) -> String {
    let masked = value.split(',').map(|item| {
        let item = item.trim();
        let (host, port) = match item.parse::<std::net::SocketAddr>() {
            Ok(address) => (Some(address.ip()), Some(address.port())),
            Err(_) => (item.parse::<IpAddr>().ok(), None),
        };
        let host = host.map(|host| network(host.to_canonical(), v4, v6));
        match (host, port) {
            (Some(host), None) => host.to_string(),
            (Some(host), Some(port)) => std::net::SocketAddr::new(host, port).to_string(),
            (None, _) => item.to_owned(),
        }
    });
    masked.collect::<Vec<_>>().join(", ")
}

fn network(address: IpAddr, v4: Option<u8>, v6: Option<u8>) -> IpAddr {
    let bits = if address.is_ipv4() { v4 } else { v6 };
    let net = bits.and_then(|bits| ipnet::IpNet::new(address, bits).ok());
    net.map_or(address, |net| net.network())
}

fn act(actions: &[(String, ItemAction)], name: &str, value: &str) -> Option<Result<String, ()>> {
    let (_, action) = actions.iter().find(|(wanted, _)| wanted == name)?;
    Some(match action {
        ItemAction::Delete => Err(()),
        ItemAction::Hash => Ok(hash(value)),
        ItemAction::Replace(text) => Ok(text.clone()),
    })
}

/// The parameters of a URI's query that are named; the others stay as they are, in their places.
fn query<'v>(uri: &'v str, actions: &[(String, ItemAction)]) -> Cow<'v, str> {
    let Some((path, rest)) = uri.split_once('?') else {
        return Cow::Borrowed(uri);
    };
    let (query, fragment) = rest
        .split_once('#')
        .map_or((rest, None), |(query, end)| (query, Some(end)));
    let decoded = |text: &str| {
        let spaces = text.replace('+', " ");
        crate::percent::decode(&spaces).into_owned()
    };
    let parameters = query.split('&').filter_map(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match act(actions, &decoded(name), &decoded(value)) {
            None => Some(Cow::Borrowed(parameter)),
            Some(Ok(value)) => Some(Cow::Owned(format!("{name}={value}"))),
            Some(Err(())) => None,
        }
    });
    let parameters: Vec<_> = parameters.collect();
    let mut out = path.to_owned();
    if !parameters.is_empty() {
        out.push('?');
        out.push_str(&parameters.join("&"));
    }
    if let Some(fragment) = fragment {
        out.push('#');
        out.push_str(fragment);
    }
    Cow::Owned(out)
}

fn cookies(value: &str, actions: &[(String, ItemAction)]) -> String {
    let pairs = value.split(';').map(str::trim).filter(|pair| !pair.is_empty());
    let pairs = pairs.filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match act(actions, name, value) {
            None => Some(pair.to_owned()),
            Some(Ok(value)) => Some(format!("{name}={value}")),
            Some(Err(())) => None,
        }
    });
    pairs.collect::<Vec<_>>().join("; ")
}

fn set_cookie<'v>(value: &'v str, actions: &[(String, ItemAction)]) -> Option<Cow<'v, str>> {
    let (pair, attributes) = match value.split_once(';') {
        Some((pair, attributes)) => (pair, Some(attributes)),
        None => (value, None),
    };
    let (name, content) = pair.trim().split_once('=')?;
    match act(actions, name, content) {
        None => Some(Cow::Borrowed(value)),
        Some(Err(())) => None,
        Some(Ok(content)) => Some(Cow::Owned(match attributes {
            Some(attributes) => format!("{name}={content};{attributes}"),
            None => format!("{name}={content}"),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::JsonFields;
    use super::super::time::DurationFormat;
    use super::*;

    fn filtered(filters: Vec<(&str, Filter)>) -> String {
        let filters = Filters::new(
            filters
                .into_iter()
                .map(|(path, filter)| (path.to_owned(), filter)),
        );
        let mut out = "{".to_owned();
        let mut json = JsonFields::new(&mut out, DurationFormat::Millis, false, false);
        let mut fields = Filtered::new(&filters, &mut json);
        fields.open("request");
        fields.text("ip", "192.168.1.7");
        fields.open("headers");
        fields.list("A", &mut ["1", "2"].into_iter().map(Cow::Borrowed));
        fields.close();
        fields.text("uri", "/?a=1");
        fields.close();
        fields.number("status", 200);
        fields.duration("took", Duration::from_millis(3));
        fields.value("n", &Value::from(7));
        out.push('}');
        out
    }

    #[test]
    fn fields_are_found_by_their_path() {
        let whole = r#"{"request":{"ip":"192.168.1.7","headers":{"A":["1","2"]},"uri":"/?a=1"},"status":200,"took":3,"n":7}"#;
        assert_eq!(
            filtered(vec![("A", Filter::Delete), ("headers", Filter::Delete)]),
            whole
        );
        for (filters, expected) in [
            (
                vec![("request", Filter::Delete)],
                r#"{"status":200,"took":3,"n":7}"#,
            ),
            (
                vec![
                    ("request", Filter::Replace("x".to_owned())),
                    ("took", Filter::Delete),
                    ("n", Filter::Delete),
                ],
                r#"{"request":"x","status":200}"#,
            ),
            (
                vec![
                    ("request>headers", Filter::Delete),
                    ("status", Filter::Rename("code".to_owned())),
                ],
                r#"{"request":{"ip":"192.168.1.7","uri":"/?a=1"},"code":200,"took":3,"n":7}"#,
            ),
            (
                vec![
                    ("request>headers>A", Filter::Hash),
                    ("status", Filter::Replace("ok".to_owned())),
                ],
                r#"{"request":{"ip":"192.168.1.7","headers":{"A":["6b86b273","d4735e3a"]},"uri":"/?a=1"},"status":"ok","took":3,"n":7}"#,
            ),
            (
                vec![
                    ("request", Filter::Rename("r".to_owned())),
                    ("request>uri", Filter::Delete),
                ],
                r#"{"r":{"ip":"192.168.1.7","headers":{"A":["1","2"]}},"status":200,"took":3,"n":7}"#,
            ),
        ] {
            assert_eq!(filtered(filters), expected);
        }
    }

    #[test]
    fn addresses_keep_their_network() {
        for (value, expected) in [
            ("192.168.1.7", "192.168.0.0"),
            ("192.168.1.7, 2001:db8:1:2::3", "192.168.0.0, 2001:db8::"),
            (
                "192.168.1.7:80,[2001:db8:1:2::3]:443",
                "192.168.0.0:80, [2001:db8::]:443",
            ),
            ("unknown", "unknown"),
            ("", ""),
        ] {
            assert_eq!(mask(value, Some(16), Some(32)), expected);
        }
        assert_eq!(mask("192.168.1.7, ::1", None, None), "192.168.1.7, ::1");
    }

    fn actions() -> Vec<(String, ItemAction)> {
        vec![
            ("r".to_owned(), ItemAction::Replace("X".to_owned())),
            ("d".to_owned(), ItemAction::Delete),
            ("h".to_owned(), ItemAction::Hash),
        ]
    }

    #[test]
    fn parameters_are_changed_in_their_places() {
        for (uri, expected) in [
            ("/a?r=1&d=2&h=3&r=4&z=%20", "/a?r=X&h=4e074085&r=X&z=%20"),
            ("/a?%72=1&d", "/a?%72=X"),
            ("/a?d=1", "/a"),
            ("/a", "/a"),
            ("/a?", "/a?"),
        ] {
            assert_eq!(query(uri, &actions()), expected, "{uri}");
        }
    }

    #[test]
    fn cookies_are_changed_by_name() {
        assert_eq!(cookies("r=1; d=2; h=3; z=4;", &actions()), "r=X; h=4e074085; z=4");
        for (value, expected) in [
            ("r=1; Path=/; Secure", Some("r=X; Path=/; Secure")),
            ("d=1; Path=/", None),
            ("h=3", Some("h=4e074085")),
            ("z=1; Path=/d", Some("z=1; Path=/d")),
        ] {
            assert_eq!(set_cookie(value, &actions()).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn expressions_replace_one_after_the_other() {
        let regex = |text: &str| Regex::new(text).unwrap();
        let filter = Filter::Regexp(vec![
            (regex("a+"), "b".to_owned()),
            (regex("c(b)"), "<$1>".to_owned()),
        ]);
        assert_eq!(filter.change("caaat").unwrap(), "<b>t");
        assert_eq!(filter.change("x").unwrap(), "x");
        assert_eq!(filter.change(REDACTED).unwrap(), REDACTED);
    }
}
