//! JSON text to a tree of values that know where they stand.
//!
//! Stricter than most readers where leniency hides mistakes: a key that occurs twice is an error, and so is
//! anything behind the document. Depth and number of values are limited, so that a hostile text costs little.

use std::collections::HashSet;

use crate::{
    check::route_sources::has_password,
    source::{Report, Span, short},
};

/// Deeper nesting is refused. Caddy's own documents stay below 40.
const MAX_DEPTH: usize = 128;

/// More values are refused. A document of 10,000 sites has about 300,000.
const MAX_VALUES: usize = 2_000_000;

/// One value and its place.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As written; it has the form of a JSON number.
    Number(String),
    String(String),
    Array(Vec<Node>),
    /// In the order of the text, without duplicates.
    Object(Vec<Member>),
}

/// One field of an object.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) node: Node,
}

struct Reader<'t, 'r> {
    text: &'t str,
    at: usize,
    depth: usize,
    values: usize,
    report: &'r mut Report,
}

/// The error is in the report; reading ends.
struct Stop;

type Read<T> = Result<T, Stop>;

/// Reads one document. `None` if it is no JSON; duplicate keys are reported, but leave a tree.
pub(super) fn read(text: &str, report: &mut Report) -> Option<Node> {
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
        values: 0,
        report,
    };
    reader.document().ok()
}

// === impl Reader ===

impl Reader<'_, '_> {
    fn document(&mut self) -> Read<Node> {
        let node = self.value()?;
        self.skip_space();
        match self.peek() {
            None => Ok(node),
            Some(_) => Err(self.stop_here("unexpected text behind the document", None)),
        }
    }

    fn value(&mut self) -> Read<Node> {
        self.skip_space();
        self.values = self.values.saturating_add(1);
        if self.values > MAX_VALUES {
            return Err(self.stop_here(&format!("more than {MAX_VALUES} values"), None));
        }
        let start = self.at;
        let value = match self.peek() {
            Some('{') => self.nested(Self::object)?,
            Some('[') => self.nested(Self::array)?,
            Some('"') => Value::String(self.string()?),
            Some('-' | '0'..='9') => Value::Number(self.number()?),
            Some(c) if c.is_ascii_alphabetic() => self.word()?,
            Some('\'') => {
                return Err(self.stop_here("expected a value", Some("strings stand in double quotes")));
            }
            Some('/' | '#') => return Err(self.stop_here("expected a value", Some("JSON has no comments"))),
            Some(_) => return Err(self.stop_here("expected a value", None)),
            None => return Err(self.stop_here("the text ends where a value is expected", None)),
        };
        Ok(Node {
            span: Span::new(start, self.at),
            value,
        })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Read<Value>) -> Read<Value> {
        self.depth = self.depth.saturating_add(1);
        if self.depth > MAX_DEPTH {
            return Err(self.stop_here(&format!("nested more than {MAX_DEPTH} deep"), None));
        }
        let value = read(self)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(value)
    }

    fn array(&mut self) -> Read<Value> {
        let open = self.at;
        self.bump();
        let mut items = Vec::new();
        if self.closes(']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value()?);
            if !self.goes_on(open, ']')? {
                return Ok(Value::Array(items));
            }
        }
    }

    fn object(&mut self) -> Read<Value> {
        let open = self.at;
        self.bump();
        let mut members: Vec<Member> = Vec::new();
        let mut seen = HashSet::new();
        if self.closes('}') {
            return Ok(Value::Object(members));
        }
        loop {
            let member = self.member()?;
            if seen.insert(member.key.clone()) {
                members.push(member);
            } else {
                let message = format!("the key `{}` occurs twice in this object", short(&member.key));
                self.report
                    .error(member.key_span, message, "remove one of the two".to_owned());
            }
            if !self.goes_on(open, '}')? {
                return Ok(Value::Object(members));
            }
        }
    }

    fn member(&mut self) -> Read<Member> {
        self.skip_space();
        let start = self.at;
        if self.peek() != Some('"') {
            let help = "keys stand in double quotes, and no comma stands before the closing brace";
            return Err(self.stop_here("expected a key", Some(help)));
        }
        let key = self.string()?;
        let key_span = Span::new(start, self.at);
        self.skip_space();
        if self.peek() != Some(':') {
            return Err(self.stop_here("expected `:` behind the key", None));
        }
        self.bump();
        let value_start = self.at;
        let node = self.value();
        let hides = |node: &Node| matches!(&node.value, Value::String(text) if has_password(text));
        if key == "secret" || key == "url" && node.as_ref().map_or(true, hides) {
            let end = if node.is_ok() { self.at } else { self.text.len() };
            self.report.mask(Span::new(value_start, end));
        }
        Ok(Member {
            key,
            key_span,
            node: node?,
        })
    }

    /// Whether the bracket closes at once.
    fn closes(&mut self, bracket: char) -> bool {
        self.skip_space();
        let closes = self.peek() == Some(bracket);
        if closes {
            self.bump();
        }
        closes
    }

