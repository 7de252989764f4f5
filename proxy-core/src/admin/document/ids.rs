//! The objects of a document that have an `@id`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::IdError;
use super::read::{MAX_DEPTH, MAX_VALUES};

/// The key of an id.
const ID: &str = "@id";

/// Where each id stands: the parts of the path to its object, the root's key first.
#[derive(Debug, Default)]
pub(super) struct Ids(BTreeMap<String, Vec<String>>);

/// One part of the path to a value.
#[derive(Clone, Copy, Debug)]
enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

// === impl Ids ===

impl Ids {
    /// The ids of `config`, which stands under the key `root`.
    pub(super) fn of(config: &Value, root: &str) -> Result<Self, IdError> {
        let mut ids = Self::default();
        ids.index(config, &mut vec![Step::Key(root)], &mut 0)?;
        Ok(ids)
    }

    /// The path to the object with this id.
    pub(super) fn get(&self, id: &str) -> Option<&[String]> {
        self.0.get(id).map(Vec::as_slice)
    }

    fn index<'v>(
        &mut self,
        value: &'v Value,
        path: &mut Vec<Step<'v>>,
        values: &mut usize,
    ) -> Result<(), IdError> {
        // Deeper or larger, it could not be read again.
        *values += 1;
        if *values > MAX_VALUES {
            return Err(IdError::Values);
        }
        if path.len() > MAX_DEPTH && (value.is_object() || value.is_array()) {
            return Err(IdError::Depth);
        }
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    if key == ID {
                        self.add(value, path)?;
                        continue;
                    }
                    path.push(Step::Key(key));
                    self.index(value, path, values)?;
                    path.pop();
                }
            }
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    path.push(Step::Index(index));
                    self.index(value, path, values)?;
                    path.pop();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, id: &Value, path: &[Step<'_>]) -> Result<(), IdError> {
        let path: Vec<String> = path.iter().map(Step::to_string).collect();
        let shown = |path: &[String]| format!("/{}", path.join("/"));
        let id = match id {
            Value::String(text) => text.clone(),
            // As it is printed; Caddy wants `1e+06` for 1000000.
            Value::Number(number) => number.to_string(),
            _ => return Err(IdError::Kind(shown(&path))),
        };
        if let Some(first) = self.0.get(&id) {
            let (first, second) = (shown(first), shown(&path));
            return Err(IdError::Duplicate { id, first, second });
        }
        self.0.insert(id, path);
        Ok(())
    }
}

// === impl Step ===

impl std::fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Index(index) => index.fmt(f),
        }
    }
}
