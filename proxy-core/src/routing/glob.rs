//! Path patterns as Caddy's `path` matcher reads them.

use std::borrow::Cow;

use super::template::Template;
use crate::percent;
use crate::request::Context;

/// A compiled path pattern. Matching ignores case.
#[derive(Clone, Debug)]
pub(crate) enum PathPattern {
    Fixed(Pattern),
    /// It has placeholders, so it is another one for each request.
    Rendered(Template),
}

/// A pattern without placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    kind: Kind,
    form: Form,
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

/// The form of the path that a pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Decoded, clean of dots and double slashes.
    Clean,
    /// Decoded, with the double slashes that the pattern has too.
    Slashes,
    /// Decoded but for the places where the pattern has a `%`.
    Escapes,
}

// === impl PathPattern ===

impl PathPattern {
    pub(crate) fn new(pattern: &str) -> Self {
        Self::Fixed(Pattern::new(pattern))
    }

    /// A pattern with placeholders, if it has any.
    pub(crate) fn of(template: Template) -> Self {
        match template.as_static() {
            Some(text) => Self::new(text),
            None => Self::Rendered(template),
        }
    }

    pub(crate) fn matches(&self, cx: &mut Context) -> bool {
        match self {
            Self::Fixed(pattern) => pattern.matches(cx),
            Self::Rendered(template) => Pattern::new(&template.render(cx)).matches(cx),
        }
    }
}

// === impl Pattern ===

impl Pattern {
    fn new(pattern: &str) -> Self {
        let text = pattern.to_lowercase();
        let form = match (text.contains('%'), text.contains("//")) {
            (true, _) => Form::Escapes,
            (_, true) => Form::Slashes,
            _ => Form::Clean,
        };
        let stars = text.matches('*').count();
        let special = text.contains(['?', '[', '\\']);
        let inner = text.trim_matches('*').to_owned();
        let kind = match (stars, text.starts_with('*'), text.ends_with('*')) {
            _ if text == "*" => Kind::All,
            _ if form == Form::Escapes => Kind::Glob(text.chars().collect()),
            (0, ..) if !special => Kind::Exact(text),
            (2, true, true) => Kind::Contains(inner),
            (1, true, false) => Kind::Suffix(inner),
            (1, false, true) => Kind::Prefix(inner),
            _ => Kind::Glob(text.chars().collect()),
        };
        Self { kind, form }
    }

    fn matches(&self, cx: &mut Context) -> bool {
        if self.kind == Kind::All {
            return true;
        }
        let path = match self.form {
            Form::Clean => Cow::Borrowed(cx.path_form()),
            Form::Slashes => {
                let decoded = percent::decode(cx.path()).to_lowercase();
                percent::clean(&decoded, false).into_owned().into()
            }
            Form::Escapes => return self.matches_escapes(cx.path()),
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

    fn matches_escapes(&self, path: &str) -> bool {
        let Kind::Glob(pattern) = &self.kind else {
            return false;
        };
        let merge = !pattern.windows(2).any(|pair| pair == ['/', '/']);
        let path = percent::clean(path, merge).to_lowercase();
        let text: String = pattern.iter().collect();
        let Some(path) = unescaped_beside(&text, &path) else {
            return false;
        };
        let pattern: Vec<char> = text.replace("%*", "*").chars().collect();
        glob(&pattern, &path.chars().collect::<Vec<_>>())
    }
}

/// The path with its escapes decoded but for where `pattern` has one too, or has `%*`. Both are gone through side by
/// side: a `*` takes what comes before the next character of the pattern.
fn unescaped_beside(pattern: &str, path: &str) -> Option<String> {
    let mut out = Vec::new();
    let (mut pattern, mut path) = (pattern.as_bytes(), path.as_bytes());
    while let (Some((wanted, behind)), Some(first)) = (pattern.split_first(), path.first()) {
        let raw = matches!(pattern, [b'%', b'*', ..]);
        if raw || *wanted == b'*' {
            pattern = if raw { behind.get(1..)? } else { behind };
            let until = match pattern.first() {
                Some(next) => path.iter().position(|byte| byte == next)?,
                None => path.len(),
            };
            let (span, rest) = path.split_at_checked(until)?;
            let span = std::str::from_utf8(span).ok()?;
            let span = if raw { span.into() } else { percent::decode(span) };
            out.extend_from_slice(span.as_bytes());
            path = rest;
            continue;
        }
        let (byte, length) = match percent::escaped(path) {
            Some(byte) => (byte, 3),
            None => (*first, 1),
        };
        if *wanted == b'%' && length == 3 {
            out.extend_from_slice(path.get(..3)?);
            pattern = pattern.get(3..)?;
        } else {
            out.push(byte);
            pattern = behind;
        }
        path = path.get(length..)?;
    }
    // What is left of the path matches nothing of the pattern.
    out.extend_from_slice(path);
    String::from_utf8(out).ok()
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
    use crate::routing::tests::context;

    fn matches(pattern: &str, path: &str) -> bool {
        let mut cx = context("GET", "http://a.test/");
        cx.rewrite(
            None,
            Some(format!("/{path}").replacen("//", "/", 1).parse().unwrap()),
        );
        PathPattern::new(pattern).matches(&mut cx)
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
            ("/a%2Fb", "/a%2Fbc", false),
            ("/a%2Fb/c d", "/a%2Fb/c%20d", true),
            ("/a%2F*", "/a%2Fb", true),
            ("/%*/x", "/a%2Fb/x", true),
            ("/*/x", "/a%2Fb/x", false),
            ("/a%", "/a%25", false),
            ("/a/b", "/a%2Fb", true),
            ("/b", "/a%2F..%2Fb", true),
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
