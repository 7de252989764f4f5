//! The values of expressions.

use std::collections::BTreeSet;

use hcl_edit::Span;
use hcl_edit::expr::{Array, Expression, FuncCall, Object, ObjectKey, Traversal, TraversalOperator};
use hcl_edit::structure::{Block, BlockLabel, Body, Structure};
use hcl_edit::template::{Element, StringTemplate, Template};

use super::super::node::{Kind, Node};
use super::super::parse::ParseError;
use super::{Failure, Lines, Surroundings, arithmetic};

/// Where expressions stand.
pub(super) struct Scope<'l, 's> {
    lines: &'l Lines,
    surroundings: &'l mut Surroundings<'s>,
}

/// The fields of an object so far.
#[derive(Default)]
struct Fields {
    list: Vec<(String, Node)>,
    names: BTreeSet<String>,
}

type Evaluated = Result<Node, Failure>;

// === impl Scope ===

impl<'l, 's> Scope<'l, 's> {
    pub(super) fn new(lines: &'l Lines, surroundings: &'l mut Surroundings<'s>) -> Self {
        Self { lines, surroundings }
    }

    /// A body as an object. A block is a field with an object, and labels are objects around it.
    pub(super) fn body(&mut self, body: &Body) -> Evaluated {
        let mut fields = Fields::default();
        for structure in body {
            let (name, node) = match structure {
                Structure::Attribute(attribute) => (attribute.key.as_str(), self.value(&attribute.value)?),
                Structure::Block(block) => (block.ident.as_str(), self.block(block)?),
            };
            fields.put(name.to_owned(), node)?;
        }
        Ok(Node::new(self.lines.at(body.span()), Kind::Map(fields.list)))
    }

    fn block(&mut self, block: &Block) -> Evaluated {
        let mut node = self.body(&block.body)?;
        let line = self.lines.at(block.span());
        node.line = line;
        for label in block.labels.iter().rev() {
            let label = match label {
                BlockLabel::Ident(ident) => ident.as_str(),
                BlockLabel::String(text) => text.as_str(),
            };
            node = Node::new(line, Kind::Map(vec![(label.to_owned(), node)]));
        }
        Ok(node)
    }

    pub(super) fn value(&mut self, expression: &Expression) -> Evaluated {
        let line = self.lines.at(expression.span());
        let kind = match expression {
            Expression::Null(_) => Kind::Null,
            Expression::Bool(flag) => Kind::Flag(*flag.value()),
            Expression::Number(number) => arithmetic::number(number.value()),
            Expression::String(text) => Kind::Text(text.value().clone()),
            Expression::Array(array) => self.array(array)?,
            Expression::Object(object) => self.object(object)?,
            Expression::StringTemplate(template) => self.template(template, line)?,
            Expression::HeredocTemplate(heredoc) => self.heredoc(&heredoc.template, line)?,
            Expression::Parenthesis(inside) => return self.value(inside.inner()),
            Expression::FuncCall(call) => return self.call(call, line),
            Expression::Traversal(traversal) => return self.traversal(traversal, line),
            Expression::UnaryOp(operation) => {
                let node = self.value(&operation.expr)?;
                arithmetic::unary(*operation.operator.value(), &node.kind)
                    .map_err(|message| wrong(line, message))?
            }
            Expression::BinaryOp(operation) => {
                let (left, right) = (self.value(&operation.lhs_expr)?, self.value(&operation.rhs_expr)?);
                arithmetic::binary(*operation.operator.value(), &left.kind, &right.kind)
                    .map_err(|message| wrong(line, message))?
            }
            Expression::Variable(name) => {
                let message = format!(
                    "there are no variables, so no `{}`; texts are written in quotes",
                    name.as_str()
                );
                return Err(wrong(line, message));
            }
            Expression::Conditional(_) => return Err(wrong(line, "conditions are not read")),
            Expression::ForExpr(_) => return Err(wrong(line, "`for` is not read")),
        };
        Ok(Node::new(line, kind))
    }

    /// The host of a route that cannot be worked out as a whole.
    pub(super) fn host_of(&mut self, route: &Expression) -> Option<String> {
        let Expression::Object(object) = route else {
            return None;
        };
        let mut fields = object.iter();
        let (_, value) = fields.find(|(key, _)| self.key(key).is_ok_and(|key| key == "host"))?;
        let node = self.value(value.expr()).ok()?;
        node.text().map(str::to_owned)
    }

