//! What is known of a cluster.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Which resource of its kind: its namespace (empty for those that have none) and its name.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Key {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The resources that routes are made of. Shown, it tells only how many there are, as Secrets are among them.
#[derive(Clone, Default)]
pub struct Cluster {
    /// What is served.
    pub ingresses: BTreeMap<Key, Ingress>,
    /// Who serves it.
    pub classes: BTreeMap<Key, IngressClass>,
    /// By which names pods are found.
    pub services: BTreeMap<Key, Service>,
    /// The addresses behind Services.
    pub slices: BTreeMap<Key, EndpointSlice>,
    /// Certificates, accounts and keys.
    pub secrets: BTreeMap<Key, Secret>,
}

/// The label by which an EndpointSlice belongs to a Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

// === impl Key ===

impl Key {
    /// A name in a namespace.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Of the resource that has this metadata.
    pub fn of(meta: &ObjectMeta) -> Self {
        Self::new(
            meta.namespace.clone().unwrap_or_default(),
            meta.name.clone().unwrap_or_default(),
        )
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return f.write_str(&self.name);
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

// === impl Cluster ===

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("ingresses", &self.ingresses.len())
            .field("classes", &self.classes.len())
            .field("services", &self.services.len())
            .field("slices", &self.slices.len())
            .field("secrets", &self.secrets.len())
            .finish()
    }
}

impl Cluster {
    /// The EndpointSlices of each Service, so that nobody searches them all for each path.
    pub(super) fn slices_by_service(&self) -> BTreeMap<Key, Vec<&EndpointSlice>> {
        let mut by_service: BTreeMap<Key, Vec<&EndpointSlice>> = BTreeMap::new();
        for slice in self.slices.values() {
            let labels = slice.metadata.labels.as_ref();
            if let Some(service) = labels.and_then(|labels| labels.get(SERVICE_NAME)) {
                let key = Key::new(slice.metadata.namespace.clone().unwrap_or_default(), service);
                by_service.entry(key).or_default().push(slice);
            }
        }
        by_service
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    #[test]
    fn a_cluster_that_is_shown_shows_no_secret() {
        let secret = Secret {
            data: Some([("hidden".to_owned(), ByteString(b"hidden".to_vec()))].into()),
            ..Secret::default()
        };
        let mut cluster = Cluster::default();
        cluster.secrets.insert(Key::new("shop", "a"), secret);
        let shown = format!("{cluster:?}");
        assert!(
            shown.contains("secrets: 1") && !shown.contains("hidden"),
            "{shown}"
        );
    }
}
