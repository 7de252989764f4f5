//! What is wrong, with its place.

use std::collections::BTreeMap;
use std::fmt::Display;

use route_store::HostName;

use crate::kubernetes::claims::Claim;
use crate::kubernetes::cluster::Key;
use crate::kubernetes::paths::Place;
use crate::kubernetes::rules::Rule;
use crate::snapshot::{Held, Invalid};

/// Gathers what is wrong.
#[derive(Default)]
pub(super) struct Report {
    invalid: Vec<Invalid>,
    pub(super) lost: BTreeMap<Key, Vec<String>>,
}

// === impl Report ===

impl Report {
    /// Something about an Ingress.
    pub(super) fn ingress(&mut self, host: Option<String>, key: &Key, reason: impl Into<String>, kept: bool) {
        self.invalid.push(Invalid {
            host,
            place: format!("ingress {key}"),
            reason: reason.into(),
            kept,
        });
    }

    /// An Ingress is not served at all.
    pub(super) fn refused(&mut self, host: Option<&HostName>, key: &Key, reason: impl Display) {
        let reason = format!("{reason}; its paths are answered with 503");
        self.ingress(host.map(ToString::to_string), key, reason, false);
    }

    /// A path leads nowhere.
    pub(super) fn rule(&mut self, rule: &Rule<'_>, key: &Key, reason: &dyn Display) {
        let reason = format!("path `{}`: {reason}; it is answered with 503", rule.place.shown());
        self.ingress(Some(rule.host.to_string()), key, reason, false);
    }

    /// More is behind a path than can be used.
    pub(super) fn crowded(&mut self, rule: &Rule<'_>, key: &Key, most: usize) {
        let shown = rule.place.shown();
        let reason = format!(
            "path `{shown}`: the Service has more addresses than {most}, and the others are left out"
        );
        self.ingress(Some(rule.host.to_string()), key, reason, true);
    }

    /// A path is another's.
    pub(super) fn lost(&mut self, host: &HostName, key: &Key, place: &Place, winner: &Claim) {
        let by = if winner.owner == *key {
            "an earlier rule of the same Ingress".to_owned()
        } else {
            format!("the older Ingress {}", winner.owner)
        };
        let reason = format!("path `{}` is already served by {by}", place.shown());
        let note = format!("{host}: {reason}");
        self.lost.entry(key.clone()).or_default().push(note);
        self.ingress(Some(host.to_string()), key, reason, true);
    }

    /// A certificate cannot be used.
    pub(super) fn secret(&mut self, host: &HostName, key: &Key, reason: &str, kept: bool) {
        let then = if kept {
            "the last good certificate is used on"
        } else {
            "paths that need it are answered with 503"
        };
        self.invalid.push(Invalid {
            host: Some(host.to_string()),
            place: format!("secret {key}"),
            reason: format!("{reason}; {then}"),
            kept,
        });
    }

    /// A host cannot be served at all.
    pub(super) fn held(&mut self, held: &Held) {
        self.invalid.push(Invalid {
            host: Some(held.host.to_string()),
            place: "ingresses of the host".to_owned(),
            reason: held.reason.clone(),
            kept: false,
        });
    }

    pub(super) fn into_sorted(mut self) -> Vec<Invalid> {
        let key = |one: &Invalid| (one.host.clone(), one.place.clone(), one.reason.clone());
        self.invalid.sort_by_cached_key(key);
        self.invalid.dedup();
        self.invalid
    }
}
