//! Expression text -> tokens.

use super::{ExpressionError, error::at};

/// A word of the language, and where it begins in the text, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Double(f64),
    End,
    Int(i64),
    /// A name or a word such as `in`.
    Name(String),
    /// The full name of a placeholder, without braces.
    Placeholder(String),
    Sign(&'static str),
    String(String),
}

/// The longest first, so that `<=` is not `<` and `=`.
const SIGNS: [&str; 25] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", "{", "}", ",", ".", "?", ":", "+",
    "-", "*", "/", "%", "=",
];

/// What is left of a text.
#[derive(Clone, Copy, Debug)]
struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

/// The tokens of a text; the last one is [`Kind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    let mut cursor = Cursor { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        cursor.skip_blanks();
        let start = cursor.at;
        let kind = cursor.token()?;
        let ended = kind == Kind::End;
        tokens.push(Token { kind, start });
        if ended {
            return Ok(tokens);
        }
    }
}

// === impl Kind ===

impl Kind {
    /// As it is written, for messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Double(number) => format!("`{number}`"),
            Self::End => "the end".to_owned(),
            Self::Int(number) => format!("`{number}`"),
            Self::Name(name) => format!("`{name}`"),
            Self::Placeholder(name) => format!("`{{{name}}}`"),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::String(_) => "a text in quotes".to_owned(),
        }
    }
}

