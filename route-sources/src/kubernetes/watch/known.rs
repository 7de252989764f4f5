//! What the watches have told so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Change, Failure, Object, Told};
use crate::kubernetes::cluster::{Cluster, Key};
use crate::snapshot::Invalid;

/// What is watched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::kubernetes) enum Kind {
    Ingresses,
    Classes,
    Services,
    Slices,
    Secrets,
}

/// One watch: a kind, in one namespace or in all.
#[derive(Debug)]
pub(in crate::kubernetes) struct Part {
    pub(super) kind: Kind,
    pub(super) namespace: Option<String>,
    filling: Option<Cluster>,
    is_listed: bool,
    failure: Option<Failure>,
}

/// Everything that is known.
#[derive(Debug)]
pub(in crate::kubernetes) struct Known {
    /// A thread may look at it while nothing is heard.
    pub(in crate::kubernetes) cluster: Arc<Cluster>,
    parts: Vec<Part>,
}

// === impl Kind ===

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ingresses => "ingresses",
            Self::Classes => "ingressclasses",
            Self::Services => "services",
            Self::Slices => "endpointslices",
            Self::Secrets => "secrets",
        }
    }

    /// Whether nothing can be served without it.
    fn is_needed(self) -> bool {
        !matches!(self, Self::Classes | Self::Secrets)
    }
}

// === impl Part ===

impl Part {
    pub(super) fn new(kind: Kind, namespace: Option<String>) -> Self {
        Self {
            kind,
            namespace,
            filling: None,
            is_listed: false,
            failure: None,
        }
    }

    fn shown(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{} in {namespace}", self.kind.as_str()),
            None => self.kind.as_str().to_owned(),
        }
    }

    /// Whether routes need not wait for it.
    fn is_settled(&self) -> bool {
        let is_forbidden = self.failure.as_ref().is_some_and(Failure::is_forbidden);
        self.is_listed || is_forbidden && !self.kind.is_needed()
    }
}

// === impl Known ===

impl Known {
    pub(in crate::kubernetes) fn new(parts: Vec<Part>) -> Self {
        Self {
            cluster: Arc::default(),
            parts,
        }
    }

    pub(in crate::kubernetes) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Takes in what a watch has told. Says whether anything may be other for it.
    pub(in crate::kubernetes) fn hear(&mut self, told: Told) -> bool {
        let Some(part) = self.parts.get_mut(told.part) else {
            return false;
        };
        match told.what {
            Ok(Change::Begin) => {
                part.filling = Some(Cluster::default());
                false
            }
            Ok(Change::Listed(object)) => {
                if let Some(filling) = &mut part.filling {
                    object.put(filling);
                }
                false
            }
            Ok(Change::Complete) => {
                if let Some(filled) = part.filling.take() {
                    part.is_listed = true;
                    part.failure = None;
                    replace(
                        Arc::make_mut(&mut self.cluster),
                        part.kind,
                        part.namespace.as_deref(),
                        filled,
                    );
                }
                true
            }
            Ok(Change::Put(object)) => {
                object.put(Arc::make_mut(&mut self.cluster));
                true
            }
            Ok(Change::Gone(object)) => {
                object.remove(Arc::make_mut(&mut self.cluster));
                true
            }
            Err(failure) => {
                part.filling = None;
                if failure.is_usual() && part.is_listed {
                    return false;
                }
                let is_new = part.failure.as_ref() != Some(&failure);
                part.failure = Some(failure);
                is_new
            }
        }
    }

    /// Whether every list is in that routes need.
    pub(in crate::kubernetes) fn is_complete(&self) -> bool {
        self.parts.iter().all(Part::is_settled)
    }

    /// Why what is known is not the newest.
    pub(in crate::kubernetes) fn stale(&self) -> Option<String> {
        let failed: Vec<_> = self
            .parts
            .iter()
            .filter(|part| part.is_listed || !part.is_settled())
            .filter_map(|part| Some((part.shown(), part.failure.as_ref()?)))
            .map(|(shown, failure)| format!("{shown}: {}", failure.reason))
            .collect();
        (!failed.is_empty()).then(|| format!("the API of Kubernetes fails for {}", failed.join(", ")))
    }

    /// The rights that are missing.
    pub(in crate::kubernetes) fn missing_rights(&self) -> Vec<Invalid> {
        let forbidden = self.parts.iter().filter(|part| {
            let failure = part.failure.as_ref();
            failure.is_some_and(Failure::is_forbidden)
        });
        forbidden
            .map(|part| Invalid {
                host: None,
                place: format!("kubernetes {}", part.shown()),
                reason: "the service account may not list and watch them; give it that right".to_owned(),
                kept: part.is_listed,
            })
            .collect()
    }
}

// === impl Object ===

impl Object {
    fn put(self, cluster: &mut Cluster) {
        match self {
            Self::Ingress(object) => drop(cluster.ingresses.insert(Key::of(&object.metadata), *object)),
            Self::Class(object) => drop(cluster.classes.insert(Key::of(&object.metadata), *object)),
            Self::Service(object) => drop(cluster.services.insert(Key::of(&object.metadata), *object)),
            Self::Slice(object) => drop(cluster.slices.insert(Key::of(&object.metadata), *object)),
            Self::Secret(object) => drop(cluster.secrets.insert(Key::of(&object.metadata), *object)),
        }
    }

    fn remove(&self, cluster: &mut Cluster) {
        match self {
            Self::Ingress(object) => drop(cluster.ingresses.remove(&Key::of(&object.metadata))),
            Self::Class(object) => drop(cluster.classes.remove(&Key::of(&object.metadata))),
            Self::Service(object) => drop(cluster.services.remove(&Key::of(&object.metadata))),
            Self::Slice(object) => drop(cluster.slices.remove(&Key::of(&object.metadata))),
            Self::Secret(object) => drop(cluster.secrets.remove(&Key::of(&object.metadata))),
        }
    }
}

fn replace(cluster: &mut Cluster, kind: Kind, namespace: Option<&str>, filled: Cluster) {
    match kind {
        Kind::Ingresses => replace_in(&mut cluster.ingresses, namespace, filled.ingresses),
        Kind::Classes => replace_in(&mut cluster.classes, namespace, filled.classes),
        Kind::Services => replace_in(&mut cluster.services, namespace, filled.services),
        Kind::Slices => replace_in(&mut cluster.slices, namespace, filled.slices),
        Kind::Secrets => replace_in(&mut cluster.secrets, namespace, filled.secrets),
    }
}

fn replace_in<T>(there: &mut BTreeMap<Key, T>, namespace: Option<&str>, filled: BTreeMap<Key, T>) {
    there.retain(|key, _| namespace.is_some_and(|namespace| key.namespace != namespace));
    there.extend(filled);
}

#[cfg(test)]
mod tests;
