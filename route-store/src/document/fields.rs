//! Objects that are taken apart field by field, so that everything wrong is found, with its place.

use serde_json::{Map, Value};

use super::problem::Found;
use super::suggest::did_you_mean;

/// The fields of an object. Those that nobody asks for are unknown.
#[derive(Debug)]
pub(super) struct Fields<'f> {
    place: String,
    left: Map<String, Value>,
    asked: Vec<&'static str>,
    pub(super) found: &'f mut Found,
}

// === impl Fields ===

impl<'f> Fields<'f> {
    /// The fields of what is at a place, if it is an object.
    pub(super) fn of(value: Value, place: &str, found: &'f mut Found) -> Self {
        let left = match value {
            Value::Object(map) => map,
            other => {
                found.say(place, format!("an object is expected, not {}", kind(&other)));
                Map::new()
            }
        };
        Self {
            place: place.to_owned(),
            left,
            asked: Vec::new(),
            found,
        }
    }

    /// Reports something about a field.
    pub(super) fn say(&mut self, name: &str, message: impl Into<String>) {
        self.found.say(&join(&self.place, name), message);
    }

    /// A field as it is; null is the same as nothing.
    pub(super) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.asked.push(name);
        self.left.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        let value = self.take(name)?;
        text(value, &join(&self.place, name), self.found)
    }

    pub(super) fn needed_text(&mut self, name: &'static str) -> String {
        let before = self.found.len();
        let text = self.text(name);
        if text.is_none() && self.found.len() == before {
            self.say(name, "it is missing");
        }
        text.unwrap_or_default()
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Option<bool> {
        let value = self.take(name)?;
        if value.as_bool().is_none() {
            self.say(name, format!("true or false is expected, not {}", kind(&value)));
        }
        value.as_bool()
    }

    /// A whole number from 1 to 65535.
    pub(super) fn small(&mut self, name: &'static str) -> Option<u16> {
        let value = self.take(name)?;
        let number = value.as_u64().and_then(|number| u16::try_from(number).ok());
        let number = number.filter(|number| *number > 0);
        if number.is_none() {
            self.say(
                name,
                format!(
                    "a whole number from 1 to 65535 is expected, not {}",
                    shown(&value)
                ),
            );
        }
        number
    }

    pub(super) fn texts(&mut self, name: &'static str) -> Vec<String> {
        let texts = self.list(name, text).unwrap_or_default();
        texts.into_iter().flatten().collect()
    }

    /// A list, whose items are read by `read`.
    pub(super) fn list<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(Value, &str, &mut Found) -> T,
    ) -> Option<Vec<T>> {
        let value = self.take(name)?;
        let place = join(&self.place, name);
        let Value::Array(items) = value else {
            self.found
                .say(&place, format!("a list is expected, not {}", kind(&value)));
            return None;
        };
        let items = items.into_iter().enumerate();
        Some(
            items
                .map(|(number, item)| read(item, &format!("{place}[{number}]"), self.found))
                .collect(),
        )
    }

    /// An object, which is read by `read`.
    pub(super) fn object<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(Value, &str, &mut Found) -> T,
    ) -> Option<T> {
        let value = self.take(name)?;
        Some(read(value, &join(&self.place, name), self.found))
    }

    /// Reports what nobody asked for.
    pub(super) fn end(self) {
        for name in self.left.keys() {
            let hint = did_you_mean(name, &self.asked);
            self.found.say(
                &join(&self.place, &shorten(name)),
                format!("there is no such field{hint}"),
            );
        }
    }
}

fn text(value: Value, place: &str, found: &mut Found) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        other => {
            found.say(place, format!("text is expected, not {}", kind(&other)));
            None
        }
    }
}

fn join(place: &str, name: &str) -> String {
    if place.is_empty() {
        return name.to_owned();
    }
    format!("{place}.{name}")
}

/// The start of a text, for messages.
pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A number as it is, and the kind of everything else: texts may be secret.
fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        other => kind(other).to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