// === impl Cursor ===

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.skip(next.len_utf8());
        Some(next)
    }

    const fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    /// Blanks, and comments from `//` to the end of their line.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let rest = rest.trim_start();
            self.at = self.text.len().saturating_sub(rest.len());
            if !rest.starts_with("//") {
                return;
            }
            self.skip(rest.find('\n').unwrap_or(rest.len()));
        }
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.skip(end);
        rest.get(..end).unwrap_or_default()
    }

    fn token(&mut self) -> Result<Kind, ExpressionError> {
        let Some(first) = self.peek() else {
            return Ok(Kind::End);
        };
        if let Some(name) = placeholder(self.rest()) {
            self.skip(name.len().saturating_add(2));
            return Ok(Kind::Placeholder(name.to_owned()));
        }
        let next_is_digit = self.rest().chars().nth(1).is_some_and(|c| c.is_ascii_digit());
        match first {
            '"' | '\'' => self.string(false),
            'r' | 'R' if matches!(self.rest().chars().nth(1), Some('"' | '\'')) => {
                self.skip(1);
                self.string(true)
            }
            'b' | 'B' if matches!(self.rest().chars().nth(1), Some('"' | '\'')) => {
                Err(at(self.at, "bytes are not supported").help("write a text, without the `b`"))
            }
            '0'..='9' => self.number(),
            '.' if next_is_digit => self.number(),
            'a'..='z' | 'A'..='Z' | '_' => Ok(Kind::Name(
                self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
                    .to_owned(),
            )),
            _ => self.sign(),
        }
    }

    fn sign(&mut self) -> Result<Kind, ExpressionError> {
        let rest = self.rest();
        match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(&"=") => Err(at(self.at, "a single `=`").help("to compare, write `==`")),
            Some(sign) => {
                self.skip(sign.len());
                Ok(Kind::Sign(sign))
            }
            None => {
                let found = rest.chars().next().unwrap_or_default();
                Err(at(
                    self.at,
                    format!("`{}` has no meaning here", found.escape_default()),
                ))
            }
        }
    }

    fn number(&mut self) -> Result<Kind, ExpressionError> {
        let start = self.at;
        let wrong = |message: &str| at(start, message);
        if let Some(digits) = self
            .rest()
            .strip_prefix("0x")
            .or_else(|| self.rest().strip_prefix("0X"))
        {
            let end = digits
                .find(|c: char| !c.is_ascii_hexdigit())
                .unwrap_or(digits.len());
            self.skip(end.saturating_add(2));
            let digits = digits.get(..end).unwrap_or_default();
            return i64::from_str_radix(digits, 16)
                .map(Kind::Int)
                .map_err(|_| wrong("this is not a number"));
        }
        self.take_while(|c| c.is_ascii_digit());
        let mut is_double = false;
        let fraction = self.rest().strip_prefix('.');
        if fraction.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
            is_double = true;
            self.skip(1);
            self.take_while(|c| c.is_ascii_digit());
        }
        if let Some(exponent) = self.rest().strip_prefix(['e', 'E']) {
            is_double = true;
            let signed = exponent.starts_with(['+', '-']);
            self.skip(1_usize.saturating_add(usize::from(signed)));
            self.take_while(|c| c.is_ascii_digit());
        }
        if matches!(self.peek(), Some('u' | 'U')) {
            return Err(wrong("numbers with a `u` are not supported").help("leave the `u` out"));
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        if is_double {
            let number = text.parse().ok().filter(|number: &f64| number.is_finite());
            return number
                .map(Kind::Double)
                .ok_or_else(|| wrong("this is not a number"));
        }
        text.parse()
            .map(Kind::Int)
            .map_err(|_| wrong("the number is too large"))
    }

    /// A text in quotes: one of either kind, or three of a kind around several lines.
    fn string(&mut self, raw: bool) -> Result<Kind, ExpressionError> {
        let start = self.at;
        let quote = match self.rest().get(..3) {
            Some("\"\"\"") => "\"\"\"",
            Some("'''") => "'''",
            _ if self.rest().starts_with('"') => "\"",
            _ => "'",
        };
        self.skip(quote.len());
        let mut text = String::new();
        loop {
            let rest = self.rest();
            if rest.starts_with(quote) {
                self.skip(quote.len());
                return Ok(Kind::String(text));
            }
            if let Some(name) = placeholder(rest)
                && name.contains('.')
            {
                return Err(
                    at(self.at, format!("the placeholder `{{{name}}}` inside of a text")).help(
                        "write it without quotes around; where a matcher is to see the braces, write `\\{`",
                    ),
                );
            }
            let here = self.at;
            match self.next() {
                None => return Err(at(start, "a text without its closing quote")),
                Some('\n' | '\r') if quote.len() == 1 => {
                    return Err(at(start, "a text without its closing quote on the same line"));
                }
                Some('\\') if self.peek() == Some('{') => {
                    text.push('{');
                    self.skip(1);
                }
                Some('\\') if !raw => text.push(self.escape(here)?),
                Some('\\') => {
                    // In raw text a backslash is one, and the quote behind it does not end the text.
                    text.push('\\');
                    text.extend(self.next());
                }
                Some(c) => text.push(c),
            }
        }
    }

    /// The character that an escape behind its backslash stands for.
    fn escape(&mut self, start: usize) -> Result<char, ExpressionError> {
        let help =
            "a backslash is written `\\\\`; or put an `r` before the quote, which makes all of them text";
        let wrong = || at(start, "an unknown escape in a text").help(help);
        let digits = match self.next().ok_or_else(wrong)? {
            'a' => return Ok('\u{7}'),
            'b' => return Ok('\u{8}'),
            'f' => return Ok('\u{c}'),
            'n' => return Ok('\n'),
            'r' => return Ok('\r'),
            't' => return Ok('\t'),
            'v' => return Ok('\u{b}'),
            c @ ('\\' | '?' | '"' | '\'' | '`') => return Ok(c),
            'x' | 'X' => 2,
            'u' => 4,
            'U' => 8,
            c @ '0'..='3' => {
                let digits = self.rest().get(..2).ok_or_else(wrong)?;
                self.skip(2);
                let number = u32::from_str_radix(&format!("{c}{digits}"), 8).ok();
                return number.and_then(char::from_u32).ok_or_else(wrong);
            }
            _ => return Err(wrong()),
        };
        let hex = self.rest().get(..digits).ok_or_else(wrong)?;
        self.skip(digits);
        let plain = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u32::from_str_radix(hex, 16).ok().filter(|_| plain);
        number.and_then(char::from_u32).ok_or_else(wrong)
    }
}

/// The name of the placeholder that a text begins with: two characters at least, a letter first. Other braces are a
/// map.
fn placeholder(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('{')?;
    let end = inside.find(|c: char| c.is_whitespace() || "{}\"':()".contains(c))?;
    let (name, behind) = inside.split_at_checked(end)?;
    let is_name = name.len() > 1 && name.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_name && behind.starts_with('}')).then_some(name)
}
