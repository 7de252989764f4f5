//! HCL files, whose expressions are worked out one by one, so that a route that cannot be does not take others along.

mod arithmetic;
mod evaluate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hcl_edit::Span;
use hcl_edit::expr::Expression;
use hcl_edit::structure::{Body, Structure};

use self::evaluate::Scope;
use super::contents::{Contents, Item};
use super::files::Seen;
use super::node::Node;
use super::parse::ParseError;

/// How deep imports may go.
const MAX_DEPTH: usize = 8;
/// How many imports one file may lead to in all.
const MAX_IMPORTS: usize = 1000;

/// Why something could not be worked out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Failure {
    /// This value alone is wrong.
    Value(ParseError),
    /// A file that is imported is not there, or not whole: what it would have said is unknown.
    Import(ParseError),
}

/// What expressions may ask for.
pub(super) struct Surroundings<'s> {
    env: &'s dyn Fn(&str) -> Option<String>,
    load: &'s dyn Fn(&Path) -> Seen,
    /// The files that were imported, and what they held.
    imported: BTreeMap<PathBuf, Seen>,
    /// The files that are being read, the outermost first.
    reading: Vec<PathBuf>,
    count: usize,
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

/// Reads a file. A failure is one of the whole file.
pub(super) fn read(text: &str, surroundings: &mut Surroundings<'_>) -> Result<Contents, ParseError> {
    let body = parse(text)?;
    let lines = Lines::of(text);
    let mut contents = Contents::default();
    let mut scope = Scope::new(&lines, surroundings);
    for structure in &body {
        match structure {
            Structure::Attribute(attribute) => {
                let line = lines.at(attribute.span());
                let name = attribute.key.as_str();
                match contents.list(name, line)? {
                    Some(native) => {
                        let items = items(&attribute.value, native, &mut scope)?;
                        contents.fill(name, items);
                    }
                    None => contents.others.push(name.to_owned()),
                }
            }
            Structure::Block(block) => {
                let line = lines.at(block.span());
                contents.block(block.ident.as_str(), line)?;
            }
        }
    }
    Ok(contents)
}

fn items(
    list: &Expression,
    native: bool,
    scope: &mut Scope<'_, '_>,
) -> Result<Option<Vec<Item>>, ParseError> {
    let Expression::Array(array) = list else {
        return match scope.value(list) {
            Ok(node) => Item::all(node, native),
            Err(Failure::Value(error) | Failure::Import(error)) => Err(error),
        };
    };
    let mut items = Vec::with_capacity(array.len());
    for expression in array {
        let (node, host) = match scope.value(expression) {
            Ok(node) => (Ok(node), None),
            Err(Failure::Import(error)) => return Err(error),
            Err(Failure::Value(error)) => (Err(error), scope.host_of(expression)),
        };
        items.push(Item { native, node, host });
    }
    Ok(Some(items))
}

fn parse(text: &str) -> Result<Body, ParseError> {
    hcl_edit::parser::parse_body(text).map_err(|error| ParseError {
        line: error.location().line(),
        message: error.message().replace('\n', ", "),
    })
}

// === impl Surroundings ===

impl<'s> Surroundings<'s> {
    /// What a file finds around it.
    pub(super) fn new(
        file: &Path,
        env: &'s dyn Fn(&str) -> Option<String>,
        load: &'s dyn Fn(&Path) -> Seen,
    ) -> Self {
        Self {
            env,
            load,
            imported: BTreeMap::new(),
            reading: vec![file.to_owned()],
            count: 0,
        }
    }

    /// The files that were imported, and what they held then.
    pub(super) fn into_imported(self) -> BTreeMap<PathBuf, Seen> {
        self.imported
    }

    /// The attributes and blocks of a file beside the one that is being read, as one object.
    fn import(&mut self, name: &str) -> Result<Node, String> {
        let folder = self.reading.last().and_then(|file| file.parent());
        let path = folder.unwrap_or_else(|| Path::new("")).join(name);
        let shown = path.display().to_string();
        if path.extension().is_none_or(|extension| extension != "hcl") {
            return Err(format!("{shown} is no .hcl file"));
        }
        if self.reading.contains(&path) {
            return Err(format!("{shown} imports itself"));
        }
        self.count = self.count.saturating_add(1);
        if self.reading.len() > MAX_DEPTH || self.count > MAX_IMPORTS {
            return Err(format!(
                "imports go {MAX_DEPTH} files deep and are {MAX_IMPORTS} at most, without {shown}"
            ));
        }
        let load = self.load;
        let seen = self.imported.entry(path.clone()).or_insert_with(|| load(&path));
        let bytes = match seen {
            Seen::Bytes(bytes) => bytes.clone(),
            Seen::Missing => return Err(format!("{shown} is not there")),
            Seen::Unreadable(reason) => return Err(format!("{shown} cannot be read: {reason}")),
        };
        let text = std::str::from_utf8(&bytes).map_err(|_| format!("{shown} is no UTF-8"))?;
        let at = |error: ParseError| format!("{shown}:{}: {}", error.line, error.message);
        let body = parse(text).map_err(at)?;
        if body.is_empty() {
            return Err(format!("{shown} is empty"));
        }
        let lines = Lines::of(text);
        self.reading.push(path);
        let read = Scope::new(&lines, self).body(&body);
        self.reading.pop();
        let mut node = read.map_err(|failure| match failure {
            Failure::Value(error) | Failure::Import(error) => at(error),
        })?;
        // Lines of another file would mislead.
        forget_lines(&mut node);
        Ok(node)
    }
}

fn forget_lines(node: &mut Node) {
    use super::node::Kind;
    node.line = 0;
    match &mut node.kind {
        Kind::List(items) => items.iter_mut().for_each(forget_lines),
        Kind::Map(fields) => fields.iter_mut().for_each(|(_, node)| forget_lines(node)),
        _ => {}
    }
}

// === impl Lines ===

impl Lines {
    fn of(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(ends.map(|(at, _)| at).collect())
    }

    /// The line of a span, from 1; 0 if it is unknown.
    fn at(&self, span: Option<std::ops::Range<usize>>) -> usize {
        span.map_or(0, |span| {
            self.0.partition_point(|end| *end < span.start).saturating_add(1)
        })
    }
}

#[cfg(test)]
mod tests;
