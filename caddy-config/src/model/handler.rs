//! Handlers: what a route does with a request.

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde::{Serialize, Serializer};

use super::{ReverseProxy, Route, Secret, is_false};

/// One handler; `handler` in JSON names the kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "handler", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Handler {
    /// Reads the pod token or the affinity cookie and chooses upstreams for a following `reverse_proxy`.
    DoorsHandler(DoorsHandler),
    /// Changes header fields.
    Headers(Headers),
    /// Forwards the request.
    ReverseProxy(ReverseProxy),
    /// Answers with fixed text.
    StaticResponse(StaticResponse),
    /// A list of routes inside a route.
    Subroute(Subroute),
}

/// Routes inside a route. If none of them answers, the outer chain goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Subroute {
    /// Tried in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
}

/// A fixed answer. Field values and body may hold placeholders such as `{http.request.host}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StaticResponse {
    /// The status; `None` is 200.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
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

/// Doors routing: which pod, which server, or gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DoorsHandler {
    /// Standard base64 of an AES key, shared with the Doors app; not yet decoded. A token opens with any of
    /// them, which is how a key is changed without cutting sessions. One is written as a string, several as a
    /// list; never empty after reading.
    #[serde(rename = "secret", serialize_with = "one_or_list")]
    pub secrets: Vec<Secret>,
    /// The cookie that pins a session to a server; needed with more than one upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cookie_name: Option<String>,
    /// The servers in order of precedence; never empty after reading.
    pub upstreams: Vec<DoorsUpstream>,
    /// The status for a pod that refuses the connection; `None` is 410.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_pod_status: Option<u16>,
}

/// One server of a Doors app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoorsUpstream {
    /// Covers the addresses of all pods on this server. Bits behind the prefix may be set.
    #[serde(serialize_with = "text")]
    pub cidr: IpNet,
    /// A name or address that leads to the fresh deployment; no brackets, no port.
    pub host: String,
    /// Where the app listens; 1 to 65535.
    pub port: u16,
}

/// A list of one is written without brackets.
fn one_or_list<S: Serializer>(secrets: &[Secret], serializer: S) -> Result<S::Ok, S::Error> {
    match secrets {
        [one] => one.serialize(serializer),
        list => list.serialize(serializer),
    }
}

/// A network is a string in JSON.
fn text<S: Serializer>(net: &IpNet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(net)
}