    /// Behind an item: `true` for a comma, `false` for the closing bracket.
    fn goes_on(&mut self, open: usize, bracket: char) -> Read<bool> {
        self.skip_space();
        match self.peek() {
            Some(',') => {
                self.bump();
                self.refuse_trailing_comma(bracket)?;
                Ok(true)
            }
            Some(c) if c == bracket => {
                self.bump();
                Ok(false)
            }
            Some(_) => Err(self.stop_here(&format!("expected `,` or `{bracket}`"), None)),
            None => {
                let span = Span::new(open, open.saturating_add(1));
                self.report
                    .error(span, "this bracket is never closed", format!("add `{bracket}`"));
                Err(Stop)
            }
        }
    }

    fn refuse_trailing_comma(&mut self, bracket: char) -> Read<()> {
        let comma = self.at.saturating_sub(1);
        self.skip_space();
        if self.peek() == Some(bracket) {
            let span = Span::new(comma, comma.saturating_add(1));
            self.report.error(
                span,
                format!("a comma before `{bracket}`"),
                "remove it".to_owned(),
            );
            return Err(Stop);
        }
        Ok(())
    }

    fn word(&mut self) -> Read<Value> {
        let start = self.at;
        self.bump_while(|c| c.is_ascii_alphanumeric() || c == '_');
        match self.text.get(start..self.at) {
            Some("null") => Ok(Value::Null),
            Some("true") => Ok(Value::Bool(true)),
            Some("false") => Ok(Value::Bool(false)),
            _ => Err(self.stop(start, "expected a value", Some("strings stand in double quotes"))),
        }
    }

    fn number(&mut self) -> Read<String> {
        let start = self.at;
        self.bump_while(|c| matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let text = self.text.get(start..self.at).unwrap_or_default();
        if is_number(text) {
            Ok(text.to_owned())
        } else {
            Err(self.stop(start, "this is not a number", None))
        }
    }

    fn string(&mut self) -> Read<String> {
        let open = self.at;
        self.bump();
        let mut out = String::new();
        loop {
            let start = self.at;
            self.bump_while(|c| c != '"' && c != '\\' && c >= ' ');
            out.push_str(self.text.get(start..self.at).unwrap_or_default());
            match self.peek() {
                Some('"') => {
                    self.bump();
                    return Ok(out);
                }
                Some('\\') => out.push(self.escape()?),
                Some(_) => {
                    let help = "write it as an escape, such as \\n";
                    return Err(self.stop_here("a control character inside a string", Some(help)));
                }
                None => {
                    let span = Span::new(open, open.saturating_add(1));
                    self.report
                        .error(span, "this string is never closed", "add `\"`".to_owned());
                    return Err(Stop);
                }
            }
        }
    }

    fn escape(&mut self) -> Read<char> {
        let start = self.at;
        self.bump();
        let c = self.peek();
        self.bump();
        match c {
            Some(c @ ('"' | '\\' | '/')) => Ok(c),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('u') => self.unicode_escape(start),
            _ => Err(self.stop(
                start,
                "this is not an escape",
                Some("a backslash itself is written \\\\"),
            )),
        }
    }

    /// Behind `\u`; characters above U+FFFF are written as two.
    fn unicode_escape(&mut self, start: usize) -> Read<char> {
        let mut units = [self.hex4(start)?, 0];
        let pair = (0xd800..0xdc00).contains(&units[0]);
        if pair
            && self
                .text
                .get(self.at..)
                .is_some_and(|rest| rest.starts_with("\\u"))
        {
            self.bump();
            self.bump();
            units[1] = self.hex4(start)?;
        }
        let used = units.iter().copied().take(if pair { 2 } else { 1 });
        match char::decode_utf16(used).next() {
            Some(Ok(c)) => Ok(c),
            _ => Err(self.stop(start, "half of a surrogate pair", None)),
        }
    }

    fn hex4(&mut self, start: usize) -> Read<u16> {
        let end = self.at.saturating_add(4);
        let digits = self
            .text
            .get(self.at..end)
            .filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
            Some(unit) => {
                self.at = end;
                Ok(unit)
            }
            None => Err(self.stop(start, "\\u needs four hexadecimal digits", None)),
        }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at..).and_then(|rest| rest.chars().next())
    }

    fn bump(&mut self) {
        self.at = self.at.saturating_add(self.peek().map_or(0, char::len_utf8));
    }

    fn bump_while(&mut self, wanted: impl Fn(char) -> bool) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at = self.at.saturating_add(length);
    }

    fn skip_space(&mut self) {
        self.bump_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    }

    fn stop_here(&mut self, message: &str, help: Option<&str>) -> Stop {
        self.stop(self.at, message, help)
    }

    fn stop(&mut self, start: usize, message: &str, help: Option<&str>) -> Stop {
        let span = Span::new(start, self.at.max(start.saturating_add(1)));
        self.report.error(span, message, help.map(str::to_owned));
        Stop
    }
}

/// The form of a number: sign, digits without a leading zero, fraction, exponent.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        ),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

#[cfg(test)]
mod tests;
