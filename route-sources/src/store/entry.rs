//! What is known of one host of a store.

use std::sync::Arc;

use route_store::document::{ReadError, read};
use route_store::{HostDocument, HostName, SCHEMA_VERSION, StoredRoute};

use super::Newer;
use crate::snapshot::{Held, Invalid, Route};

/// A route as the store has it, and what is made of it. There may be many, so it is small: the host is said by whoever holds
/// it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) version: u64,
    revision: u64,
    schema_version: u32,
    document: Box<str>,
    /// The last document of the host that could be read, of this version or an earlier one.
    pub(super) good: Option<Arc<HostDocument>>,
    /// Why the document that is stored cannot be served.
    pub(super) fault: Option<Box<str>>,
    /// What the source says of the host, if anything.
    pub(super) route: Option<Route>,
    /// The store has forgotten it without having been asked to.
    pub(super) is_lost: bool,
}

/// Why a stored document cannot be served.
enum Fault {
    /// A newer program has written it.
    Newer(String),
    /// It is not what a document is.
    Invalid(String),
}

// === impl Entry ===

impl Entry {
    /// Reads a route as it is stored. `last` is the last good document of its host.
    pub(super) fn read(stored: StoredRoute, last: Option<Arc<HostDocument>>, newer: Newer) -> Self {
        let (good, fault, route) = match parse(&stored) {
            Ok(document) => {
                // An equal one stays the value that it was, so that nobody needs to compare them again.
                let last = last.filter(|last| **last == document);
                let document = last.unwrap_or_else(|| Arc::new(document));
                (Some(Arc::clone(&document)), None, Some(Route::Document(document)))
            }
            Err(Fault::Invalid(reason)) => {
                let route = last.clone().map(Route::Document);
                (last, Some(reason.into()), route)
            }
            Err(Fault::Newer(reason)) => {
                let kept = last.clone().filter(|_| newer == Newer::Keep);
                let route = kept.map(Route::Document).or_else(|| held(&stored.host, &reason));
                (last, Some(reason.into()), route)
            }
        };
        Self {
            version: stored.version,
            revision: stored.revision,
            schema_version: stored.schema_version,
            document: stored.document.into(),
            good,
            fault,
            route,
            is_lost: false,
        }
    }

    /// Whether this is what the store has, so that it need not be read again.
    pub(super) fn is_of(&self, stored: &StoredRoute) -> bool {
        (self.version, self.revision, self.schema_version)
            == (stored.version, stored.revision, stored.schema_version)
            && *self.document == *stored.document
    }

    /// The route of `host` as the store has it.
    pub(super) fn stored(&self, host: &str) -> StoredRoute {
        StoredRoute {
            host: host.to_owned(),
            version: self.version,
            revision: self.revision,
            schema_version: self.schema_version,
            document: self.document.to_string(),
        }
    }

    /// What is to be told of the host.
    pub(super) fn report(&self, host: &str, store: &str) -> Option<Invalid> {
        let kept = matches!(self.route, Some(Route::Document(_)));
        let reason = match (&self.fault, self.is_lost) {
            (None, false) => return None,
            (Some(fault), false) => fault.to_string(),
            (_, true) => "the store has lost it; write it again, or accept the loss".to_owned(),
        };
        Some(Invalid {
            host: Some(host.to_owned()),
            place: format!("version {} in the {store} store", self.version),
            reason,
            kept,
        })
    }
}

fn parse(stored: &StoredRoute) -> Result<HostDocument, Fault> {
    if stored.schema_version > SCHEMA_VERSION {
        return Err(Fault::Newer(format!(
            "it has schema version {}, and this program reads versions up to {SCHEMA_VERSION}; update it",
            stored.schema_version
        )));
    }
    let document = read(&stored.document).map_err(|error| match error {
        ReadError::Newer { .. } => Fault::Newer(error.to_string()),
        _ => Fault::Invalid(error.to_string()),
    })?;
    if document.host().as_str() != stored.host {
        let reason = format!(
            "the document is about {}; write it under that host",
            document.host()
        );
        return Err(Fault::Invalid(reason));
    }
    Ok(document)
}

fn held(host: &str, reason: &str) -> Option<Route> {
    let host: HostName = host.parse().ok()?;
    let reason = reason.to_owned();
    Some(Route::Held(Arc::new(Held { host, reason })))
}
