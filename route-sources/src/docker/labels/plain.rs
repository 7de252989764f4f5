//! The plain form of labels, `doorway.`.

use std::collections::BTreeMap;

use route_store::document::{RawField, RawFields, RawHeaders, RawTls};
use serde_json::{Value, json};

use super::group::Group;
use super::{Definition, Refusal};
use crate::docker::settings::Reach;

const PREFIX: &str = "doorway.";

/// Names after the prefix, and after `doorway.routes.NAME.`.
const KNOWN: [&str; 22] = [
    "basic_auth",
    "enable",
    "handlers",
    "headers.request.add.NAME",
    "headers.request.remove",
    "headers.request.set.NAME",
    "headers.response.add.NAME",
    "headers.response.remove",
    "headers.response.set.NAME",
    "host",
    "load_balancing",
    "network",
    "paths",
    "port",
    "reach",
    "routes.NAME.host",
    "scheme",
    "sni",
    "tls.certificate",
    "tls.key",
    "tls.redirect",
    "weight",
];

pub(super) fn definitions(labels: &BTreeMap<String, String>, refusal: &mut Refusal) -> Vec<Definition> {
    let mut groups: BTreeMap<String, BTreeMap<&str, &str>> = BTreeMap::new();
    for (name, value) in labels {
        let Some(name) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let named = name.strip_prefix("routes.").and_then(|rest| rest.split_once('.'));
        let (prefix, name) = match named {
            Some((route, name)) => (format!("{PREFIX}routes.{route}."), name),
            None => (PREFIX.to_owned(), name),
        };
        groups.entry(prefix).or_default().insert(name, value);
    }
    let own = groups.get_mut(PREFIX);
    let enable = own.and_then(|own| own.remove("enable")).map(str::trim);
    match enable {
        Some("false") => return Vec::new(),
        None | Some("true") => {}
        Some(_) => refusal
            .reasons
            .push(format!("{PREFIX}enable: expected `true` or `false`")),
    }
    let own = groups.get(PREFIX);
    let network = own
        .and_then(|own| own.get("network"))
        .map(|name| name.trim().to_owned());
    let has_named = groups.len() > usize::from(own.is_some());
    if own.is_some_and(|own| own.keys().all(|name| *name == "network")) && has_named {
        groups.remove(PREFIX);
    }
    if groups.is_empty() && enable == Some("true") {
        refusal.reasons.push(format!("{PREFIX}host: it is missing"));
    }
    let groups = groups.into_iter();
    groups
        .filter_map(|(prefix, labels)| {
            let mut found = definition(Group::new(prefix, labels), refusal)?;
            found.network = found.network.or_else(|| network.clone());
            Some(found)
        })
        .collect()
}

fn definition(mut group: Group<'_>, refusal: &mut Refusal) -> Option<Definition> {
    let hosts = group.list("host");
    if hosts.is_empty() {
        group.wrong("host", "it is missing");
    }
    let mut paths = group.list("paths");
    paths.sort();
    paths.dedup();
    let mut handlers: Vec<Value> = basic_auth(&mut group).into_iter().collect();
    handlers.append(&mut further_handlers(&mut group));
    let names = handlers
        .iter()
        .filter_map(|handler| handler.get("handler")?.as_str());
    let asks_for_login = names.into_iter().any(|name| name == "authentication");
    let found = Definition {
        paths,
        tls: tls(&mut group),
        headers: headers(&mut group),
        load_balancing: group.take("load_balancing").map(str::to_owned),
        asks_for_login,
        handlers,
        port: port(&mut group, "port"),
        network: group.take("network").map(str::to_owned),
        weight: group.parse("weight", "a number from 1 to 65535"),
        sni: sni(&mut group),
        reach: reach(&mut group),
        hosts,
    };
    let is_fine = group.is_fine();
    group.finish(&found.hosts, &KNOWN, refusal);
    is_fine.then_some(found)
}

pub(super) fn port(group: &mut Group<'_>, name: &str) -> Option<u16> {
    let port = group.parse::<u16>(name, "a port from 1 to 65535");
    if port == Some(0) {
        group.wrong(name, "expected a port from 1 to 65535");
    }
    port
}

