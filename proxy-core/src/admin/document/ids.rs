//! The objects of a document that have an `@id`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::IdError;

/// The key of an id.
const ID: &str = "@id";

/// How deep arrays and objects may be nested: as deep as serde_json reads them.
const MAX_DEPTH: usize = 127;

/// Where each id stands: the parts of the path to its object, the root's key first.
#[derive(Debug, Default)]
pub(super) struct Ids(BTreeMap<String, Vec<String>>);

// === impl Ids ===

impl Ids {
    /// The ids of `config`, which stands under the key `root`.
    pub(super) fn of(config: &Value, root: &str) -> Result<Self, IdError> {
        let mut ids = Self::default();
        ids.index(config, &mut vec![root.to_owned()])?;
        Ok(ids)
    }

    /// The path to the object with this id.
    pub(super) fn get(&self, id: &str) -> Option<&[String]> {
        self.0.get(id).map(Vec::as_slice)
    }

    fn index(&mut self, value: &Value, path: &mut Vec<String>) -> Result<(), IdError> {
        // Deeper, it could not be read again.
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
                    path.push(key.clone());
                    self.index(value, path)?;
                    path.pop();
                }
            }
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    path.push(index.to_string());
                    self.index(value, path)?;
                    path.pop();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, id: &Value, path: &[String]) -> Result<(), IdError> {
        let shown = |path: &[String]| format!("/{}", path.join("/"));
        let id = match id {
            Value::String(text) => text.clone(),
            // As it is printed; Caddy wants `1e+06` for 1000000.
            Value::Number(number) => number.to_string(),
            _ => return Err(IdError::Kind(shown(path))),
        };
        if let Some(first) = self.0.get(&id) {
            let (first, second) = (shown(first), shown(path));
            return Err(IdError::Duplicate { id, first, second });
        }
        self.0.insert(id, path.to_vec());
        Ok(())
    }
}
