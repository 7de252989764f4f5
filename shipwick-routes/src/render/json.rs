//! JSON as Go writes it: compact, and with what could end a script escaped.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Writes strings as Go's `encoding/json` does.
#[derive(Debug)]
struct AsGo;

/// `value` as JSON. Objects have their keys in the order in which `value` gives them.
pub(super) fn to_vec(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, AsGo));
    debug_assert!(written.is_ok(), "a Vec takes all bytes, and the keys are strings");
    bytes
}

// === impl AsGo ===

impl Formatter for AsGo {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (plain, special) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut chars = special.chars();
            if let Some(first) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(first))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_as_go_does() {
        let text = "<a href=\"x\">&\u{2028}\u{2029}\n\t\u{1}é\u{7f}</a>";
        let written = String::from_utf8(to_vec(&text)).unwrap();
        let expected = concat!(
            r#""\u003ca href=\"x\"\u003e\u0026\u2028\u2029\n\t\u0001é"#,
            "\u{7f}",
            r#"\u003c/a\u003e""#
        );
        assert_eq!(written, expected);
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
