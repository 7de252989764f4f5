//! Regular expressions of matchers, with the groups that anything asks for.

use std::sync::{Arc, OnceLock};

use regex::Regex;

use super::slots::{Slot, Slots, Value, Values};

/// An expression of a matcher. What its groups matched is kept where anything asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Regexp {
    regex: Regex,
    groups: Arc<Groups>,
}

/// The groups of an expression that are asked for, known when all routes of the server are compiled.
#[derive(Debug)]
pub(crate) struct Groups {
    name: Option<String>,
    /// Numbers and names of all groups.
    all: Vec<(usize, String)>,
    wanted: OnceLock<Vec<(usize, Slot)>>,
}

// === impl Regexp ===

impl Regexp {
    /// An expression whose groups are known as those of `name`.
    pub(crate) fn new(regex: Regex, name: Option<String>) -> Self {
        let named = regex.capture_names().enumerate();
        let all = named.flat_map(|(number, name)| {
            let name = name.map(|name| (number, name.to_owned()));
            std::iter::once((number, number.to_string())).chain(name)
        });
        let groups = Groups {
            name: name.filter(|name| !name.is_empty()),
            all: all.collect(),
            wanted: OnceLock::new(),
        };
        Self {
            groups: Arc::new(groups),
            regex,
        }
    }

    /// What must be told which groups are asked for.
    pub(crate) fn groups(&self) -> &Arc<Groups> {
        &self.groups
    }

    /// Whether it is found in `text`. The groups that are asked for are put into `vars`.
    pub(crate) fn matches(&self, text: &str, vars: &mut Values) -> bool {
        let wanted = self.groups.wanted.get().map_or(&[][..], Vec::as_slice);
        if wanted.is_empty() {
            return self.regex.is_match(text);
        }
        let Some(captures) = self.regex.captures(text) else {
            return false;
        };
        for (number, slot) in wanted {
            let group = captures.get(*number).map_or("", |group| group.as_str());
            vars.set(*slot, Value::text(group));
        }
        true
    }
}

// === impl Groups ===

impl Groups {
    /// All routes are compiled: what has a place in `slots` now is asked for.
    pub(crate) fn settle(&self, slots: &Slots) {
        let wanted = self.all.iter().flat_map(|(number, group)| {
            let own = self
                .name
                .as_ref()
                .map(|name| format!("http.regexp.{name}.{group}"));
            let any = Some(format!("http.regexp.{group}"));
            [own, any]
                .into_iter()
                .flatten()
                .filter_map(|name| slots.find(&name))
                .map(|slot| (*number, slot))
        });
        // It is settled once, by the compiler that made it.
        let _already = self.wanted.set(wanted.collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_are_asked_for_are_kept() {
        let mut slots = Slots::default();
        let (own, any) = (slots.of("http.regexp.id.n"), slots.of("http.regexp.0"));
        let regexp = Regexp::new(Regex::new("a(?P<n>[0-9])?").unwrap(), Some("id".to_owned()));
        let mut vars = Values::default();
        assert!(regexp.matches("a1", &mut vars) && !vars.get(own).is_set());

        regexp.groups().settle(&slots);
        assert!(regexp.matches("xa1", &mut vars));
        assert_eq!(
            (vars.get(own).to_string(), vars.get(any).to_string()),
            ("1".into(), "a1".into())
        );
        assert!(regexp.matches("a", &mut vars));
        assert_eq!(vars.get(own).to_string(), "");
        assert!(!regexp.matches("b", &mut vars));
        assert_eq!(vars.get(any).to_string(), "a");
    }
}
