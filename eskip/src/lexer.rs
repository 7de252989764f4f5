//! Text -> words.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use crate::{
    ast::is_symbol,
    error::ErrorKind,
    token::{Bad, Kind, Token},
};

/// Reads one word after the other.
#[derive(Debug)]
pub(crate) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

const KEYWORDS: [(&str, Kind<'static>); 4] = [
    ("<shunt>", Kind::Shunt),
    ("<loopback>", Kind::Loopback),
    ("<dynamic>", Kind::Dynamic),
    ("<forward>", Kind::Forward),
];

// === impl Lexer ===

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        // Some editors put a byte order mark first.
        let at = if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        Self { text, at }
    }

    /// The next word; behind the last, [`Kind::End`] for ever. What is no word is passed by.
    pub(crate) fn next(&mut self) -> Token<'t> {
        self.skip_space();
        let start = self.at;
        let kind = self.kind();
        let span = start..self.at;
        Token { kind, span }
    }

    /// Reads on from an earlier place, where a character begins.
    pub(crate) const fn go_back(&mut self, at: usize) {
        self.at = at;
    }

    /// White space and comments, in any order.
    fn skip_space(&mut self) {
        while let Some(byte) = self.peek(0) {
            let skipped = match (byte, self.peek(1)) {
                (b' ' | b'\n' | b'\t' | b'\r' | 0x0b | 0x0c, _) => 1,
                (b'/', Some(b'/')) => memchr(b'\n', self.rest()).unwrap_or_else(|| self.rest().len()),
                // U+0085 and U+00A0.
                (0xc2, Some(0x85 | 0xa0)) => 2,
                _ => return,
            };
            self.skip(skipped);
        }
    }

    fn kind(&mut self) -> Kind<'t> {
        let Some(first) = self.peek(0) else {
            return Kind::End;
        };
        let sign = match (first, self.peek(1)) {
            (b',', _) => Kind::Comma,
            (b'(', _) => Kind::OpenParen,
            (b')', _) => Kind::CloseParen,
            (b':', _) => Kind::Colon,
            (b';', _) => Kind::Semicolon,
            (b'>', _) => Kind::CloseAngle,
            (b'*', _) => Kind::Any,
            (b'<', _) => return self.angle(),
            (b'"' | b'`', _) => return self.string(first),
            (b'/', _) => return self.regexp(),
            (b'&', Some(b'&')) => {
                self.skip(1);
                Kind::And
            }
            (b'-', Some(b'>')) => {
                self.skip(1);
                Kind::Arrow
            }
            (b'0'..=b'9' | b'.', _) | (b'-', Some(b'0'..=b'9' | b'.')) => return self.number(),
            (b'a'..=b'z' | b'A'..=b'Z' | b'_', _) => return self.symbol(),
            _ => return self.unknown(),
        };
        self.skip(1);
        sign
    }

    fn angle(&mut self) -> Kind<'t> {
        for (keyword, kind) in KEYWORDS {
            if self.rest().starts_with(keyword.as_bytes()) {
                self.skip(keyword.len());
                return kind;
            }
        }
        self.skip(1);
        Kind::OpenAngle
    }

    fn symbol(&mut self) -> Kind<'t> {
        let start = self.at;
        self.skip_while(is_symbol);
        Kind::Symbol(self.slice(start, self.at))
    }

    fn number(&mut self) -> Kind<'t> {
        let start = self.at;
        if self.peek(0) == Some(b'-') {
            self.skip(1);
        }
        self.skip_while(|byte| byte.is_ascii_digit());
        if self.peek(0) == Some(b'.') {
            self.skip(1);
            let point = self.at;
            self.skip_while(|byte| byte.is_ascii_digit());
            if self.at == point {
                let message = "this number ends with its decimal point";
                return self.bad(
                    ErrorKind::IncompleteToken,
                    message,
                    "write digits behind the point, or no point",
                );
            }
        }
        match self.slice(start, self.at).parse::<f64>() {
            Ok(number) if number.is_finite() => Kind::Number(number),
            _ => {
                let message = "this number is too large";
                self.bad(
                    ErrorKind::NumberTooLarge,
                    message,
                    "numbers go up to about 1.8 with 308 digits behind it",
                )
            }
        }
    }

    /// Both kinds of quotes: they differ in what needs no escape.
    fn string(&mut self, quote: u8) -> Kind<'t> {
        self.skip(1);
        let mut start = self.at;
        let mut value = String::new();
        while let Some(offset) = memchr2(quote, b'\\', self.rest()) {
            self.skip(offset);
            if self.peek(0) == Some(quote) {
                let last = self.slice(start, self.at);
                self.skip(1);
                if value.is_empty() {
                    return Kind::Text(Cow::Borrowed(last));
                }
                value.push_str(last);
                return Kind::Text(Cow::Owned(value));
            }
            match self.peek(1).and_then(|escaped| unescaped(escaped, quote)) {
                Some(c) => {
                    value.push_str(self.slice(start, self.at));
                    value.push(c);
                    self.skip(2);
                    start = self.at;
                }
                // Any other backslash stays, and with it what stands behind it.
                None => self.skip(1),
            }
        }
        self.unclosed("this string is never closed", "add the closing quote")
    }

    fn regexp(&mut self) -> Kind<'t> {
        if self.peek(1).is_none() {
            let bad = Bad {
                kind: ErrorKind::InvalidCharacter,
                position: self.at,
                message: "this slash begins nothing",
                help: "a comment begins with `//`, a regular expression stands between slashes",
            };
            self.skip(1);
            return Kind::Bad(Box::new(bad));
        }
        self.skip(1);
        let mut start = self.at;
        let mut value = String::new();
        let mut in_class = false;
        while let Some(byte) = self.peek(0) {
            match (byte, self.peek(1)) {
                (b'\\', Some(b'/' | b'\\')) => {
                    value.push_str(self.slice(start, self.at));
                    start = self.at.saturating_add(1);
                    self.skip(2);
                }
                (b'\\', Some(_)) => self.skip(2),
                (b'/', _) if !in_class => {
                    let last = self.slice(start, self.at);
                    self.skip(1);
                    if value.is_empty() {
                        return Kind::Regexp(Cow::Borrowed(last));
                    }
                    value.push_str(last);
                    return Kind::Regexp(Cow::Owned(value));
                }
                _ => {
                    in_class = (in_class || byte == b'[') && byte != b']';
                    self.skip(1);
                }
            }
        }
        self.unclosed(
            "this regular expression is never closed",
            "add the closing slash; a slash inside of `[...]` does not close it",
        )
    }

    fn unclosed(&mut self, message: &'static str, help: &'static str) -> Kind<'t> {
        self.at = self.text.len();
        self.bad(ErrorKind::IncompleteToken, message, help)
    }

    fn unknown(&mut self) -> Kind<'t> {
        let next = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        let help = match next {
            Some('#') => "comments begin with `//`",
            Some('\'') => "strings stand between double quotes or backquotes",
            Some('&') => "predicates are joined by `&&`",
            Some('|') => "there is no `||`: write two routes",
            Some('!') => {
                "predicates cannot be negated: write a regular expression, or a route that wins over this one"
            }
            Some('-') => "names have letters, digits and `_`; the arrow is `->`",
            Some('+') => "numbers have no `+`",
            Some('=') => "the arrow is `->`",
            Some('{' | '}' | '$') => "arguments and addresses are strings: put quotes around them",
            Some('[' | ']') => "a regular expression stands between slashes, an address between quotes",
            _ => "strings stand between quotes, regular expressions between slashes, comments behind `//`",
        };
        let position = self.at;
        self.skip(next.map_or(1, char::len_utf8));
        Kind::Bad(Box::new(Bad {
            kind: ErrorKind::UnexpectedToken,
            position,
            message: "this character begins no word of the language",
            help,
        }))
    }

    fn bad(&self, kind: ErrorKind, message: &'static str, help: &'static str) -> Kind<'t> {
        Kind::Bad(Box::new(Bad {
            kind,
            position: self.at,
            message,
            help,
        }))
    }

    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at.saturating_add(ahead)).copied()
    }

    const fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        let rest = self.rest();
        self.skip(rest.iter().position(|byte| !wanted(*byte)).unwrap_or(rest.len()));
    }

    fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }
}

/// What an escape in a string means; `None` if it means nothing.
fn unescaped(byte: u8, quote: u8) -> Option<char> {
    Some(match byte {
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'v' => '\u{b}',
        b'\\' => '\\',
        own if own == quote => char::from(quote),
        _ => return None,
    })
}
