//! A document that has passed the check.

use super::{Problem, Problems, Raw};
use crate::host::HostName;

/// A document that may be served: hosts are lowercase and without repetition, paths, addresses, names and values are what
/// they are said to be.
///
/// Two are equal if they say the same. They are held behind an [`Arc`](std::sync::Arc) and told apart by it where that is quicker.
#[derive(Clone, Debug, PartialEq)]
pub struct HostDocument {
    pub(crate) host: HostName,
    pub(crate) aliases: Box<[HostName]>,
    pub(crate) raw: Box<Raw>,
}

// === impl HostDocument ===

impl HostDocument {
    /// Checks what is written. It is the one check that every source of routes uses.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, each with its place.
    pub fn check(raw: Raw) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let mut name = |place: String, given: &str| {
            let parsed = given.parse::<HostName>();
            parsed
                .map_err(|error| problems.push(Problem::new(place, error.to_string())))
                .ok()
        };
        let host = name("host".to_owned(), &raw.host);
        let aliases: Vec<_> = raw
            .aliases
            .iter()
            .enumerate()
            .filter_map(|(number, alias)| name(format!("aliases[{number}]"), alias))
            .collect();
        match host {
            Some(host) if problems.is_empty() => Ok(Self {
                host,
                aliases: aliases.into(),
                raw: Box::new(raw),
            }),
            _ => Err(Problems(problems)),
        }
    }

    /// The host that tells the document apart.
    pub fn host(&self) -> &HostName {
        &self.host
    }

    /// Other hosts that are served in the same way.
    pub fn aliases(&self) -> &[HostName] {
        &self.aliases
    }

    /// What it says.
    pub fn raw(&self) -> &Raw {
        &self.raw
    }
}
