//! Handlers that answer.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::model::is_false;

/// The status of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// A number, 200 to 999.
    Code(u16),
    /// Text with placeholders, which must give a number for each request.
    Text(String),
}

/// A fixed answer. Field values and body may hold placeholders such as `{http.request.host}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StaticResponse {
    /// The status; `None` is 200, and among error routes the error's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<Status>,
    /// Fields to set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Vec<String>>,
    /// The body.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// Whether the connection is closed afterwards.
    #[serde(skip_serializing_if = "is_false")]
    pub close: bool,
    /// Whether the connection is dropped without any answer.
    #[serde(skip_serializing_if = "is_false")]
    pub abort: bool,
}

/// Ends the chain with an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ErrorResponse {
    /// What error routes see as `{http.error.message}`; may hold placeholders.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// The status; `None` is 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<Status>,
}

/// Answers with the response that a `handle_response` caught: its fields, status and body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CopyResponse {
    /// Another status; `None` keeps the response's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<Status>,
}

/// Copies fields of the response that a `handle_response` caught. At most one of the two lists is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CopyResponseHeaders {
    /// Only these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<String>,
    /// All but these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

/// Answers with the metrics of the process, in Prometheus' text format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metrics {
    /// Whether clients that ask for OpenMetrics get the older format too.
    #[serde(skip_serializing_if = "is_false")]
    pub disable_openmetrics: bool,
}

// === impl Status ===

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Code(code) => serializer.serialize_u16(*code),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}
