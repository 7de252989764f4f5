//! The hosts that are served, page by page.

use std::collections::BTreeMap;

use route_sources::{HostName, Route, Served};

use super::Hosted;
use crate::control::{HostState, ServedHost};

// === impl Hosted ===

impl Hosted {
    /// Where plain HTTP of hosts with certificates is redirected to.
    pub(in crate::control) fn https_port(&self) -> u16 {
        self.https_port
    }

    /// The first `limit` names behind `after`, sorted.
    pub(in crate::control) fn page(&self, after: Option<&str>, limit: usize) -> Vec<ServedHost> {
        let mut page: BTreeMap<&HostName, &Served> = BTreeMap::new();
        let behind = |name: &&HostName| after.is_none_or(|after| name.as_str() > after);
        for (name, served) in self.merge.names().filter(|(name, _)| behind(name)) {
            let is_full = page.len() >= limit;
            if is_full && page.last_key_value().is_none_or(|(last, _)| name > *last) {
                continue;
            }
            page.insert(name, served);
            if is_full {
                page.pop_last();
            }
        }
        let hosts = page.into_iter();
        hosts.map(|(name, served)| self.listed(name, served)).collect()
    }

    fn listed(&self, name: &HostName, served: &Served) -> ServedHost {
        let host = served.route.host();
        let state = match &served.route {
            Route::Configured(_) => HostState::Configured,
            Route::Held(held) => HostState::Unavailable(held.reason.clone()),
            Route::Document(_) => self.state(name, served),
        };
        ServedHost {
            host: name.clone(),
            alias_of: (host != name).then(|| host.clone()),
            source: served.kind,
            state,
        }
    }

    /// What became of a document that counts.
    fn state(&self, name: &HostName, served: &Served) -> HostState {
        if let Some(unbuilt) = self.unbuilt.get(name) {
            return if unbuilt.kept {
                HostState::Kept(unbuilt.reason.clone())
            } else {
                HostState::Unavailable(unbuilt.reason.clone())
            };
        }
        let host = served.route.host();
        let snapshot = self.merge.snapshot(served.kind);
        let mut invalid = snapshot.into_iter().flat_map(|snapshot| &snapshot.invalid);
        let newer = invalid.find(|invalid| {
            invalid.kept
                && invalid
                    .host
                    .as_ref()
                    .is_some_and(|written| written.eq_ignore_ascii_case(host.as_str()))
        });
        newer.map_or(HostState::Served, |newer| HostState::Kept(newer.reason.clone()))
    }
}
