//! The tree of a text -> a program: types are checked, names are looked up.

use super::{
    Comparison, Expr, ExpressionError, Literal, Program, calls,
    error::at,
    matchers,
    syntax::{Node, Syntax},
    types::Type,
};
use crate::{
    model::MatcherSet,
    regexp,
    template::{Placeholder, SUPPORTED},
};

/// What compiling gathers.
#[derive(Debug)]
pub(super) struct Compiler<'e> {
    /// For regular expressions without one of their own.
    pub(super) name: Option<&'e str>,
    placeholders: Vec<Placeholder>,
    matchers: Vec<MatcherSet>,
    regexp_states: usize,
}

/// The work that all regular expressions of one expression may make.
const MAX_STATES: usize = 100_000;

/// A compiled part and its type.
pub(super) type Typed = (Expr, Type);

pub(super) fn program(syntax: &Syntax, name: Option<&str>) -> Result<Program, ExpressionError> {
    let mut compiler = Compiler {
        name,
        placeholders: Vec::new(),
        matchers: Vec::new(),
        regexp_states: 0,
    };
    let (root, found) = compiler.expr(syntax)?;
    match found {
        Type::Bool => Ok(Program {
            root,
            placeholders: compiler.placeholders,
            matchers: compiler.matchers,
            regexp_states: compiler.regexp_states,
        }),
        Type::Dynamic => Err(at(
            syntax.start,
            "the result may be something other than true or false",
        )
        .help("compare it: `... == true`")),
        other => Err(at(
            syntax.start,
            format!("the result is {} instead of true or false", other.name()),
        )),
    }
}

// === impl Compiler ===

