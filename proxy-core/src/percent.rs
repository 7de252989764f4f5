//! Percent-encoding of paths and queries, and the forms in which paths are compared.

use std::borrow::Cow;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Every `%XX` decoded once; what is no UTF-8 then is replaced.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    String::from_utf8_lossy(&decode_bytes(text, false))
        .into_owned()
        .into()
}

/// A part of a query: `+` is a space. `None` if a `%` is not followed by two digits.
pub(crate) fn decode_query(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(text.into());
    }
    if !is_well_formed(text) {
        return None;
    }
    Some(
        String::from_utf8_lossy(&decode_bytes(text, true))
            .into_owned()
            .into(),
    )
}

/// Whether each `%` is followed by two hexadecimal digits.
pub(crate) fn is_well_formed(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        match rest.get(at + 1..at + 3) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => {
                rest = rest.get(at + 3..).unwrap_or_default();
            }
            _ => return false,
        }
    }
    true
}

/// The byte of `%XX` at the start of `bytes`.
pub(crate) fn escaped(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

fn decode_bytes(text: &str, plus: bool) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if let Some(byte) = escaped(rest) {
            decoded.push(byte);
            rest = tail.get(2..).unwrap_or_default();
        } else {
            decoded.push(if plus && *first == b'+' { b' ' } else { *first });
            rest = tail;
        }
    }
    decoded
}

/// A value as it stands in a query.
pub(crate) fn encode_query(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte.into()),
            b' ' => out.push('+'),
            _ => push_escape(&mut out, byte),
        }
    }
    out
}

/// Any text as a path: what may stand in one stays, escapes too; everything else is escaped.
pub(crate) fn encode_path(text: &str) -> Cow<'_, str> {
    let fits = |byte: u8| byte == b'%' || is_path_byte(byte);
    if text.bytes().all(fits) && is_well_formed(text) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if escaped(rest).is_some() || is_path_byte(*first) {
            out.push(char::from(*first));
        } else {
            push_escape(&mut out, *first);
        }
        rest = tail;
    }
    out.into()
}

/// A path that a filter wrote: decoded once and escaped anew, so that it is in one form whatever it was made of.
pub(crate) fn encode_decoded_path(text: &str) -> String {
    let decoded = if is_well_formed(text) {
        decode(text)
    } else {
        text.into()
    };
    let mut out = String::with_capacity(decoded.len());
    for byte in decoded.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) {
            out.push(byte.into());
        } else {
            push_escape(&mut out, byte);
        }
    }
    out
}

/// Any text as a query: only what could not be sent is escaped.
pub(crate) fn keep_query(text: &str) -> Cow<'_, str> {
    let fits = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
    if text.bytes().all(fits) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if fits(byte) {
            out.push(byte.into());
        } else {
            push_escape(&mut out, byte);
        }
    }
    out.into()
}

/// Bytes that may stand in a path as they are (RFC 3986, section 3.3), and brackets, which many leave there.
fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/[]".contains(&byte)
}

fn push_escape(out: &mut String, byte: u8) {
    out.push('%');
    for digit in [byte >> 4, byte & 0xf] {
        out.push(HEX.get(usize::from(digit)).copied().unwrap_or(b'0').into());
    }
}

// === forms of paths ===

/// The path as matchers compare it: decoded once, in lower case, clean of dots and double slashes.
pub(crate) fn path_form(path: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii() && byte != b'%' && !byte.is_ascii_uppercase();
    if path.bytes().all(plain) && is_clean(path) {
        return path.into();
    }
    clean(&decode(path).to_lowercase(), true).into_owned().into()
}

/// Removes `.` and `..` segments; with `merge` double slashes too. A slash at the end stays.
pub(crate) fn clean(path: &str, merge: bool) -> Cow<'_, str> {
    if is_clean(path) {
        return path.into();
    }
    let mut kept: Vec<&str> = Vec::new();
    let rooted = path.strip_prefix('/').unwrap_or(path);
    for segment in rooted.split('/') {
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            "" if merge => {}
            segment => kept.push(segment),
        }
    }
    let mut out = format!("/{}", kept.join("/"));
    if path.ends_with('/') && !out.ends_with('/') {
        out.push('/');
    }
    out.into()
}

