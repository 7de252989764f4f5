//! The form of labels that Proksi has, `proksi.`.

use std::collections::BTreeMap;

use route_store::HostDocument;
use route_store::document::{RawField, RawFields, RawHeaders};
use serde_json::json;

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
    let host = hosts.first().map_or("", String::as_str);
    let (paths, mut headers) = upgraded(&mut group, host);
    if request_id == Some(true) {
        headers.get_or_insert_default().request = Some(request_id_field());
    }
    let port = plain::port(&mut group, "port");
    let found = Definition {
        paths,
        headers,
        // Proksi speaks TLS at this port and at no other, and goes in turns.
        sni: (port == Some(443)).then(|| host.to_owned()),
        load_balancing: Some("round_robin".to_owned()),
        port,
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

/// Paths and fields mean what they mean in Proksi's configuration, so they are read as that.
fn upgraded(group: &mut Group<'_>, host: &str) -> (Vec<String>, Option<RawHeaders>) {
    let patterns = group.take_below("match_with.path.pattern.");
    let mut patterns: Vec<_> = patterns.into_iter().map(|(_, pattern)| pattern.trim()).collect();
    patterns.sort_unstable();
    patterns.dedup();
    let lists = (group.json("headers.add"), group.json("headers.remove"));
    if host.is_empty() {
        return (Vec::new(), None);
    }
    let mut route =
        json!({ "host": host, "upstreams": [], "headers": { "add": lists.0, "remove": lists.1 } });
    if !patterns.is_empty()
        && let Some(route) = route.as_object_mut()
    {
        route.insert(
            "match_with".to_owned(),
            json!({ "path": { "patterns": patterns } }),
        );
    }
    match HostDocument::from_v1(route) {
        Ok(document) => {
            let path = document.raw().paths.first();
            let mut paths = path.map(|path| path.patterns.clone()).unwrap_or_default();
            paths.sort();
            (paths, document.raw().headers.as_deref().cloned())
        }
        Err(problems) => {
            for problem in problems.iter() {
                group.wrong(problem.place(), problem.message());
            }
            (Vec::new(), None)
        }
    }
}

fn request_id_field() -> RawFields {
    let field = RawField {
        name: "X-Request-Id".to_owned(),
        value: "{http.request.uuid}".to_owned(),
    };
    RawFields {
        set: vec![field],
        ..RawFields::default()
    }
}
