//! The value of an expression for one request.

use std::{borrow::Cow, cmp::Ordering};

use super::{Comparison, EvaluationError, Expr, Function, Literal};

/// What is known of one request.
pub trait Facts {
    /// The value of a placeholder, by its number in [`super::Program::placeholders`]; [`Operand::Null`] if the request
    /// has none.
    fn value(&self, placeholder: usize) -> Operand<'_>;

    /// Whether a matcher matches, by its number in [`super::Program::matchers`].
    fn matches(&self, matcher: usize) -> bool;
}

/// A value while an expression is evaluated.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand<'v> {
    /// True or false.
    Bool(bool),
    /// A number with a fraction.
    Double(f64),
    /// A whole number.
    Int(i64),
    /// Several values.
    List(Vec<Self>),
    /// No value.
    Null,
    /// A text.
    String(Cow<'v, str>),
}

/// Whether an expression is true.
pub(super) fn truth<F: Facts>(expr: &Expr, facts: &F) -> Result<bool, EvaluationError> {
    match expr {
        Expr::All(parts) => decided(parts, false, facts),
        Expr::Any(parts) => decided(parts, true, facts),
        Expr::Not(inner) => truth(inner, facts).map(|value| !value),
        Expr::Matcher(number) => Ok(facts.matches(*number)),
        Expr::Compare(comparison, pair) => compare(*comparison, pair, facts),
        Expr::In(pair) => is_in(pair, facts),
        Expr::Matches(text, regex) => match operand(text, facts)? {
            Operand::String(text) => Ok(regex.is_match(&text)),
            _ => Err(EvaluationError::Type("`matches`")),
        },
        Expr::If(parts) => truth(branch(parts, facts)?, facts),
        _ => match operand(expr, facts)? {
            Operand::Bool(value) => Ok(value),
            _ => Err(EvaluationError::Type("a logical operator")),
        },
    }
}

/// Parts of which one that is `decisive` decides, even if another one has no value.
fn decided<F: Facts>(parts: &[Expr], decisive: bool, facts: &F) -> Result<bool, EvaluationError> {
    let mut failed = None;
    for part in parts {
        match truth(part, facts) {
            Ok(value) if value == decisive => return Ok(decisive),
            Ok(_) => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(!decisive), Err)
}

fn branch<'e, F: Facts>(parts: &'e [Expr; 3], facts: &F) -> Result<&'e Expr, EvaluationError> {
    let [condition, then, otherwise] = parts;
    Ok(if truth(condition, facts)? { then } else { otherwise })
}

fn operand<'v, F: Facts>(expr: &'v Expr, facts: &'v F) -> Result<Operand<'v>, EvaluationError> {
    Ok(match expr {
        Expr::Literal(literal) => literal.into(),
        Expr::Placeholder(number) => facts.value(*number),
        Expr::List(items) => Operand::List(
            items
                .iter()
                .map(|item| operand(item, facts))
                .collect::<Result<_, _>>()?,
        ),
        Expr::Call(function, arg) => call(*function, operand(arg, facts)?)?,
        Expr::Sum(parts) => sum(parts, facts)?,
        Expr::If(parts) => operand(branch(parts, facts)?, facts)?,
        _ => Operand::Bool(truth(expr, facts)?),
    })
}

fn compare<F: Facts>(comparison: Comparison, pair: &[Expr; 2], facts: &F) -> Result<bool, EvaluationError> {
    let [left, right] = pair;
    let (left, right) = (operand(left, facts)?, operand(right, facts)?);
    let texts = |name| match (&left, &right) {
        (Operand::String(left), Operand::String(right)) => Ok((left.as_ref(), right.as_ref())),
        _ => Err(EvaluationError::Type(name)),
    };
    let order = || ordering(&left, &right).ok_or(EvaluationError::Type("a comparison by size"));
    Ok(match comparison {
        Comparison::Equal => equal(&left, &right),
        Comparison::NotEqual => !equal(&left, &right),
        // Nothing is in order with NaN, which no literal and no placeholder is.
        Comparison::Less => order()? == Ordering::Less,
        Comparison::LessOrEqual => order()? != Ordering::Greater,
        Comparison::Greater => order()? == Ordering::Greater,
        Comparison::GreaterOrEqual => order()? != Ordering::Less,
        Comparison::Contains => texts("`contains`").map(|(left, right)| left.contains(right))?,
        Comparison::EndsWith => texts("`endsWith`").map(|(left, right)| left.ends_with(right))?,
        Comparison::StartsWith => texts("`startsWith`").map(|(left, right)| left.starts_with(right))?,
    })
}

/// Values of different types are not equal; numbers of both kinds are one type.
fn equal(left: &Operand<'_>, right: &Operand<'_>) -> bool {
    match (left, right) {
        (Operand::List(left), Operand::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Operand::Int(_) | Operand::Double(_), Operand::Int(_) | Operand::Double(_)) => {
            ordering(left, right) == Some(Ordering::Equal)
        }
        _ => left == right,
    }
}

