//! Version 1: routes as Proksi 0.6.1 has them, to documents of the newest version.
//!
//! What a route meant there it means here, or it is refused: a setting that would be lost is never dropped in silence, least of
//! all one that asks for a login.

mod parts;
mod pattern;

use serde_json::Value;

use self::parts::{Upstream, headers, ssl, upstream};
use super::fields::Fields;
use super::problem::{Found, Problems};
use super::{Raw, RawField, RawFields, RawHeaders, RawPath, RawTarget, SCHEMA_VERSION};

/// Upgrades a route.
pub(super) fn upgrade(route: Value) -> Result<Raw, Problems> {
    let mut found = Found::default();
    let raw = read(route, &mut found);
    found.or(raw)
}

fn read(route: Value, found: &mut Found) -> Raw {
    let mut fields = Fields::of(route, "", found);
    let host = fields.needed_text("host");
    let upstreams = fields.list("upstreams", |value, place, found| {
        upstream(value, place, &host, found)
    });
    if upstreams.is_none() {
        fields.say("upstreams", "it is missing; an empty list is answered with 503");
    }
    let upstreams = upstreams.unwrap_or_default();
    let patterns = fields.object("match_with", match_with).flatten();
    let response = fields.object("headers", headers).flatten();
    let tls = fields.object("ssl", ssl).flatten();
    fields.object("ssl_certificate", parts::ssl_certificate);
    fields.object("cache", |value, place, found| parts::cache(&value, place, found));
    if let Some(plugins) = fields.take("plugins") {
        parts::plugins(&plugins, fields.found);
    }
    fields.end();

    let request = same_for_all(&upstreams, found);
    let is_weighted = upstreams.iter().any(|upstream| upstream.raw.weight.is_some());
    let in_turn = upstreams.len() > 1 && !is_weighted;
    let target = RawTarget {
        load_balancing: in_turn.then(|| "round_robin".to_owned()),
        upstreams: Some(upstreams.into_iter().map(|upstream| upstream.raw).collect()),
        ..RawTarget::default()
    };
    let mut raw = Raw {
        schema_version: SCHEMA_VERSION,
        host,
        tls: tls.map(Box::new),
        headers: Some(Box::new(RawHeaders { request, response })),
        ..Raw::default()
    };
    match patterns {
        Some(patterns) => raw.paths.push(RawPath {
            patterns,
            target,
            ..RawPath::default()
        }),
        None => raw.target = target,
    }
    raw
}

/// The request fields of the upstreams. They are set before one is chosen, so they must be those of all.
fn same_for_all(upstreams: &[Upstream], found: &mut Found) -> Option<RawFields> {
    let first = upstreams.first()?;
    if upstreams.iter().any(|upstream| upstream.fields != first.fields) {
        found.say(
            "upstreams",
            "`headers.add` must be the same for all of them, as fields are set before one is chosen",
        );
        return None;
    }
    set(first.fields.clone())
}

/// Proksi's `add` takes the place of what is there, and of several values for one name the last stays.
fn set(fields: Vec<RawField>) -> Option<RawFields> {
    let mut set: Vec<RawField> = Vec::with_capacity(fields.len());
    for field in fields {
        set.retain(|earlier| !earlier.name.eq_ignore_ascii_case(&field.name));
        set.push(field);
    }
    (!set.is_empty()).then(|| RawFields {
        set,
        ..RawFields::default()
    })
}

fn match_with(value: Value, place: &str, found: &mut Found) -> Option<Vec<String>> {
    let mut fields = Fields::of(value, place, found);
    let patterns = fields.object("path", |value, place, found| {
        let mut fields = Fields::of(value, place, found);
        let patterns = fields.list("patterns", pattern::read);
        fields.end();
        patterns
    });
    fields.end();
    let patterns: Vec<_> = patterns.flatten()?.into_iter().flatten().collect();
    // Without patterns everything matches.
    (!patterns.is_empty()).then_some(patterns)
}

/// Where in a route that is said which the check finds fault with in its upgrade.
pub(super) fn place(upgraded: &str) -> String {
    let (list, field) = match upgraded.strip_prefix("paths[0].") {
        Some(rest) => (rest, rest),
        None => (upgraded, upgraded),
    };
    if list.starts_with("patterns") {
        return format!("match_with.path.{field}");
    }
    if let Some(upstream) = field.strip_suffix(".address") {
        return format!("{upstream}.ip");
    }
    match field {
        "tls.certificate" => "ssl.path.pem".to_owned(),
        "tls.key" => "ssl.path.key".to_owned(),
        _ if field.starts_with("headers.request") => "upstreams.headers.add".to_owned(),
        _ if field.starts_with("headers.response.remove") => "headers.remove".to_owned(),
        _ if field.starts_with("headers.response") => "headers.add".to_owned(),
        _ => field.to_owned(),
    }
}

#[cfg(test)]
mod tests;
