//! Routes and what they match.

use serde::Serialize;

use super::{Handler, is_false, sorted};

/// Handlers that run for the requests that match.
///
/// Routes are tried in order and *every* matching one adds its handlers to the chain, until one is
/// [`terminal`](Route::terminal); of the routes of one [`group`](Route::group), only the first that matches. A
/// handler that answers ends the chain. A chain that nothing answered is an empty 200.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Route {
    /// Routes with one group exclude each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// `match` in JSON. Any of these sets must match; none at all matches every request.
    #[serde(rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matchers: Vec<MatcherSet>,
    /// Run in order.
    #[serde(
        rename = "handle",
        skip_serializing_if = "Vec::is_empty",
        serialize_with = "sorted"
    )]
    pub handlers: Vec<Handler>,
    /// Whether no later route of the same list is looked at.
    #[serde(skip_serializing_if = "is_false")]
    pub terminal: bool,
}

/// Conditions that must all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MatcherSet {
    /// The request's host is one of these; `*` stands for one whole label. Case does not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Vec<String>>,
    /// The method is one of these, upper case in effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<Vec<String>>,
    /// The path is like one of these: `/exact`, `/prefix*`, `*suffix`, `*inside*`, or a glob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Vec<String>>,
}

// === impl MatcherSet ===

impl MatcherSet {
    /// Whether it has no condition, so that every request matches.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.host.is_none() && self.method.is_none() && self.path.is_none()
    }
}
