//! Settings of filters that are one text: YAML in its flow style, such as `{a: [b, 'c d'], e: "f"}`.

use std::iter::Peekable;
use std::str::Chars;

use eskip::routing::ArgsError;
use serde_json::{Map, Value};

/// How deep lists and maps may be in each other.
const DEEPEST: usize = 8;

/// Reads the settings: a map. All that is neither a list nor a map is a text.
pub(super) fn settings(text: &str) -> Result<Map<String, Value>, ArgsError> {
    let mut reader = Reader(text.chars().peekable());
    let value = reader.value(0);
    reader.blanks();
    match (value, reader.0.next()) {
        (Some(Value::Object(map)), None) => Ok(map),
        _ => Err(ArgsError(
            "argument 1: expected settings in the flow style of YAML, such as {a: [b, 'c'], d: e}".to_owned(),
        )),
    }
}

/// The rest of the text. `None` wherever it makes no sense.
struct Reader<'t>(Peekable<Chars<'t>>);

// === impl Reader ===

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.blanks();
        match self.0.peek()? {
            '{' if depth < DEEPEST => self.map(depth + 1),
            '[' if depth < DEEPEST => self.list(depth + 1),
            '{' | '[' => None,
            _ => self.text().map(Value::String),
        }
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        let mut map = Map::new();
        self.0.next();
        while !self.ends('}') {
            let key = self.text()?;
            self.blanks();
            self.0.next_if_eq(&':')?;
            if map.insert(key, self.value(depth)?).is_some() {
                return None;
            }
            self.separated('}')?;
        }
        Some(Value::Object(map))
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let mut list = Vec::new();
        self.0.next();
        while !self.ends(']') {
            list.push(self.value(depth)?);
            self.separated(']')?;
        }
        Some(Value::Array(list))
    }

    fn text(&mut self) -> Option<String> {
        match self.0.peek()? {
            quote @ ('\'' | '"') => {
                let quote = *quote;
                self.0.next();
                self.quoted(quote)
            }
            _ => self.plain(),
        }
    }

    /// Up to the quote. In single quotes two of them are one; in double quotes a backslash takes the meaning of what is
    /// behind it.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.0.next()? {
                c if c == quote => match self.0.next_if_eq(&'\'') {
                    Some(_) if quote == '\'' => text.push(quote),
                    Some(_) => return None,
                    None => return Some(text),
                },
                '\\' if quote == '"' => text.push(match self.0.next()? {
                    'n' => '\n',
                    't' => '\t',
                    c @ ('"' | '\\' | '/') => c,
                    _ => return None,
                }),
                c => text.push(c),
            }
        }
    }

    /// Up to a comma, a bracket, or a colon with a blank behind it.
    fn plain(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let mut rest = self.0.clone();
            let Some(c) = rest.next() else {
                break;
            };
            let ends = match c {
                ',' | '{' | '}' | '[' | ']' => true,
                ':' => rest.peek().is_none_or(|next| next.is_whitespace()),
                _ => false,
            };
            if ends {
                break;
            }
            text.push(c);
            self.0 = rest;
        }
        let text = text.trim_end();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A comma, or the end, which stays.
    fn separated(&mut self, end: char) -> Option<()> {
        self.blanks();
        match self.0.peek()? {
            ',' => {
                self.0.next();
                Some(())
            }
            c => (*c == end).then_some(()),
        }
    }

    fn ends(&mut self, end: char) -> bool {
        self.blanks();
        self.0.next_if_eq(&end).is_some()
    }

    fn blanks(&mut self) {
        while self.0.next_if(|c| c.is_whitespace()).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_read() {
        for (text, expected) in [
            ("{}", json!({})),
            (
                " { a : [b, 'c: ''d'''], e: {f: \"g\\\"h\\\\\"}, } ",
                json!({"a": ["b", "c: 'd'"], "e": {"f": "g\"h\\"}}),
            ),
            (
                "{issuers: ['https://a.test', https://b.test], optOutHosts: ['^.+[.]c$']}",
                json!({"issuers": ["https://a.test", "https://b.test"], "optOutHosts": ["^.+[.]c$"]}),
            ),
            (
                "{claims: [{'iss': 'https://a.test', 'realm': 'emp'}]}",
                json!({"claims": [{"iss": "https://a.test", "realm": "emp"}]}),
            ),
            ("{a: b c, d: e}", json!({"a": "b c", "d": "e"})),
        ] {
            assert_eq!(settings(text).map(Value::Object), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let deep = format!("{{a: {}{}}}", "[".repeat(10), "]".repeat(10));
        for text in [
            "",
            "a",
            "[a]",
            "{a}",
            "{a: }",
            "{a: b",
            "{a: [b}",
            "{a: 'b}",
            "{a: b} c",
            "{a: b, a: c}",
            "a: b",
            "{a: \"\\x\"}",
            "{: b}",
            &deep,
        ] {
            assert!(settings(text).is_err(), "{text}");
        }
    }
}
