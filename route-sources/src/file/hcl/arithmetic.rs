//! Sums of whole numbers.

use hcl_edit::Number;
use hcl_edit::expr::{BinaryOperator, UnaryOperator};

use super::super::node::Kind;

const WHOLE: &str = "only whole numbers are added, subtracted, multiplied and divided";

/// A number as it is written.
pub(super) fn number(number: &Number) -> Kind {
    let whole = number.as_i64().map(serde_json::Number::from);
    let large = || number.as_u64().map(serde_json::Number::from);
    let real = || number.as_f64().and_then(serde_json::Number::from_f64);
    whole
        .or_else(large)
        .or_else(real)
        .map_or(Kind::Null, Kind::Number)
}

pub(super) fn unary(operator: UnaryOperator, value: &Kind) -> Result<Kind, &'static str> {
    match (operator, value) {
        (UnaryOperator::Not, Kind::Flag(flag)) => Ok(Kind::Flag(!flag)),
        (UnaryOperator::Neg, Kind::Number(number)) => {
            let negated = number.as_i64().and_then(i64::checked_neg);
            negated.map(|number| Kind::Number(number.into())).ok_or(WHOLE)
        }
        _ => Err(WHOLE),
    }
}

pub(super) fn binary(operator: BinaryOperator, left: &Kind, right: &Kind) -> Result<Kind, &'static str> {
    let (Kind::Number(left), Kind::Number(right)) = (left, right) else {
        return Err(WHOLE);
    };
    let (Some(left), Some(right)) = (left.as_i64(), right.as_i64()) else {
        return Err(WHOLE);
    };
    let result = match operator {
        BinaryOperator::Plus => left.checked_add(right),
        BinaryOperator::Minus => left.checked_sub(right),
        BinaryOperator::Mul => left.checked_mul(right),
        BinaryOperator::Div if right != 0 && left.checked_rem(right) == Some(0) => left.checked_div(right),
        BinaryOperator::Mod => left.checked_rem(right),
        _ => None,
    };
    result.map(|number| Kind::Number(number.into())).ok_or(WHOLE)
}
