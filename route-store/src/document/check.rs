//! The one check of what is written.

mod address;
mod changes;
mod pattern;

use std::collections::BTreeSet;

use super::fields::shorten;
use super::problem::Found;
use super::{Raw, RawPath, RawTarget, RawTls, RawUpstream};
use crate::host::HostName;

/// The bytes that a document may have, as JSON.
pub const MAX_BYTES: usize = 1 << 20;
/// The aliases that a document may have.
pub const MAX_ALIASES: usize = 100;
/// The entries of `paths` that a document may have, and the patterns of all of them.
pub const MAX_PATHS: usize = 1000;
/// The upstreams that one target may have.
pub const MAX_UPSTREAMS: usize = 1000;

/// The policies of `reverse_proxy` that `load_balancing` may name.
pub const LOAD_BALANCING: [&str; 11] = [
    "client_ip_hash",
    "cookie",
    "first",
    "ip_hash",
    "least_conn",
    "peak_ewma",
    "random",
    "random_choose",
    "round_robin",
    "uri_hash",
    "weighted_round_robin",
];
/// Its other policies: they mean nothing without settings, so they need a `reverse_proxy` among the handlers.
pub const LOAD_BALANCING_WITH_SETTINGS: [&str; 3] = ["consistent_hash", "header", "query"];

/// Checks everything, brings names of hosts into their form and drops what says nothing. The names are complete if nothing
/// was found.
pub(super) fn check(raw: &mut Raw, found: &mut Found) -> (Option<HostName>, Vec<HostName>) {
    raw.schema_version = super::SCHEMA_VERSION;
    let names = names(raw, found);
    if let Some(tls) = &mut raw.tls {
        check_tls(tls, found);
    }
    changes::check(&mut raw.headers, "", found);
    paths(&mut raw.paths, found);
    target(&mut raw.target, "", found);
    if raw.target.is_empty() && raw.paths.is_empty() {
        found.say(
            "",
            "nothing is served: `upstreams`, `handlers`, `eskip` or `paths` is needed",
        );
    }
    let bytes = size(raw);
    if bytes > MAX_BYTES {
        found.say(
            "",
            format!("a document may have 1 MiB, and this has {bytes} bytes"),
        );
    }
    shrink(raw);
    names
}

fn names(raw: &mut Raw, found: &mut Found) -> (Option<HostName>, Vec<HostName>) {
    let host = name("host", &mut raw.host, found);
    if raw.aliases.len() > MAX_ALIASES {
        found.say("aliases", format!("there may be {MAX_ALIASES} at most"));
    }
    let mut seen: BTreeSet<HostName> = host.iter().cloned().collect();
    let mut aliases = Vec::with_capacity(raw.aliases.len().min(MAX_ALIASES));
    for (number, alias) in raw.aliases.iter_mut().enumerate().take(MAX_ALIASES) {
        let place = format!("aliases[{number}]");
        let Some(alias) = name(&place, alias, found) else {
            continue;
        };
        if seen.insert(alias.clone()) {
            aliases.push(alias);
        } else {
            found.say(&place, format!("{alias} is there twice"));
        }
    }
    (host, aliases)
}

fn name(place: &str, given: &mut String, found: &mut Found) -> Option<HostName> {
    match given.parse::<HostName>() {
        Ok(name) => {
            name.as_str().clone_into(given);
            Some(name)
        }
        Err(_) if given.is_empty() => {
            found.say(place, "it is empty");
            None
        }
        Err(error) => {
            found.say(place, error.to_string());
            None
        }
    }
}

fn check_tls(tls: &mut RawTls, found: &mut Found) {
    for (place, file) in [("tls.certificate", &tls.certificate), ("tls.key", &tls.key)] {
        if file.is_empty() {
            found.say(place, "the path of a file is expected");
        }
        if file.contains('\0') {
            found.say(place, "a path has no NUL");
        }
    }
    // The default is not written.
    tls.redirect = tls.redirect.filter(|redirect| !redirect);
}

fn paths(paths: &mut [RawPath], found: &mut Found) {
    let patterns: usize = paths.iter().map(|path| path.patterns.len()).sum();
    if paths.len() > MAX_PATHS || patterns > MAX_PATHS {
        found.say(
            "paths",
            format!("there may be {MAX_PATHS} at most, with as many patterns in all"),
        );
        return;
    }
    let mut seen = BTreeSet::new();
    for (number, path) in paths.iter_mut().enumerate() {
        let place = format!("paths[{number}]");
        pattern::check(&path.patterns, &place, &mut seen, found);
        changes::check(&mut path.headers, &place, found);
        target(&mut path.target, &place, found);
        if path.target.is_empty() {
            found.say(
                &place,
                "nothing is served there: `upstreams`, `handlers` or `eskip` is needed",
            );
        }
    }
}

