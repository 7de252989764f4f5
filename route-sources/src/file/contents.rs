//! What a file says about routes, whatever its format.

use route_store::document::{self, HostDocument};

use super::node::{Kind, Node};
use super::parse::ParseError;

/// The lists of a file; `None` is one that the file does not have, which differs from one that is empty.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Routes in Proksi's form.
    pub(super) routes: Option<Vec<Item>>,
    /// Documents.
    pub(super) hosts: Option<Vec<Item>>,
    /// Settings that are not about routes.
    pub(super) others: Vec<String>,
}

/// One route.
#[derive(Debug)]
pub(super) struct Item {
    /// Whether it is a document.
    pub(super) native: bool,
    /// What it says, or why that is not known.
    pub(super) node: Result<Node, ParseError>,
    /// Its host, where nothing else of it is known.
    pub(super) host: Option<String>,
}

/// A route that cannot be served.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) host: Option<String>,
    pub(super) line: usize,
    pub(super) reason: String,
}

// === impl Contents ===

impl Contents {
    /// The lists of a file that is one value.
    pub(super) fn of(node: Node) -> Result<Self, ParseError> {
        let mut contents = Self::default();
        let fields = match node.kind {
            Kind::Null => return Ok(contents),
            Kind::Map(fields) => fields,
            _ => {
                return Err(error(
                    node.line,
                    "`routes` or `hosts` is expected, with a list of them",
                ));
            }
        };
        for (name, node) in fields {
            match contents.list(&name, node.line)? {
                Some(native) => {
                    let items = Item::all(node, native)?;
                    contents.fill(&name, items);
                }
                None => contents.others.push(name),
            }
        }
        Ok(contents)
    }

    /// Whether this is the name of a list, and of which form its items are.
    pub(super) fn list(&self, name: &str, line: usize) -> Result<Option<bool>, ParseError> {
        let is_there = match name {
            "routes" => self.routes.is_some(),
            "hosts" => self.hosts.is_some(),
            "host" => return Err(newer(line)),
            _ => return Ok(None),
        };
        if is_there {
            return Err(error(line, format!("`{name}` is there twice")));
        }
        Ok(Some(name == "hosts"))
    }

    /// Takes a block of HCL.
    pub(super) fn block(&mut self, name: &str, line: usize) -> Result<(), ParseError> {
        match name {
            "host" => Err(newer(line)),
            "routes" | "hosts" | "route" => Err(error(
                line,
                format!(
                    "blocks named `{name}` are not read: write `{}s = [...]`",
                    name.trim_end_matches('s')
                ),
            )),
            _ => {
                self.others.push(name.to_owned());
                Ok(())
            }
        }
    }

    pub(super) fn fill(&mut self, name: &str, items: Option<Vec<Item>>) {
        match name {
            "hosts" => self.hosts = items,
            _ => self.routes = items,
        }
    }

    /// All items, or `None` if the file has no list at all, as one has that is only begun.
    pub(super) fn into_items(self) -> Option<Vec<Item>> {
        match (self.routes, self.hosts) {
            (None, None) => None,
            (routes, hosts) => Some(routes.into_iter().chain(hosts).flatten().collect()),
        }
    }
}

// === impl Item ===

impl Item {
    /// The items of a list; a list that is only begun is none.
    pub(super) fn all(node: Node, native: bool) -> Result<Option<Vec<Self>>, ParseError> {
        let items = match node.kind {
            Kind::Null => return Ok(None),
            Kind::List(items) => items,
            _ => return Err(error(node.line, "a list is expected, such as `[]`")),
        };
        let items = items.into_iter().map(|node| Self {
            native,
            node: Ok(node),
            host: None,
        });
        Ok(Some(items.collect()))
    }

    /// Reads and checks it.
    pub(super) fn into_document(self) -> Result<HostDocument, Fault> {
        let node = match self.node {
            Ok(node) => node,
            Err(error) => {
                return Err(Fault {
                    host: self.host,
                    line: error.line,
                    reason: error.message,
                });
            }
        };
        let host = node.get("host").and_then(Node::text).map(str::to_owned);
        let problems = if self.native {
            match document::read_value(node.to_json()) {
                Ok(document) => return Ok(document),
                Err(document::ReadError::Invalid { problems, .. }) => problems,
                Err(error) => {
                    return Err(Fault {
                        host,
                        line: node.line,
                        reason: error.to_string(),
                    });
                }
            }
        } else {
            match HostDocument::from_v1(node.to_json()) {
                Ok(document) => return Ok(document),
                Err(problems) => problems,
            }
        };
        let first = problems.iter().next();
        Err(Fault {
            host,
            line: first.map_or(node.line, |problem| node.line_of(problem.place())),
            reason: problems.to_string(),
        })
    }
}

fn newer(line: usize) -> ParseError {
    error(
        line,
        "`host` blocks are the form of newer releases of Proksi and are not read: write `routes = [...]` in the form of \
         0.6, or `hosts` with documents",
    )
}

fn error(line: usize, message: impl Into<String>) -> ParseError {
    ParseError {
        line,
        message: message.into(),
    }
}
