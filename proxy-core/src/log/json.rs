//! Fields as JSON, written straight into the line.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::digits::push_number;
use super::format::Fields;
use super::time::DurationFormat;

/// Appends fields to a line.
#[derive(Debug)]
pub(super) struct JsonFields<'o> {
    out: &'o mut String,
    duration: DurationFormat,
    /// With a space behind colons and commas.
    spaced: bool,
    /// Something stands before in this object.
    has_before: bool,
}

// === impl JsonFields ===

impl<'o> JsonFields<'o> {
    /// For an object that has been opened; `has_before` if it holds something.
    pub(super) fn new(out: &'o mut String, duration: DurationFormat, spaced: bool, has_before: bool) -> Self {
        Self {
            out,
            duration,
            spaced,
            has_before,
        }
    }

    /// The line, for a value behind `key`.
    pub(super) fn key(&mut self, key: &str) -> &mut String {
        if self.has_before {
            self.out.push_str(if self.spaced { ", " } else { "," });
        }
        self.has_before = true;
        push_string(self.out, key);
        self.out.push_str(if self.spaced { ": " } else { ":" });
        self.out
    }
}

impl Fields for JsonFields<'_> {
    fn text(&mut self, key: &str, value: &str) {
        push_string(self.key(key), value);
    }

    fn number(&mut self, key: &str, value: u64) {
        push_number(self.key(key), value);
    }

    fn duration(&mut self, key: &str, value: Duration) {
        let format = self.duration;
        format.write(value, self.key(key));
    }

    fn list(&mut self, key: &str, values: &mut dyn Iterator<Item = Cow<'_, str>>) {
        let comma = if self.spaced { ", " } else { "," };
        let out = self.key(key);
        out.push('[');
        for (index, value) in values.enumerate() {
            if index > 0 {
                out.push_str(comma);
            }
            push_string(out, &value);
        }
        out.push(']');
    }

    fn value(&mut self, key: &str, value: &Value) {
        match value {
            Value::String(text) => self.text(key, text),
            other => {
                let text = other.to_string();
                self.key(key).push_str(&text);
            }
        }
    }

    fn open(&mut self, key: &str) {
        self.key(key).push('{');
        self.has_before = false;
    }

    fn close(&mut self) {
        self.out.push('}');
        self.has_before = true;
    }
}

/// Appends `text` as a JSON string. What could end a line, move a cursor or turn the direction of writing is
/// escaped.
pub(super) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    if is_plain(text) {
        out.push_str(text);
    } else {
        text.chars().for_each(|c| push_char(out, c));
    }
    out.push('"');
}

/// Whether there is nothing to escape. Eight bytes are looked at at a time: every line has some forty strings.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes
            .iter()
            .all(|byte| (b' '..0x7f).contains(byte) && *byte != b'"' && *byte != b'\\');
    };
    // Those behind the last whole eight are in the last eight, too.
    let (words, _) = bytes.as_chunks::<8>();
    words
        .iter()
        .chain([last])
        .all(|word| are_plain(u64::from_le_bytes(*word)))
}

/// Whether eight bytes are all plain. The highest bit of a byte tells of it: it is set where a subtraction went below
/// zero, and a borrow reaches another byte only from one that is not plain itself.
fn are_plain(word: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHEST: u64 = 0x80 * ONES;
    let below = |word: u64, byte: u64| word.wrapping_sub(ONES * byte) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let found = word | below(word, b' '.into()) | is(b'"') | is(b'\\') | is(0x7f);
    found & HIGHEST == 0
}

fn push_char(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ if c.is_control() || turns(c) => {
            let written = write!(out, "\\u{:04x}", u32::from(c));
            debug_assert!(written.is_ok(), "a String takes all text");
        }
        _ => out.push(c),
    }
}

/// Line and paragraph separators, and marks that turn the direction in which text is shown.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_as_they_were_and_stay_on_their_line() {
        for text in [
            "",
            "plain",
            "\"quoted\" \\",
            "a\nb\r\tc\u{0}\u{1b}[31m\u{7f}\u{85}",
            "\u{e9}\u{2028}\u{202e}\u{2066}\u{1f600}",
        ] {
            let mut out = String::new();
            push_string(&mut out, text);
            assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text, "{out}");
            assert!(!out.contains(|c: char| c.is_control() || turns(c)), "{out}");
        }
    }

    #[test]
    fn every_byte_is_looked_at_in_every_place() {
        for byte in 0..=0x7f_u8 {
            let is_special = byte < b' ' || byte == 0x7f || byte == b'"' || byte == b'\\';
            for place in 0..17 {
                let mut text = [b'a'; 17];
                text[place] = byte;
                let text = std::str::from_utf8(&text).unwrap();
                assert_eq!(is_plain(text), !is_special, "{byte} at {place}");
            }
        }
        assert!(!is_plain("aaa\u{e9}aaaa"));
    }

    #[test]
    fn objects_nest() {
        for (spaced, expected) in [
            (
                false,
                r#"{"a":{"b":["x","y"],"c":1},"d":{},"e":0.500000000,"f":[1,"z"]}"#,
            ),
            (
                true,
                r#"{"a": {"b": ["x", "y"], "c": 1}, "d": {}, "e": 0.500000000, "f": [1,"z"]}"#,
            ),
        ] {
            let mut out = "{".to_owned();
            let mut fields = JsonFields::new(&mut out, DurationFormat::Seconds, spaced, false);
            fields.open("a");
            fields.list("b", &mut ["x", "y"].into_iter().map(Cow::Borrowed));
            fields.number("c", 1);
            fields.close();
            fields.open("d");
            fields.close();
            fields.duration("e", Duration::from_millis(500));
            fields.value("f", &serde_json::json!([1, "z"]));
            out.push('}');
            assert_eq!(out, expected);
        }
    }
}
