//! Labels that belong together, which are taken out one by one.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde_json::Value;

use super::Refusal;

/// Labels below one prefix, and what is wrong with them.
pub(super) struct Group<'a> {
    /// With its dot.
    prefix: String,
    labels: BTreeMap<&'a str, &'a str>,
    refusal: Refusal,
}

/// Words in the names of labels that are there to keep people out.
const GUARDS: [&str; 9] = [
    "auth", "jwt", "login", "passw", "oidc", "handler", "plugin", "allow", "deny",
];

// === impl Group ===

impl<'a> Group<'a> {
    pub(super) fn new(prefix: String, labels: BTreeMap<&'a str, &'a str>) -> Self {
        let is_guarded = labels.keys().any(|name| is_guard(name));
        let refusal = Refusal {
            is_guarded,
            ..Refusal::default()
        };
        Self {
            prefix,
            labels,
            refusal,
        }
    }

    /// Takes one label.
    pub(super) fn take(&mut self, name: &str) -> Option<&'a str> {
        self.labels.remove(name).map(str::trim)
    }

    /// Takes all labels below `prefix`, with the rest of their names.
    pub(super) fn take_below(&mut self, prefix: &str) -> Vec<(&'a str, &'a str)> {
        let found: Vec<_> = self
            .labels
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(prefix)?, *value)))
            .collect();
        self.labels.retain(|name, _| !name.starts_with(prefix));
        found
    }

    /// Takes a label whose value is what `T` is read from.
    pub(super) fn parse<T: FromStr>(&mut self, name: &str, expected: &str) -> Option<T> {
        let value = self.take(name)?;
        let parsed = value.parse().ok();
        if parsed.is_none() {
            self.wrong(name, &format!("expected {expected}"));
        }
        parsed
    }

    /// Takes a label with a comma between values.
    pub(super) fn list(&mut self, name: &str) -> Vec<String> {
        let Some(value) = self.take(name) else {
            return Vec::new();
        };
        let values: Vec<_> = value.split(',').map(|value| value.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            self.wrong(name, "a value is empty");
        }
        values
    }

    /// Takes a label with JSON.
    pub(super) fn json(&mut self, name: &str) -> Option<Value> {
        let value = self.take(name)?;
        match serde_json::from_str(value) {
            Ok(json) => Some(json),
            Err(error) => {
                let place = format!("line {} column {}", error.line(), error.column());
                self.wrong(name, &format!("it is no JSON ({place})"));
                None
            }
        }
    }

    /// Says what is wrong with a label. The reason must not repeat a value that may be secret.
    pub(super) fn wrong(&mut self, name: &str, reason: &str) {
        self.refusal.is_guard_refused |= is_guard(name);
        self.refusal
            .reasons
            .push(format!("{}{name}: {reason}", self.prefix));
    }

    pub(super) fn is_fine(&self) -> bool {
        self.refusal.reasons.is_empty()
    }

    /// Refuses the labels that were not taken, and adds what is wrong to the rest.
    pub(super) fn finish(mut self, hosts: &[String], known: &[&str], refusal: &mut Refusal) {
        for name in std::mem::take(&mut self.labels).into_keys() {
            let meant = nearest(name, known);
            if meant.is_some_and(is_guard) {
                self.refusal.is_guard_refused = true;
            }
            let help = meant.map_or_else(String::new, |meant| {
                format!("; is `{}{meant}` meant?", self.prefix)
            });
            self.wrong(name, &format!("there is no such label{help}"));
        }
        if !self.is_fine() {
            refusal.hosts.extend_from_slice(hosts);
        }
        refusal.reasons.append(&mut self.refusal.reasons);
        refusal.is_guard_refused |= self.refusal.is_guard_refused;
        refusal.is_guarded |= self.refusal.is_guarded;
    }
}

/// Whether a label of this name may be there to keep people out.
fn is_guard(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !name.starts_with("headers.") && GUARDS.iter().any(|word| name.contains(word))
}

/// The name that is most likely meant, if any is.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let distances = known.iter().map(|known| (distance(name, known), *known));
    let (distance, known) = distances.min()?;
    (distance <= 3 && distance < known.len()).then_some(known)
}

/// How many letters must be added, removed or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().take(64).enumerate() {
        let mut before = line;
        let mut left = line + 1;
        let mut next = vec![left];
        for (theirs, above) in other.iter().zip(row.iter().skip(1)) {
            let changed = before + usize::from(letter != *theirs);
            left = changed.min(above + 1).min(left + 1);
            before = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
