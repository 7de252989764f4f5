//! Variables of a request.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Number;

/// Sets variables; their fields stand beside `handler` in JSON. Names and texts may hold placeholders.
///
/// Two names mean something to the server: `log_skip` keeps the request out of the access log, and
/// `access_logger_names` lists the loggers that it goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Vars {
    /// Name to value; none is called `handler`.
    pub values: BTreeMap<String, Value>,
}

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// `null`, which is as good as not set.
    Null,
    /// True or false.
    Bool(bool),
    /// A number that prints the same wherever it is printed.
    Number(Number),
    /// Text.
    String(String),
    /// A list of texts.
    List(Vec<String>),
}

/// Sets variables after what another value is: the first mapping that fits gives the values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Map {
    /// The value to compare: text with placeholders.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// The placeholders to set, each with its braces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destinations: Vec<String>,
    /// Tried in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mappings: Vec<Mapping>,
    /// Values for the destinations that no mapping gave one; as many as there are destinations, or none. Placeholders
    /// are replaced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<String>,
}

/// Values for one input; at most one of the two inputs is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mapping {
    /// The source is this text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// The source matches this regular expression.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub input_regexp: String,
    /// A value for each destination; [`Value::Null`] leaves it to later mappings and the default. With `input`,
    /// placeholders in texts are replaced, and the values are texts in the end; with `input_regexp`, only groups of
    /// the expression are, such as `${1}`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Value>,
}
