//! YAML and JSON files.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_json::value::RawValue;
use serde_saphyr::{Budget, Options, Spanned};

use super::node::{Kind, Node};

/// Why a file does not parse, and where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ParseError {
    pub(super) line: usize,
    pub(super) message: String,
}

/// Nodes of one file: a hundred thousand hosts have one million.
const MAX_NODES: usize = 4_000_000;
/// How deep a file may be nested: readers and those who drop what was read go down by recursion.
const MAX_DEPTH: usize = 64;

/// What aliases may repeat in all, which a text of any length can ask for.
const MAX_REPEATED: usize = 200_000;

/// Reads YAML.
pub(super) fn yaml(text: &str) -> Result<Node, ParseError> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(Node::new(1, Kind::Null));
    }
    let read = serde_saphyr::from_str_with_options::<Spotted>(text, options());
    read.map(|Spotted(node)| node).map_err(|error| {
        let line = error.location().map_or(0, |place| place.line());
        // The rest shows the text around the place, which may be secret.
        let message = error.without_snippet().to_string();
        ParseError {
            line: usize::try_from(line).unwrap_or_default(),
            message: first_line(&message),
        }
    })
}

fn options() -> Options {
    let mut options = Options::default();
    let mut budget = Budget::default();
    budget.max_events = 3 * MAX_NODES;
    budget.max_nodes = MAX_NODES;
    budget.max_depth = MAX_DEPTH;
    budget.max_documents = 1;
    budget.max_aliases = 10_000;
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = MAX_REPEATED;
    options
}

/// Reads JSON. The lines are known of the items of the lists at the top.
pub(super) fn json(text: &str) -> Result<Node, ParseError> {
    if text.trim().is_empty() {
        return Ok(Node::new(1, Kind::Null));
    }
    let Plain(mut node) = serde_json::from_str(text).map_err(|error| ParseError {
        line: error.line(),
        message: error.to_string(),
    })?;
    if let Kind::Map(fields) = &mut node.kind
        && let Ok(Lists(lists)) = serde_json::from_str::<Lists<'_>>(text)
    {
        for ((_, node), items) in fields.iter_mut().zip(lists) {
            if let Kind::List(nodes) = &mut node.kind {
                number(nodes, &items, text);
            }
        }
    }
    Ok(node)
}

/// Gives items their lines, by where they are in the text.
fn number(nodes: &mut [Node], items: &[&RawValue], text: &str) {
    let start = text.as_ptr().addr();
    let (mut seen, mut line) = (0, 1_usize);
    for (node, item) in nodes.iter_mut().zip(items) {
        let at = item.get().as_ptr().addr().saturating_sub(start);
        let between = text.as_bytes().get(seen..at).unwrap_or_default();
        line = line.saturating_add(between.iter().filter(|byte| **byte == b'\n').count());
        seen = at;
        node.line = line;
    }
}

fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().to_owned()
}

/// A node out of YAML.
struct Spotted(Node);

/// A node out of JSON, whose reader knows no lines.
struct Plain(Node);

/// The items of each list at the top; nothing for what is no list.
struct Lists<'t>(Vec<Vec<&'t RawValue>>);

/// Reads the inside of a node. `N` is what reads the nodes in it.
struct Visit<N>(PhantomData<N>);

struct Inside<N>(Kind, PhantomData<N>);

// === impl Spotted ===

impl<'de> Deserialize<'de> for Spotted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Inside<Self>>::deserialize(deserializer)?;
        let line = usize::try_from(spanned.referenced.line()).unwrap_or_default();
        Ok(Self(Node::new(line, spanned.value.0)))
    }
}

impl From<Spotted> for Node {
    fn from(Spotted(node): Spotted) -> Self {
        node
    }
}

// === impl Plain ===

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Inside::<Self>::deserialize(deserializer).map(|inside| Self(Node::new(0, inside.0)))
    }
}

impl From<Plain> for Node {
    fn from(Plain(node): Plain) -> Self {
        node
    }
}

// === impl Lists ===

impl<'de: 't, 't> Deserialize<'de> for Lists<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Top<'t>(PhantomData<&'t ()>);
        impl<'de: 't, 't> Visitor<'de> for Top<'t> {
            type Value = Lists<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Lists<'t>, A::Error> {
                let mut lists = Vec::new();
                while let Some((_, value)) = entries.next_entry::<String, &'de RawValue>()? {
                    lists.push(serde_json::from_str(value.get()).unwrap_or_default());
                }
                Ok(Lists(lists))
            }
        }
        deserializer.deserialize_map(Top(PhantomData))
    }
}

// === impl Inside ===

impl<'de, N: Deserialize<'de> + Into<Node>> Deserialize<'de> for Inside<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let kind = deserializer.deserialize_any(Visit::<N>(PhantomData))?;
        Ok(Self(kind, PhantomData))
    }
}

impl<'de, N: Deserialize<'de> + Into<Node>> Visitor<'de> for Visit<N> {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Kind, E> {
        Ok(Kind::Flag(flag))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Kind, E> {
        Ok(Kind::Number(number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Kind, E> {
        Ok(Kind::Number(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Kind, E> {
        Ok(Number::from_f64(number).map_or(Kind::Null, Kind::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Kind, E> {
        Ok(Kind::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Kind, E> {
        Ok(Kind::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kind, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<N>()? {
            list.push(item.into());
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Kind, A::Error> {
        let mut fields: Vec<(String, Node)> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(name) = entries.next_key::<String>()? {
            if !seen.insert(name.clone()) {
                return Err(Error::custom(format!("`{name}` is there twice")));
            }
            fields.push((name, entries.next_value::<N>()?.into()));
        }
        Ok(Kind::Map(fields))
    }
}

#[cfg(test)]
mod tests;
