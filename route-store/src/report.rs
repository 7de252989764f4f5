//! What a store says of itself to those who look after it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::document::{SCHEMA_VERSION, read};
use crate::revision::Revision;
use crate::store::{Store, StoreError};

/// What [`Store::migrate`] did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MigrateReport {
    /// The kind of the store.
    pub kind: &'static str,
    /// The layout that was there; 0 if there was nothing.
    pub from: u32,
    /// The layout that is there now.
    pub to: u32,
}

/// What [`Store::check`] found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    /// The kind of the store.
    pub kind: &'static str,
    /// How data is laid out; 0 if nothing is there yet.
    pub layout: u32,
    /// Where the store stands; `None` if nothing is there yet.
    pub revision: Option<Revision>,
    /// How many routes there are.
    pub routes: usize,
    /// How many documents are written in each version.
    pub schema_versions: BTreeMap<u32, usize>,
    /// Routes that this version of the program cannot read.
    pub unreadable: Vec<Unreadable>,
    /// How many replicas reported lately.
    pub replicas: usize,
    /// How many replicas have applied another revision than the store's.
    pub behind: usize,
}

/// A route that cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unreadable {
    /// Its host.
    pub host: String,
    /// Why.
    pub reason: String,
}

// === impl CheckReport ===

impl CheckReport {
    /// Of a store without anything.
    pub fn empty(kind: &'static str) -> Self {
        Self {
            kind,
            layout: 0,
            revision: None,
            routes: 0,
            schema_versions: BTreeMap::new(),
            unreadable: Vec::new(),
            replicas: 0,
            behind: 0,
        }
    }

    /// Of what a store gives, `layout` being how it keeps it.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn of<S: Store + ?Sized>(store: &S, layout: u32) -> Result<Self, StoreError> {
        let all = store.routes().await?;
        let replicas = store.replicas().await?;
        let mut report = Self {
            layout,
            revision: Some(all.revision),
            routes: all.routes.len(),
            replicas: replicas.len(),
            behind: replicas
                .iter()
                .filter(|replica| replica.revision != all.revision)
                .count(),
            ..Self::empty(store.kind())
        };
        for route in all.routes {
            *report.schema_versions.entry(route.schema_version).or_default() += 1;
            if let Some(reason) = fault(route.schema_version, &route.document) {
                report.unreadable.push(Unreadable {
                    host: route.host,
                    reason,
                });
            }
        }
        Ok(report)
    }
}

fn fault(schema_version: u32, document: &str) -> Option<String> {
    if schema_version > SCHEMA_VERSION {
        return Some(format!(
            "it is written in version {schema_version}, this program knows {SCHEMA_VERSION}"
        ));
    }
    read(document).err().map(|error| error.to_string())
}
