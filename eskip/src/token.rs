//! The words of the language.

use std::{borrow::Cow, ops::Range};

use crate::{ast::LONGEST_SHOWN, error::ErrorKind};

/// A word, and where it stands, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind<'t>,
    pub(crate) span: Range<usize>,
}

/// What a word is. Texts are without delimiters and escapes.
#[derive(Clone, Debug)]
pub(crate) enum Kind<'t> {
    And,
    Any,
    Arrow,
    Bad(Box<Bad>),
    CloseAngle,
    CloseParen,
    Colon,
    Comma,
    Dynamic,
    End,
    Forward,
    Loopback,
    Number(f64),
    OpenAngle,
    OpenParen,
    Regexp(Cow<'t, str>),
    Semicolon,
    Shunt,
    Symbol(&'t str),
    Text(Cow<'t, str>),
}

/// Why something is no word.
#[derive(Clone, Debug)]
pub(crate) struct Bad {
    pub(crate) kind: ErrorKind,
    /// Where reading stopped, in bytes.
    pub(crate) position: usize,
    pub(crate) message: &'static str,
    pub(crate) help: &'static str,
}

// === impl Token ===

impl Token<'_> {
    /// Where an error at this word is, as Skipper counts: behind it, as it was read before it was found wrong.
    pub(crate) const fn position(&self) -> usize {
        match &self.kind {
            Kind::Bad(bad) => bad.position,
            _ => self.span.end,
        }
    }

    /// What a message calls it.
    pub(crate) fn described(&self) -> String {
        match &self.kind {
            Kind::End => "the end".to_owned(),
            Kind::Bad(_) => "something that is no word of the language".to_owned(),
            Kind::Number(number) => format!("the number {number}"),
            Kind::Regexp(text) => format!("the regular expression `{}`", cut(text)),
            Kind::Symbol(text) => format!("the name `{}`", cut(text)),
            Kind::Text(text) => format!("the string {:?}", cut(text)),
            sign => format!("`{}`", sign.sign()),
        }
    }

    /// The word as Skipper's messages show it.
    pub(crate) fn shown(&self, text: &str) -> String {
        match &self.kind {
            Kind::Number(_) => cut(text.get(self.span.clone()).unwrap_or_default()).into_owned(),
            Kind::Regexp(text) | Kind::Text(text) => cut(text).into_owned(),
            Kind::Symbol(text) => cut(text).into_owned(),
            sign => sign.sign().to_owned(),
        }
    }
}

impl Kind<'_> {
    const fn sign(&self) -> &'static str {
        match self {
            Self::And => "&&",
            Self::Any => "*",
            Self::Arrow => "->",
            Self::CloseAngle => ">",
            Self::CloseParen => ")",
            Self::Colon => ":",
            Self::Comma => ",",
            Self::Dynamic => "<dynamic>",
            Self::Forward => "<forward>",
            Self::Loopback => "<loopback>",
            Self::OpenAngle => "<",
            Self::OpenParen => "(",
            Self::Semicolon => ";",
            Self::Shunt => "<shunt>",
            Self::Bad(_)
            | Self::End
            | Self::Number(_)
            | Self::Regexp(_)
            | Self::Symbol(_)
            | Self::Text(_) => "",
        }
    }
}

/// A text that may be of any length, in a message.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST_SHOWN) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}
