//! Functions, and methods of texts.

use super::{
    Comparison, Expr, ExpressionError, Function,
    compile::{Compiler, Typed, expect},
    error::at,
    matchers,
    syntax::{Node, Syntax},
    types::Type,
};
use crate::{regexp, suggest::did_you_mean};

const FUNCTIONS: [&str; 5] = ["double", "int", "matches", "size", "string"];

const METHODS: [&str; 7] = [
    "contains",
    "endsWith",
    "lowerAscii",
    "matches",
    "size",
    "startsWith",
    "upperAscii",
];

/// A call such as `size(x)`.
pub(super) fn function(
    compiler: &mut Compiler<'_>,
    name: &str,
    args: &[Syntax],
    start: usize,
) -> Result<Typed, ExpressionError> {
    match (name, args) {
        ("matches", [text, pattern]) => matches(compiler, text, pattern),
        ("double", [arg]) => converted(compiler, Function::Double, arg),
        ("int", [arg]) => converted(compiler, Function::Int, arg),
        ("string", [arg]) => converted(compiler, Function::String, arg),
        ("size", [arg]) => size(compiler, arg),
        _ if FUNCTIONS.contains(&name) => {
            let count = if name == "matches" {
                "two arguments"
            } else {
                "one argument"
            };
            Err(at(start, format!("`{name}` takes {count}")))
        }
        _ => {
            let known = || FUNCTIONS.into_iter().chain(matchers::NAMES);
            let help = did_you_mean(name, known()).unwrap_or_else(|| {
                let names: Vec<&str> = known().collect();
                format!("supported functions: {}", names.join(", "))
            });
            Err(at(start, format!("the function `{name}` is not supported")).help(help))
        }
    }
}

/// A call such as `x.size()`.
pub(super) fn method(
    compiler: &mut Compiler<'_>,
    name: &str,
    target: &Syntax,
    args: &[Syntax],
    start: usize,
) -> Result<Typed, ExpressionError> {
    match (name, args) {
        ("contains", [arg]) => compare(compiler, Comparison::Contains, target, arg),
        ("endsWith", [arg]) => compare(compiler, Comparison::EndsWith, target, arg),
        ("startsWith", [arg]) => compare(compiler, Comparison::StartsWith, target, arg),
        ("matches", [pattern]) => matches(compiler, target, pattern),
        ("lowerAscii", []) => Ok((
            Expr::Call(Function::LowerAscii, text(compiler, target)?),
            Type::String,
        )),
        ("upperAscii", []) => Ok((
            Expr::Call(Function::UpperAscii, text(compiler, target)?),
            Type::String,
        )),
        ("size", []) => size(compiler, target),
        _ if METHODS.contains(&name) => {
            Err(at(start, format!("`.{name}()` has another number of arguments")))
        }
        _ => {
            let help = did_you_mean(name, METHODS)
                .unwrap_or_else(|| format!("supported methods: {}", METHODS.join(", ")));
            Err(at(start, format!("the method `{name}` is not supported")).help(help))
        }
    }
}

fn text(compiler: &mut Compiler<'_>, syntax: &Syntax) -> Result<Box<Expr>, ExpressionError> {
    let (expr, found) = compiler.expr(syntax)?;
    expect(syntax, found, Type::String)?;
    Ok(Box::new(expr))
}

fn compare(
    compiler: &mut Compiler<'_>,
    comparison: Comparison,
    left: &Syntax,
    right: &Syntax,
) -> Result<Typed, ExpressionError> {
    let pair = [*text(compiler, left)?, *text(compiler, right)?];
    Ok((Expr::Compare(comparison, Box::new(pair)), Type::Bool))
}

fn matches(
    compiler: &mut Compiler<'_>,
    subject: &Syntax,
    pattern: &Syntax,
) -> Result<Typed, ExpressionError> {
    let subject = text(compiler, subject)?;
    let Node::String(pattern_text) = &pattern.node else {
        return Err(at(pattern.start, "a regular expression that is not a fixed text")
            .help("write it in quotes; Doorway compiles it once, not for each request"));
    };
    compiler.regexp(pattern_text, pattern.start)?;
    let regex = regexp::compile(pattern_text).map_err(|error| at(pattern.start, error.to_string()))?;
    Ok((Expr::Matches(subject, regex), Type::Bool))
}

fn converted(
    compiler: &mut Compiler<'_>,
    function: Function,
    arg: &Syntax,
) -> Result<Typed, ExpressionError> {
    let (expr, found) = compiler.expr(arg)?;
    let (fits, result) = match function {
        Function::String => (!matches!(found, Type::List(_) | Type::Null), Type::String),
        Function::Double => (
            !matches!(found, Type::Bool | Type::List(_) | Type::Null),
            Type::Double,
        ),
        _ => (
            !matches!(found, Type::Bool | Type::List(_) | Type::Null),
            Type::Int,
        ),
    };
    if !fits {
        return Err(at(arg.start, format!("{} cannot be converted", found.name())));
    }
    if let Node::String(text) = &arg.node {
        let number = match function {
            Function::Double => text.parse::<f64>().is_ok(),
            Function::Int => text.parse::<i64>().is_ok(),
            _ => true,
        };
        if !number {
            return Err(at(arg.start, "this text is no number"));
        }
    }
    Ok((Expr::Call(function, Box::new(expr)), result))
}

fn size(compiler: &mut Compiler<'_>, arg: &Syntax) -> Result<Typed, ExpressionError> {
    let (expr, found) = compiler.expr(arg)?;
    if !matches!(found, Type::Dynamic | Type::List(_) | Type::String) {
        return Err(at(arg.start, format!("{} has no size", found.name())));
    }
    Ok((Expr::Call(Function::Size, Box::new(expr)), Type::Int))
}
