//! Which Ingresses are ours.

use k8s_openapi::api::networking::v1::Ingress;

use super::cluster::Cluster;
use super::settings::Settings;

/// How the class was named before there was a field for it.
const LEGACY: &str = "kubernetes.io/ingress.class";

/// Marks the class of Ingresses that name none.
const IS_DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";

/// Whether an Ingress is of our class. The field counts before the annotation, and both before the cluster's default.
pub(super) fn is_ours(ingress: &Ingress, cluster: &Cluster, settings: &Settings) -> bool {
    let named = ingress
        .spec
        .as_ref()
        .and_then(|spec| spec.ingress_class_name.as_ref());
    let annotations = ingress.metadata.annotations.as_ref();
    let legacy = annotations.and_then(|annotations| annotations.get(LEGACY));
    match named.or(legacy) {
        Some(class) => *class == settings.class,
        None => is_default(cluster, settings),
    }
}

/// Whether Ingresses without a class are ours.
fn is_default(cluster: &Cluster, settings: &Settings) -> bool {
    cluster.classes.values().any(|class| {
        let annotations = class.metadata.annotations.as_ref();
        let marked = annotations
            .and_then(|annotations| annotations.get(IS_DEFAULT))
            .is_some_and(|value| value == "true");
        let spec = class.spec.as_ref();
        let controller = spec.and_then(|spec| spec.controller.as_ref());
        marked
            && controller == Some(&settings.controller)
            && class.metadata.name.as_ref() == Some(&settings.class)
    })
}
