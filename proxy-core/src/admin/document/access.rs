//! Paths into a document, and what can be done at their ends: Caddy's rules, which are not those of JSON Pointer.

use serde_json::{Map, Value};

use super::ROOT;
use super::error::EditError;

/// The last part of a path that spreads a list: each of its elements is meant.
const SPREAD: &str = "...";

/// The most parts of a path to something that is edited: as deep as a document may be nested when it is read.
const MAX_DEPTH: usize = 128;

/// What stands where a path leads nowhere.
static NOTHING: Value = Value::Null;

/// A path to a value: parts between slashes, each the key of an object or the index of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    text: String,
    parts: Vec<String>,
    /// The path ends with `...`, which is no part.
    spread: bool,
}

/// What to do at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Sets a value; appends to an array.
    Post,
    /// Makes a value that is not there, and the objects on its way; inserts into an array.
    Put,
    /// Replaces a value that is there.
    Patch,
    /// Removes a value.
    Delete,
}

// === impl Pointer ===

impl Pointer {
    /// The path as it stands in a request, percent signs decoded.
    pub(crate) fn parse(text: &str) -> Self {
        let clean = text.trim_matches('/');
        let parts = clean.split('/').filter(|_| !clean.is_empty());
        Self::new(text.to_owned(), parts.map(str::to_owned).collect())
    }

    /// The path that goes on from `place` by `rest`.
    pub(super) fn beneath(place: &[String], rest: &str) -> Self {
        let rest = rest.trim_matches('/');
        let further = rest.split('/').filter(|_| !rest.is_empty()).map(str::to_owned);
        let parts: Vec<String> = place.iter().cloned().chain(further).collect();
        Self::new(join(&parts), parts)
    }

    fn new(text: String, mut parts: Vec<String>) -> Self {
        let spread = parts.pop_if(|last| last == SPREAD).is_some();
        Self { text, parts, spread }
    }

    /// The path as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The path to the part at `depth`, as messages about arrays name it.
    fn element(&self, depth: usize) -> String {
        if depth + 1 == self.parts.len() {
            return self.text.clone();
        }
        join(self.parts.get(..=depth).unwrap_or(&self.parts))
    }

    /// The way ends where the part at `depth` should go on.
    fn ends_at(&self, depth: usize) -> EditError {
        let parts = self.parts.get(..=depth).unwrap_or(&self.parts);
        EditError::Traversal(parts.join("/"))
    }

    /// Whether it leads to the whole configuration.
    pub(crate) fn is_root(&self) -> bool {
        matches!(self.parts.as_slice(), [only] if only == ROOT)
    }
}

/// The value that `place` leads to; `null` where only its last key is missing.
pub(super) fn find<'v>(root: &'v Value, place: &Pointer) -> Result<&'v Value, EditError> {
    if place.parts.is_empty() {
        return Err(EditError::NoPath);
    }
    let mut here = root;
    for (depth, part) in place.parts.iter().enumerate() {
        here = match here {
            Value::Object(map) => map.get(part).unwrap_or(&NOTHING),
            Value::Array(list) => element(list.get(index(place, depth)?), place, depth)?,
            _ => return Err(place.ends_at(depth)),
        };
    }
    Ok(here)
}

/// Makes one edit. After an error the document may be half edited: edit a copy.
pub(super) fn apply(root: &mut Value, edit: Edit, place: &Pointer, value: Value) -> Result<(), EditError> {
    let Some((last, way)) = place.parts.split_last() else {
        return Err(EditError::NoPath);
    };
    // A value that is made deeper than any that can be read would be too deep for everybody who walks through it.
    if place.parts.len() > MAX_DEPTH {
        return Err(EditError::Depth);
    }
    let mut here = root;
    for (depth, part) in way.iter().enumerate() {
        here = match here {
            Value::Object(map) => step(map, part, edit).ok_or_else(|| place.ends_at(depth + 1))?,
            Value::Array(list) => {
                let index = index(place, depth)?;
                element(list.get_mut(index), place, depth)?
            }
            _ => return Err(place.ends_at(depth)),
        };
    }
    match here {
        Value::Object(map) => in_object(map, last, edit, place, value),
        Value::Array(list) => in_array(list, edit, place, value),
        _ => Err(place.ends_at(way.len())),
    }
}

/// The value under `key`, on the way to what is edited. A new value may need new objects.
fn step<'v>(map: &'v mut Map<String, Value>, key: &str, edit: Edit) -> Option<&'v mut Value> {
    if edit != Edit::Put {
        return map.get_mut(key);
    }
    let value = map.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    Some(value)
}

fn in_object(
    map: &mut Map<String, Value>,
    key: &str,
    edit: Edit,
    place: &Pointer,
    value: Value,
) -> Result<(), EditError> {
    let (path, name) = (|| place.text.clone(), || key.to_owned());
    match (edit, map.get_mut(key)) {
        (Edit::Post, Some(Value::Array(list))) => append(list, place, value)?,
        (Edit::Put, Some(_)) => {
            return Err(EditError::Exists {
                path: path(),
                key: name(),
            });
        }
        (Edit::Patch | Edit::Delete, None) => {
            return Err(EditError::Missing {
                path: path(),
                key: name(),
            });
        }
        (Edit::Delete, Some(_)) => drop(map.remove(key)),
        (Edit::Post | Edit::Patch, Some(present)) => *present = value,
        (Edit::Post | Edit::Put, None) => drop(map.insert(name(), value)),
    }
    Ok(())
}

fn in_array(list: &mut Vec<Value>, edit: Edit, place: &Pointer, value: Value) -> Result<(), EditError> {
    let depth = place.parts.len() - 1;
    if edit == Edit::Post {
        // As Caddy does, whatever the last part says.
        return append(list, place, value);
    }
    let index = index(place, depth)?;
    match edit {
        Edit::Put if index <= list.len() => list.insert(index, value),
        Edit::Delete if index < list.len() => drop(list.remove(index)),
        _ => *element(list.get_mut(index), place, depth)? = value,
    }
    Ok(())
}

fn append(list: &mut Vec<Value>, place: &Pointer, value: Value) -> Result<(), EditError> {
    match value {
        Value::Array(values) if place.spread => list.extend(values),
        _ if place.spread => return Err(EditError::NotArray),
        value => list.push(value),
    }
    Ok(())
}

fn element<T>(found: Option<T>, place: &Pointer, depth: usize) -> Result<T, EditError> {
    found.ok_or_else(|| EditError::Bounds {
        path: place.element(depth),
        index: place.parts.get(depth).cloned().unwrap_or_default(),
    })
}

/// The index that the part at `depth` is. One that no array has, such as one below zero, is as large as can be.
fn index(place: &Pointer, depth: usize) -> Result<usize, EditError> {
    let text = place.parts.get(depth).map_or("", String::as_str);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let reason = if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        format!("strconv.Atoi: parsing {text:?}: invalid syntax")
    } else {
        match text.parse::<i64>() {
            Err(_) => format!("strconv.Atoi: parsing {text:?}: value out of range"),
            Ok(number) if number.to_string() != text => "non-canonical array index".to_owned(),
            Ok(number) => return Ok(usize::try_from(number).unwrap_or(usize::MAX)),
        }
    };
    Err(EditError::Index {
        path: place.element(depth),
        index: text.to_owned(),
        reason,
    })
}

fn join(parts: &[String]) -> String {
    parts.iter().flat_map(|part| ["/", part]).collect()
}
