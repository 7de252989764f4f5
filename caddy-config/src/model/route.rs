//! Routes: which handlers run for which requests.

use serde::Serialize;

use super::{Handler, MatcherSet, is_false, sorted};

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

/// Routes for requests that ended with an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ErrorRoutes {
    /// Tried in order; placeholders below `{http.error.` tell of the error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}
