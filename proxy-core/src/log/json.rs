//! Fields as JSON, written straight into the line.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

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
        let written = write!(self.key(key), "{value}");
        debug_assert!(written.is_ok(), "a String takes all text");
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
    if text.bytes().all(is_plain) {
        out.push_str(text);
    } else {
        text.chars().for_each(|c| push_char(out, c));
    }
    out.push('"');
}

fn is_plain(byte: u8) -> bool {
    (b' '..0x7f).contains(&byte) && byte != b'"' && byte != b'\\'
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
