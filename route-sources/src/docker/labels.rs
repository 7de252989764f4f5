//! Labels, and the routes that they define.

mod group;
mod plain;
mod proksi;

use std::collections::BTreeMap;

use route_store::document::{RawHeaders, RawTls};
use serde_json::Value;

use super::settings::{LabelForms, Reach};

/// One route as labels define it: everything but where it is reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Definition {
    /// The host, and then its aliases.
    pub(super) hosts: Vec<String>,
    /// Sorted, without repetition; none: all paths.
    pub(super) paths: Vec<String>,
    pub(super) tls: Option<RawTls>,
    pub(super) headers: Option<RawHeaders>,
    pub(super) load_balancing: Option<String>,
    pub(super) handlers: Vec<Value>,
    /// Whether its handlers certainly ask for a login; others of them may keep people out too.
    pub(super) asks_for_login: bool,
    pub(super) port: Option<u16>,
    pub(super) network: Option<String>,
    pub(super) weight: Option<u16>,
    pub(super) sni: Option<String>,
    pub(super) reach: Option<Reach>,
}

/// Labels that define no route, as something is wrong with them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Refusal {
    /// The hosts that they are about, as they were written.
    pub(super) hosts: Vec<String>,
    /// Everything that is wrong.
    pub(super) reasons: Vec<String>,
    /// Whether what is wrong may be what keeps people out.
    pub(super) is_guard_refused: bool,
    /// Whether there is anything that may keep people out.
    pub(super) is_guarded: bool,
    /// Whether nothing is wrong with them, but where it is reached is not known yet.
    pub(super) is_unknown: bool,
}

/// The routes that labels define; none if they define none.
///
/// # Errors
///
/// Everything that is wrong with them. One wrong label refuses them all, so that nothing is served in another way than meant.
pub(super) fn definitions(
    labels: &BTreeMap<String, String>,
    forms: LabelForms,
) -> Result<Vec<Definition>, Refusal> {
    let mut found = Vec::new();
    let mut refusal = Refusal::default();
    if forms.plain() {
        found.append(&mut plain::definitions(labels, &mut refusal));
    }
    let plain = found.len();
    if forms.proksi() {
        found.extend(proksi::definitions(labels, &mut refusal));
    }
    for (number, one) in found.iter().enumerate() {
        // Routes of two forms are rarely meant both: one may ask for a login that the other has not.
        let is_other_form = |other: usize| number < plain && other >= plain;
        let mut others = found.iter().enumerate().skip(number + 1);
        if others.any(|(at, other)| {
            one.hosts.first() == other.hosts.first() && (one.paths == other.paths || is_other_form(at))
        }) {
            let host = one.hosts.first().map_or("", String::as_str);
            refusal.reasons.push(format!(
                "two routes are for the same paths of `{host}`, or are of two forms: remove one"
            ));
        }
    }
    if refusal.reasons.is_empty() {
        return Ok(found);
    }
    refusal.hosts.extend(
        found
            .iter()
            .flat_map(|definition| definition.hosts.iter().cloned()),
    );
    refusal.hosts.sort();
    refusal.hosts.dedup();
    refusal.is_guarded |=
        refusal.is_guard_refused || found.iter().any(|definition| !definition.handlers.is_empty());
    Err(refusal)
}

#[cfg(test)]
mod tests;
