//! Conditions written as expressions, such as `{http.request.method} in ["GET", "HEAD"] && path('/api/*')`.
//!
//! The language is the part of CEL that conditions are written in, with Caddy's placeholders and its matchers as
//! functions:
//!
//! - values: texts in `'..'` or `".."` with CEL's escapes (raw with an `r` before, over several lines in three
//!   quotes), whole and other numbers, `true`, `false`, `null`, lists, placeholders;
//! - operators: `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `&&`, `||`, `!`, `+`, `condition ? a : b`, parentheses;
//! - methods of texts: `contains`, `endsWith`, `lowerAscii`, `matches` (with a fixed regular expression), `size`,
//!   `startsWith`, `upperAscii`;
//! - functions: `double`, `int`, `matches`, `size`, `string`;
//! - matchers: `client_ip`, `geo_country`, `header`, `header_regexp`, `host`, `method`, `path`, `path_regexp`, `protocol`,
//!   `query`, `remote_ip`, `vars`, `vars_regexp`.
//!
//! [`Program::parse`] reads a text once: it checks types as far as they are known, compiles regular expressions and
//! turns matchers into [`MatcherSet`]s. Whoever runs it numbers placeholders and matchers as they stand in
//! [`Program::placeholders`] and [`Program::matchers`], prepares what it needs for each, and answers for them through
//! [`Facts`]:
//!
//! ```
//! use caddy_config::expression::{Facts, Operand, Program};
//!
//! struct Get;
//!
//! impl Facts for Get {
//!     fn value(&self, placeholder: usize) -> Operand<'_> {
//!         assert_eq!(placeholder, 0);
//!         Operand::from("GET")
//!     }
//!
//!     fn matches(&self, matcher: usize) -> bool {
//!         unreachable!("the expression has no matcher {matcher}")
//!     }
//! }
//!
//! let program = Program::parse("{http.request.method} in ['GET', 'HEAD']", None)?;
//! assert_eq!(program.placeholders()[0].to_string(), "http.request.method");
//! assert_eq!(program.evaluate(&Get), Ok(true));
//! # Ok::<(), caddy_config::expression::ExpressionError>(())
//! ```
//!
//! As in CEL, values of different types are not equal, numbers of both kinds are compared as numbers, and an operand
//! of `&&` and `||` that has no value does not matter where the other one decides.

mod calls;
mod compile;
mod error;
mod evaluate;
mod lexer;
mod matchers;
mod syntax;
mod types;

use regex::Regex;

pub use self::{
    error::{EvaluationError, ExpressionError},
    evaluate::{Facts, Operand},
};
use crate::{model::MatcherSet, template::Placeholder};

/// The longest expression, in bytes.
const MAX_LENGTH: usize = 16 * 1024;

/// A checked expression, ready to be evaluated for each request.
#[derive(Clone, Debug)]
pub struct Program {
    root: Expr,
    placeholders: Vec<Placeholder>,
    matchers: Vec<MatcherSet>,
    regexp_states: usize,
}

/// A part of a [`Program`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Expr {
    /// All of these are true; `&&`.
    All(Vec<Self>),
    /// One of these is true; `||`.
    Any(Vec<Self>),
    /// A function of one value.
    Call(Function, Box<Self>),
    /// Two values side by side.
    Compare(Comparison, Box<[Self; 2]>),
    /// The first is true? Then the second, else the third.
    If(Box<[Self; 3]>),
    /// The first is one of the second, a list.
    In(Box<[Self; 2]>),
    /// A list.
    List(Vec<Self>),
    /// A fixed value.
    Literal(Literal),
    /// A matcher of [`Program::matchers`], by number.
    Matcher(usize),
    /// A text matches an expression.
    Matches(Box<Self>, Regex),
    /// Not true.
    Not(Box<Self>),
    /// A placeholder of [`Program::placeholders`], by number.
    Placeholder(usize),
    /// Numbers added, or texts joined; `+`.
    Sum(Vec<Self>),
}

/// A fixed value.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// True or false.
    Bool(bool),
    /// A number with a fraction, never infinite.
    Double(f64),
    /// A whole number.
    Int(i64),
    /// No value.
    Null,
    /// A text.
    String(String),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The first text has the second in it.
    Contains,
    /// The first text ends with the second.
    EndsWith,
    /// `==`.
    Equal,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `!=`.
    NotEqual,
    /// The first text starts with the second.
    StartsWith,
}

/// A function of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// A number as one with a fraction; a text as the number that it writes.
    Double,
    /// A number without its fraction; a text as the number that it writes.
    Int,
    /// A text with its ASCII letters in lower case.
    LowerAscii,
    /// Characters of a text, or items of a list.
    Size,
    /// Text of any single value.
    String,
    /// A text with its ASCII letters in upper case.
    UpperAscii,
}

// === impl Program ===

impl Program {
    /// Reads an expression. `name` becomes the name of the regular expressions in its matchers that have none of
    /// their own, so that `{http.regexp.NAME.1}` finds their groups.
    ///
    /// # Errors
    ///
    /// What is no expression, is longer than 16 KiB or nested more than 40 levels deep, does not result in true or
    /// false, or names a placeholder or function that Doorway does not know.
    pub fn parse(text: &str, name: Option<&str>) -> Result<Self, ExpressionError> {
        if text.len() > MAX_LENGTH {
            return Err(error::at(
                0,
                format!("the expression is longer than {MAX_LENGTH} bytes"),
            ));
        }
        lexer::tokens(text)
            .and_then(|tokens| syntax::parse(&tokens))
            .and_then(|syntax| compile::program(&syntax, name))
            .map_err(|error| error.located(text))
    }

    /// The tree.
    #[must_use]
    pub const fn root(&self) -> &Expr {
        &self.root
    }

    /// The placeholders by number; none occurs twice.
    #[must_use]
    pub fn placeholders(&self) -> &[Placeholder] {
        &self.placeholders
    }

    /// The matchers by number, each a set with one condition.
    #[must_use]
    pub fn matchers(&self) -> &[MatcherSet] {
        &self.matchers
    }

    /// The work that its regular expressions make, see [`crate::regexp`].
    pub(crate) const fn regexp_states(&self) -> usize {
        self.regexp_states
    }

    /// Whether the expression is true for the request that `facts` tells of.
    ///
    /// # Errors
    ///
    /// A value of a type that an operator has no meaning for, or a text that is no number. It is an error of the
    /// configuration; Caddy answers such a request with 500.
    pub fn evaluate(&self, facts: &impl Facts) -> Result<bool, EvaluationError> {
        evaluate::truth(&self.root, facts)
    }
}

#[cfg(test)]
mod tests;
