//! The configuration as a document: read, edited by path, its objects found by `@id`, printed as Caddy prints it.
//!
//! A document never changes. An edit makes another one, which is kept only if it runs.

mod access;
mod error;
mod ids;
pub(super) mod print;
pub(super) mod read;
#[cfg(test)]
mod tests;

use std::hash::Hasher as _;

use caddy_config::{Config, Diagnostics};
use serde_json::{Map, Value};
use twox_hash::XxHash64;

pub(crate) use self::access::{Edit, Pointer};
pub(crate) use self::error::{EditError, IdError, MatchError};
use self::ids::Ids;

/// The key of the root under which the configuration stands, so that paths begin with `/config/`.
const ROOT: &str = "config";

/// The name of the document in findings.
const FILE: &str = "config";

/// A configuration as it was written: with `@id`s, its keys sorted.
///
/// It is kept as text and read when somebody asks: as a tree, a configuration of many sites would take several times
/// the room, and it is asked for seldom.
#[derive(Debug)]
pub(crate) struct Document {
    /// The configuration as one line of JSON.
    text: Box<str>,
    /// Whether the text is as it is shown: keys sorted, numbers and strings as Caddy writes them.
    is_canonical: bool,
    ids: Ids,
}

/// A value of a document as it is sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The value as one line of JSON, with a line feed.
    pub(crate) body: String,
    /// What names this state of the value: `"<path> <hash>"`, quotes included.
    pub(crate) etag: String,
}

// === impl Document ===

impl Document {
    /// A document of `config`, as an edit of nothing makes it.
    ///
    /// # Errors
    ///
    /// Ids that occur twice or are no text or number.
    pub(crate) fn new(config: &Value) -> Result<Self, IdError> {
        Ok(Self {
            ids: Ids::of(config, ROOT)?,
            text: print::line(config).into(),
            is_canonical: true,
        })
    }

    /// A document of a configuration that was printed from its model: without ids, its keys in any order. It is not
    /// read, which takes a while if there are many sites.
    ///
    /// # Errors
    ///
    /// One that is too large or too deep to be read when somebody asks for it.
    pub(crate) fn of_model(text: String) -> Result<Self, IdError> {
        if !read::is_small(&text) {
            // It may be: it is looked at in full.
            let value = read::value(text.as_bytes()).map_err(|_| IdError::Values)?;
            return Self::new(&value);
        }
        Ok(Self {
            text: text.into(),
            is_canonical: false,
            ids: Ids::default(),
        })
    }

    /// Whether both say the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        if self.is_canonical == other.is_canonical {
            return self.text == other.text;
        }
        self.value() == other.value()
    }

    /// The configuration as one line of JSON, ids included.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The value at `place`.
    ///
    /// # Errors
    ///
    /// If the way there does not exist. A last key that is missing is `null`, as in Caddy.
    pub(crate) fn show(&self, place: &Pointer) -> Result<Shown, EditError> {
        let body = self.line(place)?;
        let etag = format!("\"{} {:016x}\"", place.text(), hash(&body));
        Ok(Shown { body, etag })
    }

    /// Where the object with this `@id` stands, and further by `rest`, the rest of a path behind the id.
    pub(crate) fn locate(&self, id: &str, rest: &str) -> Option<Pointer> {
        Some(Pointer::beneath(self.ids.get(id)?, rest))
    }

    /// Whether a field `If-Match` names this state of the document, or of the part that it is about.
    ///
    /// # Errors
    ///
    /// If it does not, is not of the form `"<path> <hash>"`, or is about a path that does not exist.
    pub(crate) fn check_match(&self, field: &str) -> Result<(), MatchError> {
        let quoted = field
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .ok_or(MatchError::Unquoted)?;
        let mut parts = quoted.split_whitespace();
        let (Some(path), Some(expected), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err(MatchError::Parts);
        };
        if format!("{:016x}", hash(&self.line(&Pointer::parse(path))?)) == expected {
            Ok(())
        } else {
            Err(MatchError::Differs)
        }
    }

    /// The document that one edit makes of this one. An empty `body` stands for `null`.
    ///
    /// # Errors
    ///
    /// A body that is no JSON, a way that does not exist, what the edit cannot do there, bad ids.
    pub(crate) fn edited(&self, edit: Edit, place: &Pointer, body: &[u8]) -> Result<Self, EditError> {
        let value = match body {
            [] => Value::Null,
            body => read::value(body).map_err(EditError::Body)?,
        };
        if place.is_root() && matches!(edit, Edit::Post | Edit::Patch) {
            // All of it is replaced, so that none of it need be copied.
            return Ok(Self::new(&value)?);
        }
        let mut root = self.root();
        access::apply(&mut root, edit, place, value)?;
        let config = root.get_mut(ROOT).map(Value::take).unwrap_or_default();
        Ok(Self::new(&config)?)
    }

    /// Whether it is no configuration.
    pub(crate) fn is_empty(&self) -> bool {
        &*self.text == "null"
    }

    /// The configuration that the document is.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub(crate) fn decode(&self) -> Result<Config, Diagnostics> {
        if self.is_empty() {
            return Ok(Config::default());
        }
        // `@id`s are passed over when it is decoded.
        caddy_config::from_json(FILE, &self.text)
    }

    /// The value at `place` as one line with a line feed.
    fn line(&self, place: &Pointer) -> Result<String, EditError> {
        let mut line = if place.is_root() && self.is_canonical {
            self.text.to_string()
        } else {
            print::line(access::find(&self.root(), place)?)
        };
        line.push('\n');
        Ok(line)
    }

    /// An object with the one key `config`, so that paths begin with that.
    fn root(&self) -> Value {
        Value::Object(Map::from_iter([(ROOT.to_owned(), self.value())]))
    }

    fn value(&self) -> Value {
        read::value(self.text.as_bytes()).expect("it was printed, and is within the limits of reading")
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = XxHash64::with_seed(0);
    hasher.write(text.as_bytes());
    hasher.finish()
}
