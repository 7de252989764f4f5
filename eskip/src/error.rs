//! What is wrong with a text.

use std::{fmt, ops::Range};

use crate::{
    ast::Name,
    check::{Problem, RouteError},
    place::{Place, Places},
};

/// One thing that is wrong with a text.
///
/// Its [`Display`](fmt::Display) form is one line, worded as Skipper words it, so that whoever reads logs finds what
/// they know: `parse failed after token ->, last route id: r2, position 49: syntax error`. [`ParseErrors::report`] is
/// the form for those who wrote the text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ParseError {
    pub(crate) kind: ErrorKind,
    pub(crate) token: String,
    pub(crate) route: Option<Name>,
    pub(crate) position: usize,
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: Option<&'static str>,
    pub(crate) place: Place,
}

/// What kind of mistake it is.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A word stands where another one is needed.
    #[error("syntax error")]
    Syntax,
    /// A slash at the end of the text.
    #[error("invalid character")]
    InvalidCharacter,
    /// A string, a regular expression or a number that does not end.
    #[error("incomplete token")]
    IncompleteToken,
    /// Behind what could be all of the text, something that is no word of the language.
    #[error("unexpected token")]
    UnexpectedToken,
    /// A number beyond what a 64-bit floating-point number can be.
    #[error("number too large")]
    NumberTooLarge,
    /// A well-formed route that means nothing.
    #[error(transparent)]
    Route(Problem),
}

/// All that is wrong with a text, in its order. Never empty.
///
/// Its [`Display`](fmt::Display) form has one line for each, see [`ParseError`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ParseErrors {
    errors: Vec<ParseError>,
    left_out: usize,
}

/// Collects errors; so many are kept.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    errors: Vec<Draft>,
    left_out: usize,
}

/// An error whose place is known in bytes only.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) kind: ErrorKind,
    pub(crate) token: String,
    pub(crate) route: Option<Name>,
    pub(crate) position: usize,
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: Option<&'static str>,
}

/// Whoever has made so many mistakes has given the wrong file.
const MOST_KEPT: usize = 100;

// === impl ParseError ===

impl ParseError {
    /// What kind of mistake it is.
    #[must_use]
    pub const fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Where Skipper would say that it is, in bytes: what was read when it was found.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// What is wrong, in bytes.
    #[must_use]
    pub const fn span(&self) -> &Range<usize> {
        &self.span
    }

    /// Line and column of what is wrong.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// The last word that was read before, without quotes and escapes; a long one is cut.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The id of the route that it is in, or of the last route before.
    #[must_use]
    pub const fn route(&self) -> Option<&Name> {
        self.route.as_ref()
    }

    /// What is wrong, for whoever wrote it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    #[must_use]
    pub const fn help(&self) -> Option<&'static str> {
        self.help
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            token,
            route,
            position,
            ..
        } = self;
        if let ErrorKind::Route(problem) = kind {
            let (id, problem) = (route.clone(), problem.clone());
            return RouteError { id, problem }.fmt(f);
        }
        write!(f, "parse failed after token {token}")?;
        if let Some(route) = route {
            write!(f, ", last route id: {route}")?;
        }
        write!(f, ", position {position}: {kind}")
    }
}

impl std::error::Error for ParseError {}

// === impl ParseErrors ===

impl ParseErrors {
    /// The mistakes, in the order of the text. At most a hundred are kept; see [`ParseErrors::left_out`].
    pub fn iter(&self) -> impl Iterator<Item = &ParseError> {
        self.errors.iter()
    }

    /// How many more there were.
    #[must_use]
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    /// The mistakes for whoever wrote the text: each with file, line and column, its line with a mark, and a way out.
    ///
    /// ```
    /// let errors = eskip::parse("r: Path(/api) -> <shunt>").unwrap_err();
    /// assert_eq!(
    ///     errors.report("routes.eskip"),
    ///     "routes.eskip:1:9: this regular expression is never closed\n  1 | r: Path(/api) -> <shunt>\n    |         ^^^^^^^^^^^^^^^^\n  \
    ///      help: add the closing slash; a slash inside of `[...]` does not close it"
    /// );
    /// ```
    #[must_use]
    pub fn report(&self, file: &str) -> String {
        let mut lines = Vec::new();
        for error in &self.errors {
            let ParseError {
                message, place, help, ..
            } = error;
            lines.push(format!(
                "{file}:{}:{}: {message}\n{place}",
                place.line(),
                place.column()
            ));
            lines.extend(help.map(|help| format!("  help: {help}")));
        }
        if self.left_out > 0 {
            lines.push(format!("and {} more", self.left_out));
        }
        lines.join("\n")
    }
}

impl IntoIterator for ParseErrors {
    type Item = ParseError;
    type IntoIter = std::vec::IntoIter<ParseError>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.into_iter()
    }
}

impl fmt::Display for ParseErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        if self.left_out > 0 {
            write!(f, "\nand {} more", self.left_out)?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseErrors {}

// === impl Collector ===

impl Collector {
    pub(crate) fn push(&mut self, draft: impl FnOnce() -> Draft) {
        if self.errors.len() < MOST_KEPT {
            self.errors.push(draft());
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    /// `value`, if nothing is wrong with `text`.
    pub(crate) fn finish<T>(self, text: &str, value: T) -> Result<T, ParseErrors> {
        if self.errors.is_empty() {
            return Ok(value);
        }
        let mut drafts = self.errors;
        drafts.sort_by_key(|draft| draft.span.start);
        let mut places = Places::new(text);
        let errors = drafts.into_iter().map(|draft| draft.at(&mut places)).collect();
        Err(ParseErrors {
            errors,
            left_out: self.left_out,
        })
    }
}

impl Draft {
    fn at(self, places: &mut Places<'_>) -> ParseError {
        let place = places.find(self.span.clone());
        ParseError {
            kind: self.kind,
            token: self.token,
            route: self.route,
            position: self.position,
            span: self.span,
            message: self.message,
            help: self.help,
            place,
        }
    }
}
