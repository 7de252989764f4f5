//! Loggers: what is kept, in which form, and where it goes.

mod encoder;
mod filter;
mod writer;

use std::{collections::BTreeMap, time::Duration};

use serde::{Serialize, Serializer};

pub use self::{
    encoder::{AppendEncoder, FilterEncoder, LineFormat, LogEncoder},
    filter::{FilterAction, IpMask, LogFilter, RegexpFilter},
    writer::{DirMode, FileMode, FileWriter, LogWriter, Malformed, RollCompression, TimeOfDay},
};
use super::{http::nanos, sorted};

/// `logging`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Logging {
    /// Where Caddy writes what Go's standard logger says; of no use to Doorway, which has no such logger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sink: Option<LogSink>,
    /// By name; `default` is the logger that takes everything that no other excludes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub logs: BTreeMap<String, Log>,
}

/// Where unstructured lines go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogSink {
    /// `None` is standard error.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "sorted")]
    pub writer: Option<LogWriter>,
}

/// One logger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Log {
    /// Where lines go; `None` is standard error.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "sorted")]
    pub writer: Option<LogWriter>,
    /// The form of a line; `None` is console on a terminal, else JSON.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "sorted")]
    pub encoder: Option<LogEncoder>,
    /// The least level that is kept; `None` is info.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<LogLevelName>,
    /// Which of many equal lines are kept; `None` is all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<LogSampling>,
    /// Names of loggers to take, with all below them; empty means all. An access log is named
    /// `http.log.access.NAME`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// Names of loggers to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

/// Which of many lines with one level and message are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LogSampling {
    /// The time after which counting begins anew; `None` is one second.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nanos")]
    pub interval: Option<Duration>,
    /// So many are kept at first; `None` is 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<u32>,
    /// Then every so manieth is; `None` is 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thereafter: Option<u32>,
}

/// How serious a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// A fault of the program itself.
    Panic,
    /// The program ends.
    Fatal,
}

/// A [`LogLevel`] that remembers the case of its letters, so that it prints as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLevelName {
    level: LogLevel,
    written: String,
}

// === impl LogLevelName ===

impl LogLevelName {
    /// The level.
    #[must_use]
    pub const fn level(&self) -> LogLevel {
        self.level
    }

    /// Case does not matter.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let level = match name.to_ascii_uppercase().as_str() {
            "DEBUG" => LogLevel::Debug,
            "INFO" => LogLevel::Info,
            "WARN" => LogLevel::Warn,
            "ERROR" => LogLevel::Error,
            "PANIC" => LogLevel::Panic,
            "FATAL" => LogLevel::Fatal,
            _ => return None,
        };
        Some(Self {
            level,
            written: name.to_owned(),
        })
    }
}

/// In capitals.
impl From<LogLevel> for LogLevelName {
    fn from(level: LogLevel) -> Self {
        let written = match level {
            LogLevel::Debug => "DEBUG",
            LogLevel::Info => "INFO",
            LogLevel::Warn => "WARN",
            LogLevel::Error => "ERROR",
            LogLevel::Panic => "PANIC",
            LogLevel::Fatal => "FATAL",
        };
        Self {
            level,
            written: written.to_owned(),
        }
    }
}

impl Serialize for LogLevelName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written)
    }
}
