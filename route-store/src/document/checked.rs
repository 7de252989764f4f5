//! A document that has passed the check.

use serde_json::Value;

use super::problem::Found;
use super::{Problems, Raw, check, v1};
use crate::host::HostName;

/// A document that may be served: hosts are lowercase and without repetition, paths, addresses, names and values are what
/// they are said to be.
///
/// Two are equal if they say the same. They are held behind an [`Arc`](std::sync::Arc) and told apart by it where that is quicker.
#[derive(Clone, Debug, PartialEq)]
pub struct HostDocument {
    host: HostName,
    aliases: Box<[HostName]>,
    raw: Box<Raw>,
}

// === impl HostDocument ===

impl HostDocument {
    /// Checks what is written. It is the one check that every source of routes uses. What it does not look into is left to
    /// those who build what is served: handlers beside their names, eskip, the contents of files.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, each with its place.
    pub fn check(mut raw: Raw) -> Result<Self, Problems> {
        let mut found = Found::default();
        let names = check::check(&mut raw, &mut found);
        let (host, aliases) = found.or(names)?;
        compact(&mut raw);
        let host = host.ok_or_else(|| Problems::one(super::Problem::new("host", "it is missing")))?;
        Ok(Self {
            host,
            aliases: aliases.into(),
            raw: Box::new(raw),
        })
    }

    /// Upgrades a route of version 1, which is what Proksi 0.6.1 has in its configuration, and checks it.
    ///
    /// # Errors
    ///
    /// What is wrong, and settings that have no counterpart, each with its place in the route.
    pub fn from_v1(route: Value) -> Result<Self, Problems> {
        let raw = v1::upgrade(route)?;
        Self::check(raw).map_err(|problems| problems.moved(v1::place))
    }

    /// The host that tells the document apart.
    pub fn host(&self) -> &HostName {
        &self.host
    }

    /// Other hosts that are served in the same way.
    pub fn aliases(&self) -> &[HostName] {
        &self.aliases
    }

    /// What it says. Names of hosts are written as [`HostName`] has them, and what says nothing is left out.
    pub fn raw(&self) -> &Raw {
        &self.raw
    }

    /// The document as JSON of the newest version. Documents that say the same are the same bytes.
    pub fn to_json(&self) -> String {
        // Nothing in a document can fail to be written: names of objects are texts, and numbers are finite.
        serde_json::to_string(&self.raw).unwrap_or_default()
    }
}

/// Gives back the room that reading has left: there may be many documents.
fn compact(raw: &mut Raw) {
    raw.host.shrink_to_fit();
    raw.aliases.shrink_to_fit();
    raw.paths.shrink_to_fit();
    let targets = raw.paths.iter_mut().map(|path| {
        path.patterns.shrink_to_fit();
        &mut path.target
    });
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

#[cfg(test)]
mod tests;
