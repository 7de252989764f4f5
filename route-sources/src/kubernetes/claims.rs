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
use super::settings::Check;
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
    /// Who claims something, the oldest first.
    owners: Vec<Key>,
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
        self.note(&claim.owner);
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
        self.note(&claim.owner);
        if self.default.is_some() {
            return self.default.as_ref().map_or(Ok(()), Err);
        }
        self.default = Some(claim);
        Ok(())
    }

    /// Whether Ingresses of this namespace may say what concerns all of the host: the oldest one is of it too.
    pub(super) fn is_home(&self, namespace: &str) -> bool {
        self.owners
            .first()
            .is_none_or(|oldest| oldest.namespace == namespace)
    }

    /// Whether there is a certificate.
    pub(super) fn is_certified(&self) -> bool {
        self.certificate.is_some()
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

    fn note(&mut self, owner: &Key) {
        if self.owners.last() != Some(owner) {
            self.owners.push(owner.clone());
        }
    }

    /// The route of the host. Where the document is refused, the Ingresses whose parts are wrong lose these, and the others
    /// are served on. Where it is only too much together, those of other namespaces than the oldest one's lose theirs, the
    /// youngest first: nobody can take a host from its owner by claiming very much of it.
    pub(super) fn into_route(mut self, host: &HostName, check: &Check) -> (Route, Vec<Refused>) {
        self.settle();
        if let Ok(document) = self.judge(host, check, |_| true) {
            return (Route::Document(Arc::new(document)), Vec::new());
        }
        let mut refused = Vec::new();
        for owner in self.winners() {
            if let Err(reason) = self.judge(host, check, |claim| claim.owner == owner) {
                self.close(&owner);
                refused.push(Refused { owner, reason });
            }
        }
        let reason = loop {
            let reason = match self.judge(host, check, |_| true) {
                Ok(document) => return (Route::Document(Arc::new(document)), refused),
                Err(reason) => reason,
            };
            let Some(owner) = self.drop_youngest_stranger() else {
                break reason;
            };
            let reason = format!("with what older Ingresses have there: {reason}");
            refused.push(Refused { owner, reason });
        };
        let host = host.clone();
        (Route::Held(Arc::new(Held { host, reason })), refused)
    }

    /// The document of some claims. Whether the proxy can serve it is asked where it matters to others: if it cannot, the host
    /// stays as it was, which is for its owner to know, but none of a stranger's business.
    fn judge(
        &self,
        host: &HostName,
        check: &Check,
        accepts: impl Fn(&Claim) -> bool,
    ) -> Result<HostDocument, String> {
        let checked = HostDocument::check(self.document(host, accepts));
        let document = checked.map_err(|problems| problems.to_string())?;
        let mut namespaces = self.owners.iter().map(|owner| &owner.namespace);
        let home = namespaces.next();
        if namespaces.any(|namespace| Some(namespace) != home) {
            check.ask(&document)?;
        }
        Ok(document)
    }

    /// Drops what the youngest Ingress claims of those in other namespaces than the oldest one's, and says whose it was.
    fn drop_youngest_stranger(&mut self) -> Option<Key> {
        let home = self.owners.first()?.namespace.clone();
        let at = self.owners.iter().rposition(|owner| owner.namespace != home)?;
        let owner = self.owners.remove(at);
        self.places.retain(|_, claim| claim.owner != owner);
        Some(owner)
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

    /// The Ingresses that have got something.
    fn winners(&self) -> Vec<Key> {
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
            // Small letters may be longer than large ones, so a prefix can be before the exact place that is its own path.
            if patterns.is_empty() {
                continue;
            }
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
