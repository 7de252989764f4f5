//! Tokens -> a tree that follows the text.

use super::{
    ExpressionError,
    error::at,
    lexer::{Kind, Token},
};

/// How deep parentheses, calls and lists may be nested.
const MAX_DEPTH: usize = 40;

/// A part of an expression, and where it begins in the text, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Syntax {
    pub(super) node: Node,
    pub(super) start: usize,
}

/// What a part of an expression is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Bool(bool),
    /// `name(args)`, or `target.name(args)`.
    Call {
        name: String,
        target: Option<Box<Syntax>>,
        args: Vec<Syntax>,
    },
    /// Two parts with a sign between: a comparison or `in`.
    Binary {
        sign: &'static str,
        left: Box<Syntax>,
        right: Box<Syntax>,
    },
    /// Parts with `&&`, `||` or `+` between each two.
    Chain {
        sign: &'static str,
        parts: Vec<Syntax>,
    },
    Double(f64),
    /// `condition ? then : otherwise`.
    If(Box<[Syntax; 3]>),
    Int(i64),
    List(Vec<Syntax>),
    Map(Vec<(Syntax, Syntax)>),
    Name(String),
    Not(Box<Syntax>),
    Null,
    Placeholder(String),
    String(String),
}

/// The tokens that are left.
#[derive(Debug)]
struct Parser<'t> {
    tokens: &'t [Token],
    depth: usize,
}

/// The tree of an expression.
pub(super) fn parse(tokens: &[Token]) -> Result<Syntax, ExpressionError> {
    let mut parser = Parser { tokens, depth: 0 };
    let syntax = parser.condition()?;
    match parser.peek() {
        Kind::End => Ok(syntax),
        Kind::Name(word) if matches!(word.as_str(), "and" | "or" | "not") => {
            let help = "write `&&` for and, `||` for or, `!` for not".to_owned();
            Err(at(parser.start(), format!("`{word}` is not an operator")).help(help))
        }
        other => Err(at(
            parser.start(),
            format!("expected an operator, found {}", other.shown()),
        )),
    }
}

// === impl Parser ===