fn target(target: &mut RawTarget, place: &str, found: &mut Found) {
    let at = |name: &str| match place {
        "" => name.to_owned(),
        place => format!("{place}.{name}"),
    };
    if let Some(upstreams) = &mut target.upstreams {
        if target.eskip.is_some() {
            found.say(
                &at("eskip"),
                "it excludes `upstreams`: its routes name their own backends",
            );
        }
        check_upstreams(upstreams, &at("upstreams"), found);
    }
    if let Some(policy) = &target.load_balancing {
        check_policy(policy, target.upstreams.as_deref(), &at("load_balancing"), found);
    }
    if target.eskip.as_ref().is_some_and(|eskip| eskip.trim().is_empty()) {
        found.say(&at("eskip"), "it is empty");
    }
    for (number, handler) in target.handlers.iter().enumerate() {
        let name = handler.get("handler").and_then(serde_json::Value::as_str);
        if name.is_none_or(str::is_empty) {
            let place = format!("{}[{number}]", at("handlers"));
            found.say(
                &place,
                "an object with the name of a `handler` is expected, as in Caddy's JSON",
            );
        }
    }
}

fn check_upstreams(upstreams: &mut [RawUpstream], place: &str, found: &mut Found) {
    if upstreams.len() > MAX_UPSTREAMS {
        found.say(place, format!("there may be {MAX_UPSTREAMS} at most"));
        return;
    }
    for (number, upstream) in upstreams.iter_mut().enumerate() {
        let at = |name: &str| format!("{place}[{number}].{name}");
        if let Err(reason) = address::check(&mut upstream.address) {
            found.say(&at("address"), reason);
        }
        if upstream.weight == Some(0) {
            found.say(&at("weight"), "a whole number from 1 to 65535 is expected");
        }
        if let Some(sni) = &mut upstream.sni
            && let Some(sni) = name(&at("sni"), sni, found)
            && sni.is_wildcard()
        {
            found.say(&at("sni"), "the name of one host is expected");
        }
    }
}

fn check_policy(policy: &str, upstreams: Option<&[RawUpstream]>, place: &str, found: &mut Found) {
    if LOAD_BALANCING_WITH_SETTINGS.contains(&policy) {
        let message = format!(
            "`{policy}` needs settings: write a `reverse_proxy` in `handlers` instead of `upstreams`"
        );
        found.say(place, message);
    } else if !LOAD_BALANCING.contains(&policy) {
        let hint = super::suggest::did_you_mean(policy, &LOAD_BALANCING);
        found.say(place, format!("there is no policy `{}`{hint}", shorten(policy)));
    }
    let Some(upstreams) = upstreams else {
        found.say(place, "it is about `upstreams`, and there are none");
        return;
    };
    let weighted = upstreams.iter().any(|upstream| upstream.weight.is_some());
    if weighted && policy != "weighted_round_robin" {
        found.say(
            place,
            "weights are looked at by `weighted_round_robin` alone: leave out one of both",
        );
    }
}

/// The bytes of the document as JSON, without holding them.
fn size(raw: &Raw) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, raw) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

/// Gives back what reading has taken beyond its needs: many documents are held for long.
fn shrink(raw: &mut Raw) {
    raw.host.shrink_to_fit();
    raw.aliases.shrink_to_fit();
    raw.paths.shrink_to_fit();
    let targets = raw.paths.iter_mut().map(|path| &mut path.target);
    for target in targets.chain([&mut raw.target]) {
        target.handlers.shrink_to_fit();
        if let Some(upstreams) = &mut target.upstreams {
            upstreams.shrink_to_fit();
            upstreams
                .iter_mut()
                .for_each(|upstream| upstream.address.shrink_to_fit());
        }
    }
}

// === impl RawTarget ===

impl RawTarget {
    /// Whether it serves nothing at all. An empty list of upstreams is something: it is answered with 503.
    pub fn is_empty(&self) -> bool {
        self.upstreams.is_none() && self.handlers.is_empty() && self.eskip.is_none()
    }
}

#[cfg(test)]
mod tests;
