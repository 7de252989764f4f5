//! The form of labels that Proksi has, `proksi.`.

use std::collections::BTreeMap;

use route_store::document::{RawField, RawFields, RawHeaders};
use serde_json::Value;

use super::group::Group;
use super::{Definition, Refusal, plain};

const PREFIX: &str = "proksi.";

const KNOWN: [&str; 8] = [
    "enabled",
    "headers.add",
    "headers.remove",
    "host",
    "match_with.path.pattern.NAME",
    "plugins.request_id.enabled",
    "port",
    "ssl_certificate.self_signed_on_failure",
];

pub(super) fn definitions(labels: &BTreeMap<String, String>, refusal: &mut Refusal) -> Option<Definition> {
    let labels = labels.iter();
    let labels: BTreeMap<&str, &str> = labels
        .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, value.as_str())))
        .collect();
    let enabled = labels.get("enabled").map(|value| value.trim());
    if labels.is_empty() || enabled == Some("false") {
        return None;
    }
    let mut group = Group::new(PREFIX.to_owned(), labels);
    match group.take("enabled") {
        Some("true") => {}
        Some(_) => group.wrong("enabled", "expected `true` or `false`"),
        None => group.wrong("enabled", "it is missing; without `true` there is no route"),
    }
    let hosts: Vec<_> = group.take("host").map(str::to_owned).into_iter().collect();
    if hosts.is_empty() {
        group.wrong("host", "it is missing");
    }
    refuse_plugins(&mut group);
    let request_id = group.parse("plugins.request_id.enabled", "`true` or `false`");
    // There is nothing to fall back to: a host without files has no certificate to fail.
    group.parse::<bool>("ssl_certificate.self_signed_on_failure", "`true` or `false`");
    let found = Definition {
        paths: paths(&mut group),
        headers: headers(&mut group, request_id == Some(true)),
        port: plain::port(&mut group, "port"),
        hosts,
        ..Definition::default()
    };
    let is_fine = group.is_fine();
    group.finish(&found.hosts, &KNOWN, refusal);
    is_fine.then_some(found)
}

/// Plugins that ask for a login are refused with what to write instead; others are unknown labels.
fn refuse_plugins(group: &mut Group<'_>) {
    for (plugin, help) in [
        (
            "basic_auth",
            "write `doorway.` labels with `doorway.basic_auth` and a bcrypt hash",
        ),
        (
            "oauth2",
            "it is not supported; write `doorway.` labels with `doorway.handlers`",
        ),
    ] {
        let below = format!("plugins.{plugin}.");
        if !group.take_below(&below).is_empty() {
            group.wrong(&format!("plugins.{plugin}"), help);
        }
    }
}

fn paths(group: &mut Group<'_>) -> Vec<String> {
    let mut paths: Vec<_> = Vec::new();
    for (name, pattern) in group.take_below("match_with.path.pattern.") {
        let pattern = pattern.trim();
        if pattern.split('/').any(|part| part.starts_with(':')) {
            let help = "parameters such as `:id` are not supported; write `*` for one part of a path";
            group.wrong(&format!("match_with.path.pattern.{name}"), help);
        }
        paths.push(pattern.to_owned());
    }
    paths.sort();
    paths.dedup();
    paths
}

fn headers(group: &mut Group<'_>, request_id: bool) -> Option<RawHeaders> {
    let response = RawFields {
        add: added(group),
        remove: removed(group),
        set: Vec::new(),
    };
    let request_id = request_id.then(|| RawFields {
        set: vec![RawField {
            name: "X-Request-Id".to_owned(),
            value: "{http.request.uuid}".to_owned(),
        }],
        ..RawFields::default()
    });
    let response = (response != RawFields::default()).then_some(response);
    (request_id.is_some() || response.is_some()).then_some(RawHeaders {
        request: request_id,
        response,
    })
}

fn added(group: &mut Group<'_>) -> Vec<RawField> {
    const NAME: &str = "headers.add";
    let field = |entry: &Value| {
        Some(RawField {
            name: entry.get("name")?.as_str()?.to_owned(),
            value: entry.get("value")?.as_str()?.to_owned(),
        })
    };
    entries(
        group,
        NAME,
        field,
        "expected a list of `{\"name\": \"...\", \"value\": \"...\"}`",
    )
}

fn removed(group: &mut Group<'_>) -> Vec<String> {
    const NAME: &str = "headers.remove";
    let name = |entry: &Value| Some(entry.as_str().or_else(|| entry.get("name")?.as_str())?.to_owned());
    entries(group, NAME, name, "expected a list of `{\"name\": \"...\"}`")
}

fn entries<T>(group: &mut Group<'_>, name: &str, read: impl Fn(&Value) -> Option<T>, help: &str) -> Vec<T> {
    let Some(json) = group.json(name) else {
        return Vec::new();
    };
    let read: Option<Vec<T>> = json.as_array().and_then(|list| list.iter().map(read).collect());
    if read.is_none() {
        group.wrong(name, help);
    }
    read.unwrap_or_default()
}
