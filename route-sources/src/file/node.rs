//! What a file says, whatever its format, with the lines where it says it.

use serde_json::{Map, Number, Value};

/// A value and the line where it begins; 0 is unknown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    /// In the order of the file, without repeated names.
    Map(Vec<(String, Node)>),
}

// === impl Node ===

impl Node {
    pub(super) fn new(line: usize, kind: Kind) -> Self {
        Self { line, kind }
    }

    /// A field of an object.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let Kind::Map(fields) = &self.kind else {
            return None;
        };
        fields
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, node)| node)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The same without lines.
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Flag(flag) => Value::Bool(*flag),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Kind::Map(fields) => {
                let fields = fields.iter().map(|(name, node)| (name.clone(), node.to_json()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    /// The line of a place such as `paths[0].upstreams[1].address`, or of what is nearest around it.
    pub(super) fn line_of(&self, place: &str) -> usize {
        let mut node = self;
        let mut line = self.line;
        for step in place.split(['.', '[']) {
            let next = match (&node.kind, step.strip_suffix(']')) {
                (Kind::List(items), Some(number)) => {
                    number.parse().ok().and_then(|number: usize| items.get(number))
                }
                _ => node.get(step),
            };
            let Some(next) = next else {
                break;
            };
            node = next;
            if node.line > 0 {
                line = node.line;
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_line_of_what_is_there_or_around_it() {
        let address = Node::new(9, Kind::Text("a".into()));
        let upstream = Node::new(8, Kind::Map(vec![("address".into(), address)]));
        let list = Node::new(7, Kind::List(vec![upstream]));
        let root = Node::new(1, Kind::Map(vec![("upstreams".into(), list)]));
        for (place, line) in [
            ("upstreams[0].address", 9),
            ("upstreams[0].weight", 8),
            ("upstreams[1].address", 7),
            ("upstreams", 7),
            ("host", 1),
            ("", 1),
        ] {
            assert_eq!(root.line_of(place), line, "{place}");
        }
    }
}