impl Compiler<'_> {
    pub(super) fn expr(&mut self, syntax: &Syntax) -> Result<Typed, ExpressionError> {
        Ok(match &syntax.node {
            Node::Bool(value) => (Expr::Literal(Literal::Bool(*value)), Type::Bool),
            Node::Double(value) => (Expr::Literal(Literal::Double(*value)), Type::Double),
            Node::Int(value) => (Expr::Literal(Literal::Int(*value)), Type::Int),
            Node::Null => (Expr::Literal(Literal::Null), Type::Null),
            Node::String(text) => (Expr::Literal(Literal::String(text.clone())), Type::String),
            Node::Placeholder(name) => (self.placeholder(name, syntax.start)?, Type::Dynamic),
            Node::List(items) => self.list(items)?,
            Node::Not(inner) => (Expr::Not(Box::new(self.truth(inner)?)), Type::Bool),
            Node::Chain { sign: "+", parts } => self.sum(parts)?,
            Node::Chain { sign, parts } => {
                let parts: Result<_, _> = parts.iter().map(|part| self.truth(part)).collect();
                let chain = if *sign == "&&" { Expr::All } else { Expr::Any };
                (chain(parts?), Type::Bool)
            }
            Node::Binary { sign, left, right } => self.relation(sign, left, right)?,
            Node::If(parts) => self.choice(parts)?,
            Node::Call {
                name,
                target: None,
                args,
            } => match matchers::named(self, name, args, syntax.start)? {
                Some(set) => (self.matcher(set), Type::Bool),
                None => calls::function(self, name, args, syntax.start)?,
            },
            Node::Call {
                name,
                target: Some(target),
                args,
            } => calls::method(self, name, target, args, syntax.start)?,
            Node::Map(_) => {
                let help =
                    "braces around a name of two or more letters are a placeholder: `{http.request.host}`";
                return Err(at(syntax.start, "a map stands only in `header`, `query` and `vars`").help(help));
            }
            Node::Name(name) => {
                let help =
                    format!("a text needs quotes: `'{name}'`; a placeholder needs braces: `{{{name}}}`");
                return Err(at(syntax.start, format!("the name `{name}` has no meaning here")).help(help));
            }
        })
    }

    /// A part that must be true or false.
    fn truth(&mut self, syntax: &Syntax) -> Result<Expr, ExpressionError> {
        let (expr, found) = self.expr(syntax)?;
        expect(syntax, found, Type::Bool)?;
        Ok(expr)
    }

    /// Checks a regular expression.
    pub(super) fn regexp(&mut self, pattern: &str, start: usize) -> Result<(), ExpressionError> {
        let states = regexp::check(pattern).map_err(|error| at(start, error.to_string()))?;
        self.regexp_states = self.regexp_states.saturating_add(states);
        if self.regexp_states > MAX_STATES {
            return Err(at(
                start,
                "the regular expressions of this expression are too large together",
            ));
        }
        Ok(())
    }

    fn placeholder(&mut self, name: &str, start: usize) -> Result<Expr, ExpressionError> {
        let placeholder: Placeholder = name
            .parse()
            .map_err(|error: crate::TemplateError| at(start, error.to_string()).help(SUPPORTED))?;
        let known = self.placeholders.iter().position(|known| *known == placeholder);
        Ok(Expr::Placeholder(known.unwrap_or_else(|| {
            self.placeholders.push(placeholder);
            self.placeholders.len().saturating_sub(1)
        })))
    }

    fn matcher(&mut self, set: MatcherSet) -> Expr {
        self.matchers.push(set);
        Expr::Matcher(self.matchers.len().saturating_sub(1))
    }

    fn list(&mut self, items: &[Syntax]) -> Result<Typed, ExpressionError> {
        let (mut exprs, mut types) = (Vec::new(), Vec::new());
        for item in items {
            let (expr, found) = self.expr(item)?;
            exprs.push(expr);
            types.push(found);
        }
        Ok((Expr::List(exprs), Type::list_of(&types)))
    }

    fn sum(&mut self, parts: &[Syntax]) -> Result<Typed, ExpressionError> {
        let mut exprs = Vec::new();
        let mut sum = Type::Dynamic;
        for part in parts {
            let (expr, found) = self.expr(part)?;
            let fits = matches!(found, Type::Dynamic | Type::Double | Type::Int | Type::String);
            if !fits || !found.may_be(sum) {
                return Err(at(part.start, format!("{} cannot be added here", found.name()))
                    .help("`+` joins texts, or adds numbers of one kind; `string(...)` makes a text"));
            }
            if found != Type::Dynamic {
                sum = found;
            }
            exprs.push(expr);
        }
        Ok((Expr::Sum(exprs), sum))
    }

    fn choice(&mut self, parts: &[Syntax; 3]) -> Result<Typed, ExpressionError> {
        let [condition, then, otherwise] = parts;
        let condition = self.truth(condition)?;
        let (then, first) = self.expr(then)?;
        let start = otherwise.start;
        let (otherwise, second) = self.expr(otherwise)?;
        if !first.may_be(second) {
            let message = format!("{} or {}: both must be of one type", first.name(), second.name());
            return Err(at(start, message));
        }
        let found = if first == second { first } else { Type::Dynamic };
        Ok((Expr::If(Box::new([condition, then, otherwise])), found))
    }

    fn relation(&mut self, sign: &str, left: &Syntax, right: &Syntax) -> Result<Typed, ExpressionError> {
        let start = right.start;
        let (left, first) = self.expr(left)?;
        let (right, second) = self.expr(right)?;
        if sign == "in" {
            let fits = match second {
                Type::List(item) => first.may_be(item.as_type()),
                Type::Dynamic => true,
                _ => return Err(at(start, format!("`in` needs a list, this is {}", second.name()))),
            };
            return if fits {
                Ok((Expr::In(Box::new([left, right])), Type::Bool))
            } else {
                Err(at(start, format!("{} is in no such list", first.name())).help(ONE_TYPE))
            };
        }
        let comparison = match sign {
            "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            _ => Comparison::GreaterOrEqual,
        };
        let ordered = |found| !matches!(found, Type::List(_) | Type::Null);
        let orders = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        if !first.may_be(second) || orders && !(ordered(first) && ordered(second)) {
            let message = format!("`{sign}` between {} and {}", first.name(), second.name());
            return Err(at(start, message).help(ONE_TYPE));
        }
        Ok((Expr::Compare(comparison, Box::new([left, right])), Type::Bool))
    }
}

const ONE_TYPE: &str =
    "only values of one type are compared; `int(...)`, `double(...)` and `string(...)` convert";

/// An error unless a part may be of a type.
pub(super) fn expect(syntax: &Syntax, found: Type, wanted: Type) -> Result<(), ExpressionError> {
    if found.may_be(wanted) {
        return Ok(());
    }
    let message = format!("expected {}, found {}", wanted.name(), found.name());
    Err(at(syntax.start, message))
}