impl Parser<'_> {
    fn peek(&self) -> &Kind {
        self.tokens.first().map_or(&Kind::End, |token| &token.kind)
    }

    fn start(&self) -> usize {
        self.tokens.first().map_or(0, |token| token.start)
    }

    /// The end is never taken.
    fn take(&mut self) -> Kind {
        match self.tokens {
            [first, rest @ ..] if !rest.is_empty() => {
                self.tokens = rest;
                first.kind.clone()
            }
            _ => Kind::End,
        }
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Kind::Sign(found) if *found == sign);
        if found {
            self.take();
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), ExpressionError> {
        let (start, found) = (self.start(), self.peek().shown());
        if self.takes(sign) {
            Ok(())
        } else {
            Err(at(start, format!("expected `{sign}`, found {found}")))
        }
    }

    fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, ExpressionError>,
    ) -> Result<T, ExpressionError> {
        if self.depth >= MAX_DEPTH {
            return Err(at(
                self.start(),
                format!("nested more than {MAX_DEPTH} levels deep"),
            ));
        }
        self.depth = self.depth.saturating_add(1);
        let parsed = parse(self);
        self.depth = self.depth.saturating_sub(1);
        parsed
    }

    fn condition(&mut self) -> Result<Syntax, ExpressionError> {
        let start = self.start();
        let condition = self.chain("||", |parser| parser.chain("&&", Self::relation))?;
        if !self.takes("?") {
            return Ok(condition);
        }
        self.nested(|parser| {
            let then = parser.chain("||", |parser| parser.chain("&&", Self::relation))?;
            parser.expect(":")?;
            let otherwise = parser.condition()?;
            let node = Node::If(Box::new([condition, then, otherwise]));
            Ok(Syntax { node, start })
        })
    }

    fn chain(
        &mut self,
        sign: &'static str,
        part: impl Fn(&mut Self) -> Result<Syntax, ExpressionError>,
    ) -> Result<Syntax, ExpressionError> {
        let first = part(self)?;
        let start = first.start;
        let mut parts = vec![first];
        while self.takes(sign) {
            parts.push(part(self)?);
        }
        Ok(match <[Syntax; 1]>::try_from(parts) {
            Ok([single]) => single,
            Err(parts) => Syntax {
                node: Node::Chain { sign, parts },
                start,
            },
        })
    }

    fn relation(&mut self) -> Result<Syntax, ExpressionError> {
        let left = self.sum()?;
        let sign = match self.peek() {
            Kind::Sign(sign) if matches!(*sign, "==" | "!=" | "<" | "<=" | ">" | ">=") => *sign,
            Kind::Name(word) if word == "in" => "in",
            _ => return Ok(left),
        };
        self.take();
        let right = self.sum()?;
        let syntax = binary(sign, left, right);
        if matches!(self.peek(), Kind::Sign("==" | "!=" | "<" | "<=" | ">" | ">=")) {
            let help = "join two comparisons by `&&`, or put parentheses around one";
            return Err(at(self.start(), "a comparison of a comparison").help(help));
        }
        Ok(syntax)
    }

    fn sum(&mut self) -> Result<Syntax, ExpressionError> {
        let sum = self.chain("+", Self::unary)?;
        match self.peek() {
            Kind::Sign(sign @ ("-" | "*" | "/" | "%")) => Err(at(
                self.start(),
                format!("the operator `{sign}` is not supported"),
            )),
            _ => Ok(sum),
        }
    }

    fn unary(&mut self) -> Result<Syntax, ExpressionError> {
        let start = self.start();
        if self.takes("!") {
            let inner = self.nested(Self::unary)?;
            let node = Node::Not(Box::new(inner));
            return Ok(Syntax { node, start });
        }
        if self.takes("-") {
            let node = match self.take() {
                Kind::Int(number) => Node::Int(number.wrapping_neg()),
                Kind::Double(number) => Node::Double(-number),
                _ => return Err(at(start, "`-` stands only before a number")),
            };
            return Ok(Syntax { node, start });
        }
        self.member()
    }

    /// A value and the methods called on it.
    fn member(&mut self) -> Result<Syntax, ExpressionError> {
        let mut value = self.value()?;
        for _ in 0..MAX_DEPTH {
            let start = self.start();
            if matches!(self.peek(), Kind::Sign("[")) {
                return Err(at(start, "indices are not supported"));
            }
            if !self.takes(".") {
                return Ok(value);
            }
            let Kind::Name(name) = self.take() else {
                return Err(at(start, "expected the name of a method behind `.`"));
            };
            if !self.takes("(") {
                return Err(
                    at(start, "fields are not supported").help(format!("to call a method: `.{name}(...)`"))
                );
            }
            value = self.nested(|parser| {
                let args = parser.list(")")?;
                let target = Some(Box::new(value));
                let node = Node::Call { name, target, args };
                Ok(Syntax { node, start })
            })?;
        }
        Err(at(
            self.start(),
            format!("more than {MAX_DEPTH} methods in a row"),
        ))
    }

    fn value(&mut self) -> Result<Syntax, ExpressionError> {
        let start = self.start();
        let node = match self.take() {
            Kind::Double(number) => Node::Double(number),
            Kind::Int(number) => Node::Int(number),
            Kind::Placeholder(name) => Node::Placeholder(name),
            Kind::String(text) => Node::String(text),
            Kind::Name(name) => match name.as_str() {
                "true" => Node::Bool(true),
                "false" => Node::Bool(false),
                "null" => Node::Null,
                _ if self.takes("(") => {
                    let args = self.nested(|parser| parser.list(")"))?;
                    let target = None;
                    Node::Call { name, target, args }
                }
                _ => Node::Name(name),
            },
            Kind::Sign("(") => {
                let inner = self.nested(Self::condition)?;
                self.expect(")")?;
                return Ok(inner);
            }
            Kind::Sign("[") => Node::List(self.nested(|parser| parser.list("]"))?),
            Kind::Sign("{") => Node::Map(self.nested(Self::map)?),
            other => return Err(at(start, format!("expected a value, found {}", other.shown()))),
        };
        Ok(Syntax { node, start })
    }

    /// Values with commas between, to `end`. One comma may stand behind the last.
    fn list(&mut self, end: &str) -> Result<Vec<Syntax>, ExpressionError> {
        let mut values = Vec::new();
        while !self.takes(end) {
            values.push(self.condition()?);
            if !self.takes(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(values)
    }

    fn map(&mut self) -> Result<Vec<(Syntax, Syntax)>, ExpressionError> {
        let mut entries = Vec::new();
        while !self.takes("}") {
            let key = self.sum()?;
            self.expect(":")?;
            entries.push((key, self.condition()?));
            if !self.takes(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(entries)
    }
}

fn binary(sign: &'static str, left: Syntax, right: Syntax) -> Syntax {
    let start = left.start;
    let (left, right) = (Box::new(left), Box::new(right));
    Syntax {
        node: Node::Binary { sign, left, right },
        start,
    }
}
