//! Host documents: what a host serves, as it is stored and as every source of routes gives it.
//!
//! A document is read in two steps: [`Raw`] is what is written, with serde and a JSON schema; [`HostDocument`] has passed the one
//! check that every source uses, and there is no other way to make one. [`read`] does both, and upgrades what older
//! versions wrote.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod check;
mod checked;
mod fields;
mod json;
mod problem;
mod raw;
mod read;
mod schema;
mod suggest;
mod v1;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::check::{
    LOAD_BALANCING, LOAD_BALANCING_WITH_SETTINGS, MAX_ALIASES, MAX_BYTES, MAX_PATHS, MAX_UPSTREAMS,
};
pub use self::checked::HostDocument;
pub use self::problem::{Problem, Problems};
pub use self::read::{ReadError, read, read_value};
pub use self::schema::schema;

/// The version in which documents are written.
pub const SCHEMA_VERSION: u32 = 2;

/// A document as it is written, in the newest version.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[schemars(deny_unknown_fields)]
pub struct Raw {
    /// What the document is written in: 2. It is looked at before everything else.
    #[schemars(default = "newest")]
    pub schema_version: u32,
    /// The host that the document is about: a name, or `*.` and a name for all hosts one label below it.
    pub host: String,
    /// Other hosts that are served in the same way.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// A certificate from files; with it the host is served over HTTPS, and plain HTTP is redirected there.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<Box<RawTls>>,
    /// Fields that are changed on the way, whatever the path.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Box<RawHeaders>>,
    /// What is served at paths; the first with a pattern that matches is taken.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<RawPath>,
    /// What is served at all other paths.
    #[serde(flatten)]
    pub target: RawTarget,
}

/// What is served somewhere: handlers that run first, then upstreams or eskip routes. Upstreams and eskip exclude each other.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct RawTarget {
    /// Where requests go to. An empty list is answered with 503.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstreams: Option<Vec<RawUpstream>>,
    /// How one of them is chosen: the name of a policy of `reverse_proxy`, such as `least_conn`. Default: `weighted_round_robin`
    /// where there are weights, else `random`.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancing: Option<String>,
    /// Handlers in the form of Caddy's JSON.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handlers: Vec<serde_json::Value>,
    /// Routes in Skipper's language.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eskip: Option<String>,
}

/// What is served at some paths.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[schemars(deny_unknown_fields)]
pub struct RawPath {
    /// Paths as Caddy's path matcher takes them, such as `/api/*`.
    pub patterns: Vec<String>,
    /// Fields that are changed on the way, in addition to those of the host.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Box<RawHeaders>>,
    /// What is served there.
    #[serde(flatten)]
    pub target: RawTarget,
}

/// One upstream.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[schemars(deny_unknown_fields)]
pub struct RawUpstream {
    /// `host:port`, with brackets around an IPv6 address.
    pub address: String,
    /// Its share beside the others, 1 to 65535. Default: 1.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u16>,
    /// TLS is spoken to it, and its certificate must be for this name.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sni: Option<String>,
}

/// Files with a certificate and its key.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[schemars(deny_unknown_fields)]
pub struct RawTls {
    /// The certificate and those that vouch for it, as PEM.
    pub certificate: String,
    /// Its key, as PEM.
    pub key: String,
    /// Whether plain HTTP is redirected. Default: true.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<bool>,
}

/// Fields that are changed.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[schemars(deny_unknown_fields)]
pub struct RawHeaders {
    /// Of requests, before they go to an upstream.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<RawFields>,
    /// Of answers.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<RawFields>,
}

/// What is done to fields: removed, then set, then added.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[schemars(deny_unknown_fields)]
pub struct RawFields {
    /// Fields that get another value beside those that they have, in this order.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<RawField>,
    /// Fields that get this value alone.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<RawField>,
    /// Fields that go.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

/// A field and its value.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[schemars(deny_unknown_fields)]
pub struct RawField {
    /// Its name.
    pub name: String,
    /// Its value; placeholders of Caddy are replaced.
    pub value: String,
}

fn newest() -> u32 {
    SCHEMA_VERSION
}
