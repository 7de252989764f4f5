//! Conditions written as expressions.

use std::cell::RefCell;

use caddy_config::expression::{Facts, Operand, Program};

use super::matcher::{Matched, MatcherSet};
use super::slots::Value;
use super::template::Template;
use crate::error::{Failure, Reason};
use crate::request::Context;

/// A compiled expression.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) program: Program,
    /// Its placeholders, by number.
    pub(crate) values: Vec<Template>,
    /// Its matchers, by number.
    pub(crate) matchers: Vec<MatcherSet>,
}

/// What is known of one request. Matchers of regular expressions note what their groups matched.
struct Known<'e, 'c> {
    expression: &'e Expression,
    cx: RefCell<&'c mut Context>,
}

// === impl Expression ===

impl Expression {
    /// Whether it is true.
    ///
    /// # Errors
    ///
    /// If it has no value for this request.
    pub(crate) fn matches(&self, cx: &mut Context) -> Matched {
        let known = Known {
            expression: self,
            cx: RefCell::new(cx),
        };
        let value = self.program.evaluate(&known);
        value.map_err(|error| Box::new(Failure::from(Reason::BadExpression).with_source(error)))
    }
}

// === impl Known ===

impl Facts for Known<'_, '_> {
    fn value(&self, placeholder: usize) -> Operand<'_> {
        let Some(template) = self.expression.values.get(placeholder) else {
            return Operand::Null;
        };
        match template.value(*self.cx.borrow()) {
            Value::Unset | Value::Null | Value::Mapped(..) => Operand::Null,
            Value::Bool(value) => Operand::Bool(value),
            Value::Number(value) => match value.as_i64() {
                Some(value) => Operand::Int(value),
                None => value.as_f64().map_or(Operand::Null, Operand::Double),
            },
            Value::Text(value) => Operand::String(value.to_string().into()),
            Value::List(values) => {
                let values = values.iter().map(|value| Operand::String(value.clone().into()));
                Operand::List(values.collect())
            }
        }
    }

    fn matches(&self, matcher: usize) -> bool {
        let set = self.expression.matchers.get(matcher);
        // No expression is inside of an expression, so nothing fails here.
        set.is_some_and(|set| set.matches(*self.cx.borrow_mut()).unwrap_or(false))
    }
}
