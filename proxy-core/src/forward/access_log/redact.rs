//! What must not be written down: tokens of system paths, and credentials.

use std::borrow::Cow;

use http::Uri;
use http::header::{self, HeaderName};

use crate::percent::resolve_dots;

/// What stands in place of a credential.
pub(super) const REDACTED: &str = "REDACTED";

/// Whether the values of a field are credentials.
pub(super) fn is_secret(name: &HeaderName) -> bool {
    const SECRET: [HeaderName; 4] = [
        header::AUTHORIZATION,
        header::COOKIE,
        header::PROXY_AUTHORIZATION,
        header::SET_COOKIE,
    ];
    SECRET.contains(name)
}

/// The target as it is routed: dot segments may hide that it has a token.
pub(super) fn target(uri: &Uri) -> Cow<'_, str> {
    let Some(target) = uri.path_and_query() else {
        return Cow::Borrowed("");
    };
    match (resolve_dots(target.path()), target.query()) {
        (Cow::Borrowed(_), _) => Cow::Borrowed(target.as_str()),
        (Cow::Owned(path), None) => Cow::Owned(path),
        (Cow::Owned(path), Some(query)) => Cow::Owned(format!("{path}?{query}")),
    }
}

/// `text` without the tokens of system paths: a token is a key to a session's pod. They stand not only in the
/// target but also in fields such as Referer, Location and Link.
pub(super) fn without_tokens(text: &str) -> Cow<'_, str> {
    // Most texts have neither of the two that a prefix begins with.
    if !text
        .bytes()
        .fold(false, |found, byte| found | matches!(byte, b'~' | b'%'))
    {
        return text.into();
    }
    let mut shown = String::new();
    let mut rest = text;
    while let Some(start) = token_start(rest) {
        let (before, from) = rest.split_at(start);
        let end = from.find(is_after_segment).unwrap_or(from.len());
        shown.push_str(before);
        shown.push_str(if end == 0 { "" } else { "REDACTED" });
        rest = from.split_at(end).1;
    }
    if shown.is_empty() {
        return text.into();
    }
    shown.push_str(rest);
    shown.into()
}

/// Where the segment after the first system prefix begins.
fn token_start(text: &str) -> Option<usize> {
    const PREFIXES: [&str; 3] = ["/~/", "/%7E/", "/%7e/"];
    let ends = PREFIXES
        .iter()
        .filter_map(|prefix| text.find(prefix).map(|start| start + prefix.len()));
    ends.min()
}

fn is_after_segment(next: char) -> bool {
    matches!(next, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | ',' | ';' | ' ')
}

/// Bytes that are no text are written escaped, so that a line stays one line.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.escape_ascii().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_never_written() {
        for (target, shown) in [
            ("/~/TOKEN/s/3k?t=1", "/~/REDACTED/s/3k?t=1"),
            ("/%7E/TOKEN/s", "/%7E/REDACTED/s"),
            ("/~/TOKEN", "/~/REDACTED"),
            ("/~/TOKEN?x", "/~/REDACTED?x"),
            ("/~/", "/~/"),
            ("/page?a=/~/b", "/page?a=/~/REDACTED"),
            (
                "https://a.test/~/TOKEN/r/x.css",
                "https://a.test/~/REDACTED/r/x.css",
            ),
            (
                "</~/TOKEN/r/a.js>; rel=preload, </~/TOKEN/r/b.js>",
                "</~/REDACTED/r/a.js>; rel=preload, </~/REDACTED/r/b.js>",
            ),
            ("/page", "/page"),
        ] {
            assert_eq!(without_tokens(target), shown);
        }
    }

    #[test]
    fn dot_segments_hide_no_token() {
        for (uri, shown) in [
            ("/x/../~/TOKEN/s?a", "/~/REDACTED/s?a"),
            ("/~/./x/%2e%2E/TOKEN/s", "/~/REDACTED/s"),
            ("http://a.test/.//~/TOKEN", "//~/REDACTED"),
            ("/x?a=/../b", "/x?a=/../b"),
        ] {
            assert_eq!(without_tokens(&target(&uri.parse().unwrap())), shown, "{uri}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped() {
        assert_eq!(text(b"a\xff"), "a\\xff");
    }
}
