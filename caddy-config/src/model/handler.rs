//! Handlers: what a route does with a request.

mod answer;
mod auth;
mod doors;
mod encode;
mod eskip;
mod headers;
mod rewrite;
mod vars;

use serde::Serialize;

pub use self::{
    answer::{CopyResponse, CopyResponseHeaders, ErrorResponse, Metrics, StaticResponse, Status},
    auth::{Account, Authentication, AuthenticationProviders, HashAlgorithm, HttpBasic},
    doors::{DoorsGeo, DoorsHandler, DoorsUpstream, RedirectScheme},
    encode::{Brotli, Encode, Encoding, Encodings, Gzip, Zstd, ZstdLevel},
    eskip::{Eskip, EskipBreaker, EskipBreakerKind, EskipPassiveHealth, EskipTextError},
    headers::{HeaderOps, Headers, Replacement, ResponseMatcher, ResponseOps},
    rewrite::{
        KeyAndValue, QueryOps, QueryReplacement, RegexpReplacement, RequestBody, Rewrite,
        SubstringReplacement,
    },
    vars::{Map, Mapping, Value, Vars},
};
use super::{ErrorRoutes, ReverseProxy, Route};

/// One handler; `handler` in JSON names the kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "handler", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Handler {
    /// Lets only known users pass.
    Authentication(Authentication),
    /// Answers with the response that a `handle_response` caught.
    CopyResponse(CopyResponse),
    /// Copies fields of the response that a `handle_response` caught.
    CopyResponseHeaders(CopyResponseHeaders),
    /// Sends visitors to the site of their country.
    DoorsGeo(DoorsGeo),
    /// Reads the pod token or the affinity cookie and chooses upstreams for a following `reverse_proxy`.
    DoorsHandler(DoorsHandler),
    /// Compresses responses.
    Encode(Encode),
    /// Ends the chain with an error, which the server's error routes answer.
    Error(ErrorResponse),
    /// Answers by routes in Skipper's language.
    Eskip(Box<Eskip>),
    /// Changes header fields.
    Headers(Headers),
    /// Runs a named route of the server.
    Invoke(Invoke),
    /// Sets variables after what another value is.
    Map(Map),
    /// Answers with the metrics of the process.
    Metrics(Metrics),
    /// Limits or replaces the request's body.
    RequestBody(RequestBody),
    /// Forwards the request.
    ReverseProxy(Box<ReverseProxy>),
    /// Changes the request's method, path or query.
    Rewrite(Rewrite),
    /// Answers with fixed text.
    StaticResponse(StaticResponse),
    /// A list of routes inside a route.
    Subroute(Subroute),
    /// Sets variables.
    Vars(Vars),
}

/// Routes inside a route. If none of them answers, the outer chain goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Subroute {
    /// Tried in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// Tried when one of `routes` ends with an error, before the routes for errors outside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorRoutes>,
}

/// Runs a named route of the server, whose routes see the request as it is here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Invoke {
    /// A key of the server's `named_routes`.
    pub name: String,
}

// === impl Handler ===

impl Handler {
    /// The kind as `handler` names it in JSON.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Authentication(_) => "authentication",
            Self::CopyResponse(_) => "copy_response",
            Self::CopyResponseHeaders(_) => "copy_response_headers",
            Self::DoorsGeo(_) => "doors_geo",
            Self::DoorsHandler(_) => "doors_handler",
            Self::Encode(_) => "encode",
            Self::Error(_) => "error",
            Self::Eskip(_) => "eskip",
            Self::Headers(_) => "headers",
            Self::Invoke(_) => "invoke",
            Self::Map(_) => "map",
            Self::Metrics(_) => "metrics",
            Self::RequestBody(_) => "request_body",
            Self::ReverseProxy(_) => "reverse_proxy",
            Self::Rewrite(_) => "rewrite",
            Self::StaticResponse(_) => "static_response",
            Self::Subroute(_) => "subroute",
            Self::Vars(_) => "vars",
        }
    }
}
