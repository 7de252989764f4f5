//! The form of a line.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    super::{Value, is_false},
    LogFilter,
};

/// The form of a line; `format` in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "format", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogEncoder {
    /// Another form, with fields added to each line.
    Append(AppendEncoder),
    /// For people.
    Console(LineFormat),
    /// Another form, with fields changed before.
    Filter(FilterEncoder),
    /// One JSON object per line.
    Json(LineFormat),
}

/// Names and forms of what every line has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineFormat {
    /// The key of the message; `None` is `msg`, an empty one leaves it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_key: Option<String>,
    /// The key of the level; `None` is `level`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_key: Option<String>,
    /// The key of the time; `None` is `ts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_key: Option<String>,
    /// The key of the logger's name; `None` is `logger`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_key: Option<String>,
    /// The key of the place in the program; Doorway's lines have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller_key: Option<String>,
    /// The key of the stack; Doorway's lines have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacktrace_key: Option<String>,
    /// What ends a line; `None` is a line feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_ending: Option<String>,
    /// How times are written: `unix_seconds_float`, `unix_milli_float`, `unix_nano`, `iso8601`, `rfc3339`,
    /// `rfc3339_nano`, `wall`, `wall_milli`, `wall_nano`, `common_log`, or a layout of Go such as
    /// `2006-01-02 15:04:05`. `None`: `unix_seconds_float` in JSON, `wall_milli` for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_format: Option<String>,
    /// Whether times are local; else UTC.
    #[serde(skip_serializing_if = "is_false")]
    pub time_local: bool,
    /// How durations are written: `s`, `second`, `seconds`, `ns`, `nano`, `nanos`, `ms`, `milli`, `millis` or
    /// `string`. `None` is seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_format: Option<String>,
    /// How levels are written: `lower`, `upper` or `color`. `None`: `lower`, on a terminal `color`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_format: Option<String>,
}

/// Another form, with fields changed before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FilterEncoder {
    /// The form; `None` is console on a terminal, else JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrap: Option<Box<LogEncoder>>,
    /// By the path of a field, such as `request>headers>Authorization`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, LogFilter>,
}

/// Another form, with fields added to each line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AppendEncoder {
    /// The form; `None` is console on a terminal, else JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrap: Option<Box<LogEncoder>>,
    /// Key to value. Texts may hold placeholders of the process, such as `{system.hostname}`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Value>,
}
