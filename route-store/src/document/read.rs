//! Documents out of texts, whatever version they are written in.

use serde_json::Value;
use thiserror::Error;

use super::check::MAX_BYTES;
use super::json::Strict;
use super::{HostDocument, Problem, Problems, Raw, SCHEMA_VERSION};
use crate::host::HostName;

/// Why a text is no document that can be served.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ReadError {
    /// It is longer than a document may be.
    #[error("a document may have 1 MiB, and this has {bytes} bytes")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It is no JSON, or a name is twice in one of its objects.
    #[error("line {line}, column {column}: {message}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// A newer program has written it, and its meaning is not known here.
    #[error(
        "the document has schema version {found}, and this program reads versions up to {SCHEMA_VERSION}"
    )]
    Newer {
        /// Its version.
        found: u64,
        /// Its host, if it is where it has been so far.
        host: Option<HostName>,
    },
    /// It says what cannot be served.
    #[error("{problems}")]
    Invalid {
        /// Its host, if it can be read.
        host: Option<HostName>,
        /// Everything that is wrong with it.
        problems: Problems,
    },
}

/// Reads a document and checks it. Its version is looked at first and alone; an older one is upgraded.
///
/// # Errors
///
/// See [`ReadError`].
pub fn read(text: &str) -> Result<HostDocument, ReadError> {
    if text.len() > MAX_BYTES {
        return Err(ReadError::TooLong { bytes: text.len() });
    }
    // A newer version may allow what this one refuses, so only its version and host are looked for.
    let value: Value = serde_json::from_str(text).map_err(ReadError::json)?;
    newer(&value)?;
    let Strict(value) = serde_json::from_str(text).map_err(ReadError::json)?;
    read_value(value)
}

/// Reads a document that has been parsed already, and checks it, as [`read`] does.
///
/// # Errors
///
/// See [`ReadError`].
pub fn read_value(mut value: Value) -> Result<HostDocument, ReadError> {
    newer(&value)?;
    let host = host(&value);
    let read = match value.get("schema_version").map(Value::as_u64) {
        Some(Some(1)) => match first_version(&mut value) {
            Ok(route) => HostDocument::from_v1(route).map_err(|problems| problems.moved(in_route)),
            Err(problem) => Err(Problems::one(problem)),
        },
        Some(Some(0) | None) => Err(Problems::one(Problem::new(
            "schema_version",
            format!("a whole number from 1 to {SCHEMA_VERSION} is expected"),
        ))),
        _ => Raw::from_value(value).and_then(HostDocument::check),
    };
    read.map_err(|problems| ReadError::Invalid { host, problems })
}

fn newer(value: &Value) -> Result<(), ReadError> {
    match value.get("schema_version").and_then(Value::as_u64) {
        Some(found) if found > SCHEMA_VERSION.into() => Err(ReadError::Newer {
            found,
            host: host(value),
        }),
        _ => Ok(()),
    }
}

/// The route of a document of version 1, which has nothing beside it.
fn first_version(value: &mut Value) -> Result<Value, Problem> {
    let fields = value.as_object_mut();
    let known = |name: &&String| !["schema_version", "route"].contains(&name.as_str());
    if let Some(name) = fields.as_ref().and_then(|fields| fields.keys().find(known)) {
        let name = super::fields::shorten(name);
        return Err(Problem::new(
            name,
            "documents of version 1 have nothing but a `route`",
        ));
    }
    let route = fields.and_then(|fields| fields.remove("route"));
    route.ok_or_else(|| Problem::new("route", "it is missing"))
}

fn in_route(place: &str) -> String {
    if place.is_empty() {
        return "route".to_owned();
    }
    format!("route.{place}")
}

fn host(value: &Value) -> Option<HostName> {
    let place = value.get("route").unwrap_or(value);
    place.get("host")?.as_str()?.parse().ok()
}

// === impl ReadError ===

impl ReadError {
    /// The host that the document is about, if that could be read.
    pub fn host(&self) -> Option<&HostName> {
        match self {
            Self::Newer { host, .. } | Self::Invalid { host, .. } => host.as_ref(),
            Self::TooLong { .. } | Self::Json { .. } => None,
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "it is the argument of map_err")]
    fn json(error: serde_json::Error) -> Self {
        let message = error.to_string();
        // The place is told by numbers.
        let end = message.rfind(" at line ").unwrap_or(message.len());
        Self::Json {
            line: error.line(),
            column: error.column(),
            message: message.get(..end).unwrap_or_default().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