fn sni(group: &mut Group<'_>) -> Option<String> {
    let sni = group.take("sni").map(str::to_owned);
    match (group.take("scheme"), &sni) {
        (Some("https"), None) => group.wrong(
            "sni",
            "`https` needs the name in the certificate of what is served",
        ),
        (Some("http"), Some(_)) => group.wrong("sni", "it is for `https` only"),
        (None | Some("http" | "https"), _) => {}
        (Some(_), _) => group.wrong("scheme", "expected `http` or `https`"),
    }
    sni
}

fn reach(group: &mut Group<'_>) -> Option<Reach> {
    match group.take("reach")? {
        "tasks" => Some(Reach::Tasks),
        "vip" => Some(Reach::Vip),
        "dns" => Some(Reach::Dns),
        _ => {
            group.wrong("reach", "expected `tasks`, `vip` or `dns`");
            None
        }
    }
}

fn tls(group: &mut Group<'_>) -> Option<RawTls> {
    let certificate = group.take("tls.certificate");
    let key = group.take("tls.key");
    let redirect = group.parse("tls.redirect", "`true` or `false`");
    match (certificate, key) {
        (Some(certificate), Some(key)) => Some(RawTls {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            redirect,
        }),
        (None, None) => {
            if redirect.is_some() {
                group.wrong("tls.redirect", "it needs `tls.certificate` and `tls.key`");
            }
            None
        }
        (Some(_), None) => {
            group.wrong("tls.key", "it is missing beside `tls.certificate`");
            None
        }
        (None, Some(_)) => {
            group.wrong("tls.certificate", "it is missing beside `tls.key`");
            None
        }
    }
}

fn headers(group: &mut Group<'_>) -> Option<RawHeaders> {
    let request = fields(group, "headers.request.");
    let response = fields(group, "headers.response.");
    (request.is_some() || response.is_some()).then_some(RawHeaders { request, response })
}

fn fields(group: &mut Group<'_>, prefix: &str) -> Option<RawFields> {
    let below = |group: &mut Group<'_>, operation: &str| -> Vec<RawField> {
        let found = group.take_below(&format!("{prefix}{operation}."));
        let field = |(name, value): (&str, &str)| RawField {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        found.into_iter().map(field).collect()
    };
    let fields = RawFields {
        add: below(group, "add"),
        set: below(group, "set"),
        remove: group.list(&format!("{prefix}remove")),
    };
    (fields != RawFields::default()).then_some(fields)
}

/// Names and hashes with a comma between, as the handler that asks for them.
fn basic_auth(group: &mut Group<'_>) -> Option<Value> {
    const NAME: &str = "basic_auth";
    let entries = group.take(NAME)?;
    let mut accounts = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for entry in entries.split(',') {
        let Some((name, hash)) = entry.trim().split_once(':').filter(|(name, _)| is_user(name)) else {
            group.wrong(NAME, "expected `name:hash`, with a comma before the next");
            return None;
        };
        if !is_bcrypt(hash) {
            let help =
                "the password of a name is no bcrypt hash; in a compose file each `$` of it is written `$$`";
            group.wrong(NAME, help);
            return None;
        }
        if !names.insert(name) {
            group.wrong(NAME, "a name is there twice");
            return None;
        }
        accounts.push(json!({ "username": name, "password": hash }));
    }
    Some(json!({
        "handler": "authentication",
        "providers": { "http_basic": { "hash": { "algorithm": "bcrypt" }, "accounts": accounts } },
    }))
}

/// A name that the handler takes.
fn is_user(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(char::is_control)
}

/// `$2b$`, a cost of two digits, `$`, and 53 letters and digits.
fn is_bcrypt(hash: &str) -> bool {
    let Some(rest) = ["$2a$", "$2b$", "$2x$", "$2y$"]
        .iter()
        .find_map(|kind| hash.strip_prefix(kind))
    else {
        return false;
    };
    let Some((cost, rest)) = rest.split_once('$') else {
        return false;
    };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'/';
    let is_cost = cost.len() == 2 && cost.parse::<u8>().is_ok_and(|cost| (4..=31).contains(&cost));
    is_cost && rest.len() == 53 && rest.bytes().all(is_letter)
}

fn further_handlers(group: &mut Group<'_>) -> Vec<Value> {
    const NAME: &str = "handlers";
    match group.json(NAME) {
        None => Vec::new(),
        Some(Value::Array(handlers)) if handlers.iter().all(Value::is_object) => handlers,
        Some(handler @ Value::Object(_)) => vec![handler],
        Some(_) => {
            group.wrong(NAME, "expected a list of handlers");
            Vec::new()
        }
    }
}
