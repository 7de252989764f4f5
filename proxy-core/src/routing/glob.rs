//! Path patterns as Caddy's `path` matcher reads them.

use std::borrow::Cow;

use crate::percent::decode as percent_decode;

/// A compiled path pattern. Matching ignores case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    kind: Kind,
    /// The pattern holds `%`, so it is compared with the path as it came.
    raw: bool,
    /// The pattern holds `//`, so the path's own are kept.
    keeps_slashes: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    All,
    Exact(String),
    Prefix(String),
    Suffix(String),
    Contains(String),
    Glob(Vec<char>),
}

/// The forms of one request's path that patterns are compared with, made at most once.
#[derive(Debug)]
pub(crate) struct PathForms<'p> {
    raw: &'p str,
    merged: Option<Cow<'p, str>>,
}

// === impl PathPattern ===

impl PathPattern {
    pub(crate) fn new(pattern: &str) -> Self {
        let text = pattern.to_lowercase();
        let stars = text.matches('*').count();
        let special = text.contains(['?', '[', '\\']);
        let inner = text.trim_matches('*').to_owned();
        let kind = match (stars, text.starts_with('*'), text.ends_with('*')) {
            _ if text == "*" => Kind::All,
            (0, ..) if !special => Kind::Exact(text.clone()),
            (2, true, true) => Kind::Contains(inner),
            (1, true, false) => Kind::Suffix(inner),
            (1, false, true) => Kind::Prefix(inner),
            _ => Kind::Glob(text.chars().collect()),
        };
        Self {
            kind,
            raw: text.contains('%'),
            keeps_slashes: text.contains("//"),
        }
    }

    pub(crate) fn matches(&self, path: &mut PathForms<'_>) -> bool {
        if self.kind == Kind::All {
            return true;
        }
        let path = if self.raw {
            Cow::Owned(path.raw.to_lowercase())
        } else if self.keeps_slashes {
            Cow::Owned(percent_decode(path.raw).to_lowercase())
        } else {
            Cow::Borrowed(path.merged())
        };
        match &self.kind {
            Kind::All => true,
            Kind::Exact(text) => path == text.as_str(),
            Kind::Prefix(text) => path.starts_with(text.as_str()),
            Kind::Suffix(text) => path.ends_with(text.as_str()),
            Kind::Contains(text) => path.contains(text.as_str()),
            Kind::Glob(pattern) => glob(pattern, &path.chars().collect::<Vec<_>>()),
        }
    }
}

// === impl PathForms ===

impl<'p> PathForms<'p> {
    pub(crate) fn new(raw: &'p str) -> Self {
        Self { raw, merged: None }
    }

    /// Decoded once, in lower case, with runs of slashes merged.
    fn merged(&mut self) -> &str {
        let raw = self.raw;
        self.merged.get_or_insert_with(|| {
            let plain = |byte: u8| byte != b'%' && !byte.is_ascii_uppercase() && byte.is_ascii();
            if raw.bytes().all(plain) && !raw.contains("//") {
                return Cow::Borrowed(raw);
            }
            let mut merged = String::with_capacity(raw.len());
            for character in percent_decode(raw).to_lowercase().chars() {
                if character != '/' || !merged.ends_with('/') {
                    merged.push(character);
                }
            }
            Cow::Owned(merged)
        })
    }
}

// === matching ===

/// `*` is any run without `/`, `?` one character but `/`, `[a-z]` and `[^a-z]` a class, `\` an escape.
/// Only the last `*` is ever retried, so the time is at most the product of both lengths.
fn glob(pattern: &[char], path: &[char]) -> bool {
    let (mut p, mut s) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p, s));
                p += 1;
                continue;
            }
            None if s == path.len() => return true,
            Some(_) if s < path.len() => {
                if let Some(length) = one(pattern.get(p..).unwrap_or_default(), path.get(s).copied()) {
                    p += length;
                    s += 1;
                    continue;
                }
            }
            _ => {}
        }
        match retry {
            Some((star, from)) if path.get(from).is_some_and(|skipped| *skipped != '/') => {
                retry = Some((star, from + 1));
                p = star + 1;
                s = from + 1;
            }
            _ => return false,
        }
    }
}

/// How many pattern characters match `character`, if they do.
fn one(pattern: &[char], character: Option<char>) -> Option<usize> {
    let character = character?;
    match pattern {
        ['?', ..] => (character != '/').then_some(1),
        ['\\', escaped, ..] => (*escaped == character).then_some(2),
        ['[', rest @ ..] => class(rest, character).map(|length| length + 1),
        [plain, ..] => (*plain == character).then_some(1),
        [] => None,
    }
}

fn class(pattern: &[char], character: char) -> Option<usize> {
    let end = pattern.iter().skip(1).position(|c| *c == ']')? + 1;
    let (negated, mut rest) = match pattern.get(..end)? {
        ['^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut found = false;
    while !rest.is_empty() {
        rest = match rest {
            [low, '-', high, tail @ ..] => {
                found |= (*low..=*high).contains(&character);
                tail
            }
            [single, tail @ ..] => {
                found |= *single == character;
                tail
            }
            [] => rest,
        };
    }
    (found != negated && character != '/').then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        PathPattern::new(pattern).matches(&mut PathForms::new(path))
    }

    #[test]
    fn patterns_match_as_in_caddy() {
        let cases = [
            ("*", "/any", true),
            ("/foo", "/foo", true),
            ("/foo", "/foo/", false),
            ("/foo/*", "/foo", false),
            ("/foo/*", "/foo/a/b", true),
            ("/foo*", "/foobar/x", true),
            ("*.css", "/a/b.css", true),
            ("*.css", "/a/b.cssx", false),
            ("*/api/*", "/v1/api/x", true),
            ("/FOO", "/foo", true),
            ("/foo", "/FOO", true),
            ("/foo/bar", "//foo//bar", true),
            ("/foo//bar", "/foo//bar", true),
            ("/foo//bar", "/foo/bar", false),
            ("/a b", "/a%20b", true),
            ("/a%2Fb", "/a%2fb", true),
            ("/a%2Fb", "/a/b", false),
            ("/a/b", "/a%2Fb", true),
            ("/a/*/c", "/a/b/c", true),
            ("/a/*/c", "/a/b/b/c", false),
            ("/a/?/c", "/a/b/c", true),
            ("/a/?/c", "/a//c", false),
            ("/[a-c]x", "/bx", true),
            ("/[^a-c]x", "/bx", false),
            ("/[^a-c]x", "/dx", true),
            ("/a*b*c", "/aXbYc", true),
            ("/a*b*c", "/aXbY", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(matches(pattern, path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_takes_bounded_time() {
        let pattern = format!("/{}b", "*a".repeat(200));
        assert!(!matches(&pattern, &format!("/{}", "a".repeat(4000))));
    }

    proptest::proptest! {
        #[test]
        fn no_pattern_and_no_path_panics(pattern in "[/a*?\\[\\]^\\\\%-]{0,12}", path in "(/|a|b|%2f|%|é){0,12}") {
            matches(&pattern, &path);
        }
    }
}