/// Removes `.` and `..` segments, plain or with encoded dots (RFC 3986, section 5.2.4). Nothing else of the path
/// changes: `//` stays, and `%2F` is no separator.
pub(crate) fn resolve_dots(path: &str) -> Cow<'_, str> {
    let has_dots = path.bytes().any(|byte| matches!(byte, b'.' | b'%'));
    if !has_dots || !path.split('/').any(|segment| dots(segment).is_some()) {
        return Cow::Borrowed(path);
    }
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    for (index, segment) in segments.iter().enumerate() {
        let last = index + 1 == segments.len();
        match dots(segment) {
            Some(up) => {
                if up == 2 {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            None => kept.push(segment),
        }
    }
    Cow::Owned(format!("/{}", kept.join("/")))
}

/// 1 for `.`, 2 for `..`, in any encoding.
fn dots(segment: &str) -> Option<usize> {
    let mut rest = segment.as_bytes();
    let mut count = 0;
    while !rest.is_empty() {
        rest = match rest {
            [b'.', tail @ ..] | [b'%', b'2', b'e' | b'E', tail @ ..] => tail,
            _ => return None,
        };
        count += 1;
    }
    (1..=2).contains(&count).then_some(count)
}

/// Whether [`clean`] would change nothing.
fn is_clean(path: &str) -> bool {
    path.starts_with('/') && !path.contains("//") && !path.split('/').any(|part| part == "." || part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_once() {
        for (text, decoded) in [
            ("/a%20b", "/a b"),
            ("%2520", "%20"),
            ("%zz%4", "%zz%4"),
            ("%C3%A9", "é"),
            ("%ff", "\u{fffd}"),
            ("a+b", "a+b"),
        ] {
            assert_eq!(decode(text), decoded, "{text}");
        }
    }

    #[test]
    fn a_query_has_plus_for_space_and_no_broken_escapes() {
        assert_eq!(decode_query("a+b%2B").as_deref(), Some("a b+"));
        assert_eq!(decode_query("%zz"), None);
        assert_eq!(encode_query("a b&ü~"), "a+b%26%C3%BC~");
    }

    #[test]
    fn paths_keep_what_may_stand_in_them() {
        for (text, path) in [
            ("/a%2Fb;c=1", "/a%2Fb;c=1"),
            ("/a b", "/a%20b"),
            ("/100%", "/100%25"),
            ("/a?b#c", "/a%3Fb%23c"),
            ("/ü", "/%C3%BC"),
            ("/a\r\nb", "/a%0D%0Ab"),
        ] {
            assert_eq!(encode_path(text), path, "{text}");
        }
    }

    #[test]
    fn paths_are_cleaned_of_dots_and_if_asked_of_double_slashes() {
        for (path, merged, kept) in [
            ("/a//b/", "/a/b/", "/a//b/"),
            ("/a/./b/../c", "/a/c", "/a/c"),
            ("/../..", "/", "/"),
            ("/a/..", "/", "/"),
            ("", "/", "/"),
            ("//", "/", "//"),
            ("x", "/x", "/x"),
        ] {
            assert_eq!(
                (clean(path, true), clean(path, false)),
                (merged.into(), kept.into()),
                "{path}"
            );
        }
        assert_eq!(path_form("/A%2f..%2Fb//C"), "/b/c");
    }

    #[test]
    fn dot_segments_are_resolved_and_nothing_else_changes() {
        let cases = [
            ("/a/b", "/a/b"),
            ("/a/../b", "/b"),
            ("/./a", "/a"),
            ("/a/.", "/a/"),
            ("/a/..", "/"),
            ("/../../a", "/a"),
            ("/x/%2e%2E/~/t", "/~/t"),
            ("/.%2e/a", "/a"),
            ("//a//../b", "//a/b"),
            ("/~//x", "/~//x"),
            ("/a%2F../b", "/a%2F../b"),
            ("/a/...", "/a/..."),
            ("/%zz/%7E", "/%zz/%7E"),
            ("/.well-known/x", "/.well-known/x"),
        ];
        for (path, expected) in cases {
            assert_eq!(resolve_dots(path), expected, "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_resolved_path_has_no_dot_segment_and_resolves_to_itself(path in "(/([a~.]|%2e|%2E|%2F|%zz){0,4}){1,6}") {
            let resolved = resolve_dots(&path).into_owned();
            proptest::prop_assert!(resolved.starts_with('/'));
            proptest::prop_assert!(resolved.split('/').all(|segment| dots(segment).is_none()));
            proptest::prop_assert_eq!(resolve_dots(&resolved), resolved.as_str());
        }
    }
}
