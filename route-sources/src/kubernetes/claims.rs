//! What Ingresses claim of a host, and the document that comes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use route_store::HostName;
use route_store::document::{HostDocument, Raw};
use route_store::document::{RawHeaders, RawPath, RawTarget, RawTls, SCHEMA_VERSION};
use serde_json::json;

use super::cluster::Key;
use super::files::CertificateFiles;
use super::paths::Place;
use crate::snapshot::{Held, Route};

/// What an Ingress serves at a place. It is not shown, as accounts and keys may be in it.
#[derive(Clone)]
pub(super) struct Claim {
    pub(super) owner: Key,
    pub(super) place: Place,
    /// Whether it must not be served without the certificate that its Ingress names.
    pub(super) wants_certificate: bool,
    pub(super) headers: Option<RawHeaders>,
    pub(super) target: RawTarget,
}

/// All claims of a host, the oldest Ingress first.
#[derive(Default)]
pub(super) struct Claims {
    places: BTreeMap<(bool, String), Claim>,
    default: Option<Claim>,
    certificate: Option<(Key, CertificateFiles)>,
    redirect: Option<bool>,
}

/// An Ingress whose part of a document is wrong.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) owner: Key,
    pub(super) reason: String,
}

/// A target that is answered with 503.
pub(super) fn closed() -> RawTarget {
    RawTarget {
        upstreams: Some(Vec::new()),
        ..RawTarget::default()
    }
}

// === impl Claims ===

impl Claims {
    /// Claims a place; the claim of an older Ingress stays, and is given back.
    pub(super) fn claim(&mut self, claim: Claim) -> Result<(), &Claim> {
        use std::collections::btree_map::Entry;
        match self.places.entry(claim.place.identity()) {
            Entry::Vacant(place) => {
                place.insert(claim);
                Ok(())
            }
            Entry::Occupied(place) => Err(place.into_mut()),
        }
    }

    /// Claims all places that nobody claims otherwise.
    pub(super) fn claim_rest(&mut self, claim: Claim) -> Result<(), &Claim> {
        if self.default.is_some() {
            return self.default.as_ref().map_or(Ok(()), Err);
        }
        self.default = Some(claim);
        Ok(())
    }

    /// Gives the host a certificate; an older Ingress's Secret stays, and is given back if it is another.
    pub(super) fn certify(&mut self, secret: &Key, files: &CertificateFiles) -> Result<(), &Key> {
        let (there, _) = self
            .certificate
            .get_or_insert_with(|| (secret.clone(), files.clone()));
        if there == secret { Ok(()) } else { Err(there) }
    }

    /// Says whether plain HTTP is redirected, unless an older Ingress has said so.
    pub(super) fn redirect(&mut self, redirect: Option<bool>) {
        self.redirect = self.redirect.or(redirect);
    }

    /// The route of the host. Where the document is refused, the Ingresses whose parts are wrong lose these, and the others
    /// are served on.
    pub(super) fn into_route(mut self, host: &HostName) -> (Route, Vec<Refused>) {
        self.settle();
        match HostDocument::check(self.document(host, |_| true)) {
            Ok(document) => return (Route::Document(Arc::new(document)), Vec::new()),
            Err(problems) => problems,
        };
        let mut refused = Vec::new();
        for owner in self.owners() {
            let alone = HostDocument::check(self.document(host, |claim| claim.owner == owner));
            if let Err(problems) = alone {
                self.close(&owner);
                let reason = problems.to_string();
                refused.push(Refused { owner, reason });
            }
        }
        let route = match HostDocument::check(self.document(host, |_| true)) {
            Ok(document) => Route::Document(Arc::new(document)),
            Err(problems) => Route::Held(Arc::new(Held {
                host: host.clone(),
                reason: problems.to_string(),
            })),
        };
        (route, refused)
    }

    /// The default takes the root if that is free, and what lacks its certificate is closed.
    fn settle(&mut self) {
        if let Some(default) = self.default.take() {
            self.places.entry(default.place.identity()).or_insert(default);
        }
        if self.certificate.is_none() {
            for claim in self.places.values_mut().filter(|claim| claim.wants_certificate) {
                claim.target = closed();
            }
        }
    }

    fn tls(&self) -> Option<RawTls> {
        let (_, files) = self.certificate.as_ref()?;
        Some(RawTls {
            certificate: files.certificate.to_string_lossy().into_owned(),
            key: files.key.to_string_lossy().into_owned(),
            redirect: self.redirect,
        })
    }

    fn owners(&self) -> Vec<Key> {
        let mut owners: Vec<_> = self.places.values().map(|claim| claim.owner.clone()).collect();
        owners.sort();
        owners.dedup();
        owners
    }

    fn close(&mut self, owner: &Key) {
        for claim in self.places.values_mut().filter(|claim| claim.owner == *owner) {
            claim.target = closed();
            claim.headers = None;
        }
    }

    fn document(&self, host: &HostName, accepts: impl Fn(&Claim) -> bool) -> Raw {
        let mut claims: Vec<_> = self.places.values().filter(|claim| accepts(claim)).collect();
        claims.sort_by(|one, other| one.place.order(&other.place));
        let mut rest = None;
        let mut paths = Vec::new();
        let mut seen = BTreeSet::new();
        for claim in claims {
            if claim.place.is_root() && claim.headers.is_none() {
                rest = Some(claim.target.clone());
                continue;
            }
            // The path itself may be that of an exact place, which comes first.
            let mut patterns = claim.place.patterns();
            patterns.retain(|pattern| seen.insert(pattern.to_lowercase()));
            paths.push(RawPath {
                patterns,
                headers: claim.headers.clone().map(Box::new),
                target: claim.target.clone(),
            });
        }
        Raw {
            schema_version: SCHEMA_VERSION,
            host: host.to_string(),
            tls: self.tls().map(Box::new),
            paths,
            target: rest.unwrap_or_else(not_found),
            ..Raw::default()
        }
    }
}

/// What no Ingress serves is not found.
fn not_found() -> RawTarget {
    RawTarget {
        handlers: vec![json!({ "handler": "static_response", "status_code": 404 })],
        ..RawTarget::default()
    }
}