/// `None` for types that have no order, or of which only one has.
fn ordering(left: &Operand<'_>, right: &Operand<'_>) -> Option<Ordering> {
    match (left, right) {
        (Operand::Bool(left), Operand::Bool(right)) => Some(left.cmp(right)),
        (Operand::Int(left), Operand::Int(right)) => Some(left.cmp(right)),
        (Operand::Double(left), Operand::Double(right)) => left.partial_cmp(right),
        (Operand::Int(left), Operand::Double(right)) => as_double(*left).partial_cmp(right),
        (Operand::Double(left), Operand::Int(right)) => left.partial_cmp(&as_double(*right)),
        (Operand::String(left), Operand::String(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn is_in<F: Facts>(pair: &[Expr; 2], facts: &F) -> Result<bool, EvaluationError> {
    let [value, list] = pair;
    let value = operand(value, facts)?;
    // The usual list is written out: it needs no list of values.
    if let Expr::List(items) = list {
        for item in items {
            if equal(&value, &operand(item, facts)?) {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    match operand(list, facts)? {
        Operand::List(items) => Ok(items.iter().any(|item| equal(&value, item))),
        _ => Err(EvaluationError::Type("`in`")),
    }
}

fn call(function: Function, arg: Operand<'_>) -> Result<Operand<'_>, EvaluationError> {
    Ok(match (function, arg) {
        (Function::Double, Operand::Int(number)) => Operand::Double(as_double(number)),
        (Function::Int, Operand::Double(number)) => Operand::Int(as_int(number)?),
        (Function::Double, number @ Operand::Double(_)) | (Function::Int, number @ Operand::Int(_)) => number,
        (Function::Double, Operand::String(text)) => {
            let number = text.parse().ok().filter(|number: &f64| number.is_finite());
            Operand::Double(number.ok_or(EvaluationError::Number)?)
        }
        (Function::Int, Operand::String(text)) => {
            Operand::Int(text.parse().map_err(|_| EvaluationError::Number)?)
        }
        (Function::LowerAscii, Operand::String(text)) => Operand::String(text.to_ascii_lowercase().into()),
        (Function::UpperAscii, Operand::String(text)) => Operand::String(text.to_ascii_uppercase().into()),
        (Function::Size, Operand::String(text)) => count(text.chars().count()),
        (Function::Size, Operand::List(items)) => count(items.len()),
        (Function::String, Operand::Bool(value)) => Operand::String(value.to_string().into()),
        (Function::String, Operand::Int(number)) => Operand::String(number.to_string().into()),
        (Function::String, Operand::Double(number)) => Operand::String(number.to_string().into()),
        (Function::String, text @ Operand::String(_)) => text,
        (Function::Double, _) => return Err(EvaluationError::Type("`double`")),
        (Function::Int, _) => return Err(EvaluationError::Type("`int`")),
        (Function::LowerAscii, _) => return Err(EvaluationError::Type("`lowerAscii`")),
        (Function::UpperAscii, _) => return Err(EvaluationError::Type("`upperAscii`")),
        (Function::Size, _) => return Err(EvaluationError::Type("`size`")),
        (Function::String, _) => return Err(EvaluationError::Type("`string`")),
    })
}

fn sum<'v, F: Facts>(parts: &'v [Expr], facts: &'v F) -> Result<Operand<'v>, EvaluationError> {
    let mut total = None;
    for part in parts {
        let part = operand(part, facts)?;
        total = Some(match (total, part) {
            (None, part) => part,
            (Some(Operand::String(mut left)), Operand::String(right)) => {
                left.to_mut().push_str(&right);
                Operand::String(left)
            }
            (Some(Operand::Double(left)), Operand::Double(right)) => Operand::Double(left + right),
            (Some(Operand::Int(left)), Operand::Int(right)) => {
                Operand::Int(left.checked_add(right).ok_or(EvaluationError::Overflow)?)
            }
            _ => return Err(EvaluationError::Type("`+`")),
        });
    }
    Ok(total.unwrap_or(Operand::Null))
}

fn count(number: usize) -> Operand<'static> {
    Operand::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a comparison with a fraction is one of fractions, as in CEL"
)]
const fn as_double(number: i64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the fraction is to go, and the range is checked before"
)]
fn as_int(number: f64) -> Result<i64, EvaluationError> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if number > -LIMIT && number < LIMIT {
        Ok(number as i64)
    } else {
        Err(EvaluationError::Overflow)
    }
}

// === impl Operand ===

impl<'v> From<&'v str> for Operand<'v> {
    fn from(text: &'v str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Operand<'_> {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl<'v> From<&'v Literal> for Operand<'v> {
    fn from(literal: &'v Literal) -> Self {
        match literal {
            Literal::Bool(value) => Self::Bool(*value),
            Literal::Double(number) => Self::Double(*number),
            Literal::Int(number) => Self::Int(*number),
            Literal::Null => Self::Null,
            Literal::String(text) => Self::String(text.as_str().into()),
        }
    }
}
