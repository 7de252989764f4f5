//! Loggers: what is kept, in which form, and where it goes.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Serialize;

use super::sorted;

/// `logging`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Logging {
    /// By name; `default` is the logger that takes everything that no other excludes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub logs: BTreeMap<String, Log>,
}

/// One logger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Log {
    /// Where lines go; `None` is standard error.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "sorted")]
    pub writer: Option<LogWriter>,
    /// The form of a line; `None` is console on a terminal, else JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<LogEncoder>,
    /// The least level that is kept; `None` is info.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<LogLevel>,
    /// Names of loggers to take, with all below them; empty means all. An access log is named
    /// `http.log.access.NAME`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Names of loggers to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

/// Where lines go; `output` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "output", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogWriter {
    /// Nowhere.
    Discard {},
    /// A file, appended to.
    File {
        /// Its path.
        filename: PathBuf,
    },
    /// Standard error.
    Stderr {},
    /// Standard output.
    Stdout {},
}

/// The form of a line; `format` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "format", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogEncoder {
    /// For people.
    Console {},
    /// One JSON object per line.
    Json {},
}

/// How serious a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum LogLevel {
    /// For finding faults.
    Debug,
    /// What happens normally.
    Info,
    /// Not as it should be.
    Warn,
    /// Something failed.
    Error,
}

// === impl LogLevel ===

impl LogLevel {
    /// Case does not matter.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name.to_ascii_uppercase().as_str() {
            "DEBUG" => Some(Self::Debug),
            "INFO" => Some(Self::Info),
            "WARN" => Some(Self::Warn),
            "ERROR" => Some(Self::Error),
            _ => None,
        }
    }
}