    fn array(&mut self, array: &Array) -> Result<Kind, Failure> {
        let items: Result<Vec<Node>, Failure> = array.iter().map(|item| self.value(item)).collect();
        items.map(Kind::List)
    }

    fn object(&mut self, object: &Object) -> Result<Kind, Failure> {
        let mut fields = Fields::default();
        for (key, value) in object {
            let name = self.key(key)?;
            let node = self.value(value.expr())?;
            fields.put(name, node)?;
        }
        Ok(Kind::Map(fields.list))
    }

    fn key(&mut self, key: &ObjectKey) -> Result<String, Failure> {
        match key {
            ObjectKey::Ident(ident) => Ok(ident.as_str().to_owned()),
            ObjectKey::Expression(Expression::Variable(name)) => Ok(name.as_str().to_owned()),
            ObjectKey::Expression(expression) => {
                let node = self.value(expression)?;
                text(&node.kind).ok_or_else(|| wrong(node.line, "a name is expected"))
            }
        }
    }

    fn template(&mut self, template: &StringTemplate, line: usize) -> Result<Kind, Failure> {
        self.elements(template.iter(), line)
    }

    fn heredoc(&mut self, template: &Template, line: usize) -> Result<Kind, Failure> {
        self.elements(template.iter(), line)
    }

    fn elements<'e>(
        &mut self,
        elements: impl Iterator<Item = &'e Element>,
        line: usize,
    ) -> Result<Kind, Failure> {
        let mut whole = String::new();
        for element in elements {
            match element {
                Element::Literal(literal) => whole.push_str(literal.value()),
                Element::Interpolation(interpolation) => {
                    let node = self.value(&interpolation.expr)?;
                    let part = text(&node.kind)
                        .ok_or_else(|| wrong(line, "text or a number is expected in `${...}`"))?;
                    whole.push_str(&part);
                }
                Element::Directive(_) => return Err(wrong(line, "`%{...}` is not read")),
            }
        }
        Ok(Kind::Text(whole))
    }

    fn call(&mut self, call: &FuncCall, line: usize) -> Evaluated {
        let name = call.name.name.as_str();
        let is_known = matches!(name, "env" | "import") && !call.name.is_namespaced();
        if !is_known {
            return Err(wrong(
                line,
                format!("there is no function `{name}` for routes, but `env` and `import`"),
            ));
        }
        let mut arguments = call.args.iter();
        let (Some(argument), None) = (arguments.next(), arguments.next()) else {
            return Err(wrong(line, format!("`{name}` takes one argument")));
        };
        let argument = self.value(argument)?;
        let Some(argument) = argument.text() else {
            return Err(wrong(line, format!("`{name}` takes text")));
        };
        if name == "import" {
            let imported = self.surroundings.import(argument);
            let mut node = imported.map_err(|message| Failure::Import(ParseError { line, message }))?;
            node.line = line;
            return Ok(node);
        }
        let value = (self.surroundings.env)(argument);
        let value = value.ok_or_else(|| {
            wrong(
                line,
                format!("the variable {argument} of the environment is not set"),
            )
        })?;
        Ok(Node::new(line, Kind::Text(value)))
    }

    /// Fields of what was imported.
    fn traversal(&mut self, traversal: &Traversal, line: usize) -> Evaluated {
        let mut node = self.value(&traversal.expr)?;
        for operator in &traversal.operators {
            let TraversalOperator::GetAttr(name) = operator.value() else {
                return Err(wrong(line, "only fields can be taken out of a value, by `.name`"));
            };
            let field = node.get(name.as_str()).cloned();
            node = field.ok_or_else(|| wrong(line, format!("there is no `{}` in it", name.as_str())))?;
        }
        node.line = line;
        Ok(node)
    }
}

// === impl Fields ===

impl Fields {
    fn put(&mut self, name: String, node: Node) -> Result<(), Failure> {
        if !self.names.insert(name.clone()) {
            return Err(wrong(node.line, format!("`{name}` is there twice")));
        }
        self.list.push((name, node));
        Ok(())
    }
}

fn text(kind: &Kind) -> Option<String> {
    match kind {
        Kind::Text(text) => Some(text.clone()),
        Kind::Number(number) => Some(number.to_string()),
        Kind::Flag(flag) => Some(flag.to_string()),
        Kind::Null | Kind::List(_) | Kind::Map(_) => None,
    }
}

fn wrong(line: usize, message: impl Into<String>) -> Failure {
    Failure::Value(ParseError {
        line,
        message: message.into(),
    })
}
