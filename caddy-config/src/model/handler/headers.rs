//! Changes to header fields, and what a response must be like.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::is_false;

/// Changes to header fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Headers {
    /// Changes to the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<HeaderOps>,
    /// Changes to the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<ResponseOps>,
}

/// Changes to one set of fields. The order is fixed: add, set, delete, replace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HeaderOps {
    /// Adds lines.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub add: BTreeMap<String, Vec<String>>,
    /// Sets fields, whatever they held.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Vec<String>>,
    /// Deletes fields; `X-*`, `*-X` and `*x*` stand for many, `*` alone (done first) for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delete: Vec<String>,
    /// Replaces within the values of a field; the field `*` is every one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub replace: BTreeMap<String, Vec<Replacement>>,
}

/// One replacement within a value; exactly one of the two searches is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Replacement {
    /// Text to look for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub search: String,
    /// Regular expression to look for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub search_regexp: String,
    /// What to put there; `$1` or `${name}` is a group of the expression.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub replace: String,
}

/// Changes to a response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResponseOps {
    /// The changes; their fields stand beside those of this struct in JSON.
    #[serde(flatten)]
    pub ops: HeaderOps,
    /// Only for responses like this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require: Option<ResponseMatcher>,
    /// Whether the changes wait until the response is written; otherwise they are made before the next handler
    /// runs. With `require` they always wait.
    #[serde(skip_serializing_if = "is_false")]
    pub deferred: bool,
}

/// What a response must be like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResponseMatcher {
    /// One of these; a number below 10 is a class, so 4 is 400 to 499. Empty: any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status_code: Vec<u16>,
    /// Fields that must all match: `None` is absent, an empty list present, else one of the values (with `*` at
    /// either end as a wildcard).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Option<Vec<String>>>,
}
