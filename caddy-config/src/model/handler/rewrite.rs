//! Changes to a request other than its header fields.

use serde::Serialize;

/// Changes the method, the path or the query. All values may hold placeholders. The order is fixed: method, `uri`,
/// the prefix, the suffix, substrings, expressions, the query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rewrite {
    /// Another method, upper-cased in effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// A new path, query or both: what is not written stays, so `?a=b` keeps the path and `/a` the query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Taken off the front of the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strip_path_prefix: Option<String>,
    /// Taken off the end of the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strip_path_suffix: Option<String>,
    /// Replacements in path and query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uri_substring: Vec<SubstringReplacement>,
    /// Replacements in the path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path_regexp: Vec<RegexpReplacement>,
    /// Changes to single parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<QueryOps>,
}

/// One text for another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubstringReplacement {
    /// What to look for; an empty one replaces nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub find: String,
    /// What to put there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub replace: String,
    /// How many times at most; `None` is every time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// What an expression finds for another text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RegexpReplacement {
    /// The regular expression.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub find: String,
    /// What to put there; `$1` or `${name}` is a group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub replace: String,
}

/// Changes to the parameters of the query. The order is fixed: rename, set, add, replace, delete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueryOps {
    /// Gives parameters other names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rename: Vec<KeyAndValue>,
    /// Sets parameters, whatever they held.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<KeyAndValue>,
    /// Adds values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<KeyAndValue>,
    /// Replaces within values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replace: Vec<QueryReplacement>,
    /// Removes parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub delete: Vec<String>,
}

/// A parameter and its value, or its new name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyAndValue {
    /// The parameter.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// `val` in JSON.
    #[serde(rename = "val", skip_serializing_if = "String::is_empty")]
    pub value: String,
}

/// One replacement within the values of a parameter; exactly one of the two searches is not empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueryReplacement {
    /// The parameter; `*` is every one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
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

/// Limits or replaces the request's body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestBody {
    /// Longer bodies are refused with 413; `None` and zero are no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_size: Option<u64>,
    /// A body instead of the client's; may hold placeholders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
}
