//! JSON as Caddy writes it, byte by byte, so that whoever compares texts sees no difference.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};

/// Numbers below and from here on have an exponent.
const SMALL: f64 = 1e-6;
const LARGE: f64 = 1e21;

/// `value` as one line, without a line feed.
pub(in crate::admin) fn line(value: &Value) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Style);
    value
        .serialize(&mut serializer)
        .expect("writing to memory, with string keys");
    String::from_utf8(bytes).expect("JSON of strings is UTF-8")
}

/// What differs from serde_json's own style: characters that HTML takes for its own are escaped, and whole numbers
/// are written as such however they were written.
struct Style;

// === impl Style ===

impl Formatter for Style {
    fn write_f64<W: Write + ?Sized>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        let size = value.abs();
        if size == 0.0 || (SMALL..LARGE).contains(&size) {
            return write!(to, "{value}");
        }
        let text = format!("{value:e}");
        to.write_all(
            if size < SMALL {
                text
            } else {
                text.replace('e', "e+")
            }
            .as_bytes(),
        )
    }

    fn write_string_fragment<W: Write + ?Sized>(&mut self, to: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some((before, found, after)) = first_special(rest) {
            to.write_all(before.as_bytes())?;
            write!(to, "\\u{:04x}", u32::from(found))?;
            rest = after;
        }
        to.write_all(rest.as_bytes())
    }
}

fn first_special(text: &str) -> Option<(&str, char, &str)> {
    let at = text.find(is_special)?;
    let (before, from) = text.split_at(at);
    let found = from.chars().next()?;
    let (_, after) = from.split_at(found.len_utf8());
    Some((before, found, after))
}

/// JSON without the space between its parts, otherwise as it is written.
pub(in crate::admin) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut inside, mut escaped) = (false, false);
    for c in json.chars() {
        if inside {
            inside = escaped || c != '"';
            escaped = c == '\\' && !escaped;
        } else if c == '"' {
            inside = true;
        } else if c.is_ascii_whitespace() {
            continue;
        }
        if is_special(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// What Caddy's encoder escapes, beside what any does. It stands in texts only.
fn is_special(c: char) -> bool {
    matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}
