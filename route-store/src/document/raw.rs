//! What is written, out of JSON.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::Value;

use super::fields::Fields;
use super::json::Strict;
use super::problem::{Found, Problems};
use super::{Raw, RawField, RawFields, RawHeaders, RawPath, RawTarget, RawTls, RawUpstream, SCHEMA_VERSION};

// === impl Raw ===

impl Raw {
    /// A document of the newest version out of JSON: everything that is not as it must be is reported with its place, and
    /// so are fields that there are not. Null is the same as nothing.
    ///
    /// # Errors
    ///
    /// What cannot be read. What it says is left to [`HostDocument::check`](super::HostDocument::check).
    pub fn from_value(value: Value) -> Result<Self, Problems> {
        let mut found = Found::default();
        let raw = document(value, &mut found);
        found.or(raw)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Strict(value) = Strict::deserialize(deserializer)?;
        Self::from_value(value).map_err(Error::custom)
    }
}

fn document(value: Value, found: &mut Found) -> Raw {
    let mut fields = Fields::of(value, "", found);
    version(&mut fields);
    let raw = Raw {
        schema_version: SCHEMA_VERSION,
        host: host(&mut fields),
        aliases: fields.texts("aliases"),
        tls: fields.object("tls", tls).map(Box::new),
        headers: fields.object("headers", headers).map(Box::new),
        paths: fields.list("paths", path).unwrap_or_default(),
        target: target(&mut fields),
    };
    fields.end();
    raw
}

fn version(fields: &mut Fields<'_>) {
    let given = fields.take("schema_version");
    if given.is_some_and(|version| version.as_u64() != Some(SCHEMA_VERSION.into())) {
        fields.say("schema_version", format!("{SCHEMA_VERSION} is expected"));
    }
}

/// The host; an object in its place is another proxy's document with the same version.
fn host(fields: &mut Fields<'_>) -> String {
    match fields.take("host") {
        Some(Value::String(host)) => host,
        Some(Value::Object(_)) => {
            let message = "the name of a host is expected; documents with a `host` object, as newer releases of Proksi write them, are not read";
            fields.say("host", message);
            String::new()
        }
        Some(_) => {
            fields.say("host", "the name of a host is expected");
            String::new()
        }
        None => {
            fields.say(
                "host",
                "it is missing; documents that have a `route` instead say `\"schema_version\": 1`",
            );
            String::new()
        }
    }
}

fn path(value: Value, place: &str, found: &mut Found) -> RawPath {
    let mut fields = Fields::of(value, place, found);
    let path = RawPath {
        patterns: fields.texts("patterns"),
        headers: fields.object("headers", headers).map(Box::new),
        target: target(&mut fields),
    };
    fields.end();
    path
}

/// The fields of a target are among those of the document or the path.
fn target(fields: &mut Fields<'_>) -> RawTarget {
    RawTarget {
        upstreams: fields.list("upstreams", upstream),
        load_balancing: fields.text("load_balancing"),
        handlers: fields.list("handlers", |value, _, _| value).unwrap_or_default(),
        eskip: fields.text("eskip"),
    }
}

fn upstream(value: Value, place: &str, found: &mut Found) -> RawUpstream {
    let mut fields = Fields::of(value, place, found);
    let upstream = RawUpstream {
        address: fields.needed_text("address"),
        weight: fields.small("weight"),
        sni: fields.text("sni"),
    };
    fields.end();
    upstream
}

fn tls(value: Value, place: &str, found: &mut Found) -> RawTls {
    let mut fields = Fields::of(value, place, found);
    let tls = RawTls {
        certificate: fields.needed_text("certificate"),
        key: fields.needed_text("key"),
        redirect: fields.flag("redirect"),
    };
    fields.end();
    tls
}

fn headers(value: Value, place: &str, found: &mut Found) -> RawHeaders {
    let mut fields = Fields::of(value, place, found);
    let headers = RawHeaders {
        request: fields.object("request", changes),
        response: fields.object("response", changes),
    };
    fields.end();
    headers
}

fn changes(value: Value, place: &str, found: &mut Found) -> RawFields {
    let mut fields = Fields::of(value, place, found);
    let changes = RawFields {
        add: fields.list("add", field).unwrap_or_default(),
        set: fields.list("set", field).unwrap_or_default(),
        remove: fields.texts("remove"),
    };
    fields.end();
    changes
}

pub(super) fn field(value: Value, place: &str, found: &mut Found) -> RawField {
    let mut fields = Fields::of(value, place, found);
    let field = RawField {
        name: fields.needed_text("name"),
        value: fields.needed_text("value"),
    };
    fields.end();
    field
}
