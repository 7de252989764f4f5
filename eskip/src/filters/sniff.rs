//! What kind of content a text is, told by how it begins, as browsers and Go's net/http do.

/// As many bytes are looked at.
const LOOKED_AT: usize = 512;

/// How texts of a kind begin. Of the signatures of pictures, sounds and archives only those are here that a text can
/// have.
const SIGNATURES: [(&str, &str); 17] = [
    ("%PDF-", "application/pdf"),
    ("%!PS-Adobe-", "application/postscript"),
    ("\u{feff}", "text/plain; charset=utf-8"),
    ("\0\0\u{1}\0", "image/x-icon"),
    ("\0\0\u{2}\0", "image/x-icon"),
    ("BM", "image/bmp"),
    ("GIF87a", "image/gif"),
    ("GIF89a", "image/gif"),
    ("ID3", "audio/mpeg"),
    ("OggS\0", "application/ogg"),
    ("MThd\0\0\0\u{6}", "audio/midi"),
    ("\0\u{1}\0\0", "font/ttf"),
    ("OTTO", "font/otf"),
    ("wOFF", "font/woff"),
    ("wOF2", "font/woff2"),
    ("PK\u{3}\u{4}", "application/zip"),
    ("\0asm", "application/wasm"),
];

/// How pages begin, in upper or lower case, behind white space. A space or `>` comes next.
const HTML: [&str; 17] = [
    "<!DOCTYPE HTML",
    "<HTML",
    "<HEAD",
    "<SCRIPT",
    "<IFRAME",
    "<H1",
    "<DIV",
    "<FONT",
    "<TABLE",
    "<A",
    "<STYLE",
    "<TITLE",
    "<B",
    "<BODY",
    "<BR",
    "<P",
    "<!--",
];

/// The value of Content-Type for it.
pub(super) fn content_type(text: &str) -> &'static str {
    let bytes = text.as_bytes();
    let bytes = bytes.get(..LOOKED_AT).unwrap_or(bytes);
    let inner = bytes.trim_ascii_start();
    if HTML.iter().any(|tag| begins_with_tag(inner, tag)) {
        return "text/html; charset=utf-8";
    }
    if inner.starts_with(b"<?xml") {
        return "text/xml; charset=utf-8";
    }
    let known = SIGNATURES
        .iter()
        .find(|(signature, _)| bytes.starts_with(signature.as_bytes()));
    match known {
        Some((_, kind)) => kind,
        None if bytes.iter().copied().any(is_binary) => "application/octet-stream",
        None => "text/plain; charset=utf-8",
    }
}

fn begins_with_tag(bytes: &[u8], tag: &str) -> bool {
    match bytes.split_at_checked(tag.len()) {
        Some((begin, rest)) => {
            begin.eq_ignore_ascii_case(tag.as_bytes()) && matches!(rest.first(), Some(b' ' | b'>'))
        }
        None => false,
    }
}

/// Control characters that no text has.
fn is_binary(byte: u8) -> bool {
    matches!(byte, 0..=0x08 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F)
}

#[cfg(test)]
mod tests {
    use super::content_type;

    #[test]
    fn kinds_are_told_by_how_they_begin() {
        for (text, expected) in [
            ("", "text/plain; charset=utf-8"),
            ("hello", "text/plain; charset=utf-8"),
            (r#"{"a": 1}"#, "text/plain; charset=utf-8"),
            ("<foo>", "text/plain; charset=utf-8"),
            ("<pre>", "text/plain; charset=utf-8"),
            ("<p", "text/plain; charset=utf-8"),
            ("\u{feff}a", "text/plain; charset=utf-8"),
            ("\u{1b}[1m", "text/plain; charset=utf-8"),
            ("<p>", "text/html; charset=utf-8"),
            (" \n<!doctype html>", "text/html; charset=utf-8"),
            ("<HtMl lang=en>", "text/html; charset=utf-8"),
            ("<!-- a -->", "text/html; charset=utf-8"),
            ("\t<?xml version", "text/xml; charset=utf-8"),
            ("%PDF-1.7", "application/pdf"),
            ("GIF89a", "image/gif"),
            ("a\0b", "application/octet-stream"),
        ] {
            assert_eq!(content_type(text), expected, "{text:?}");
        }
    }

    #[test]
    fn only_the_beginning_counts() {
        let text = |length: usize| "a".repeat(length) + "\0";
        assert_eq!(content_type(&text(511)), "application/octet-stream");
        assert_eq!(content_type(&text(512)), "text/plain; charset=utf-8");
    }
}
