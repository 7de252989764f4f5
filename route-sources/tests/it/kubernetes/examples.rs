//! What `examples/kubernetes` shows.

use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::api::rbac::v1::{ClusterRole, Role};
use serde::de::DeserializeOwned;

use super::*;

/// The documents of a file that are of a kind.
fn read<T: DeserializeOwned>(text: &str, kind: &str) -> Vec<T> {
    let documents = text.split("\n---\n");
    let values = documents.map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    let of_kind = values.filter(|value| value["kind"] == kind);
    of_kind
        .map(|value| serde_json::from_value(value).unwrap())
        .collect()
}

#[tokio::test]
async fn the_ingresses_to_copy_from_are_served_without_a_complaint() {
    let text = include_str!("../../../../examples/kubernetes/shop.yaml");
    let api = Api::start().await;
    for (plural, kind) in [("ingresses", "Ingress"), ("services", "Service")] {
        for object in read::<Value>(text, kind) {
            api.put(plural, object);
        }
    }
    let pem = |text: &str| k8s_openapi::ByteString(text.as_bytes().to_vec());
    let (certificate, key) = (pem(include_str!("pem/a.crt")), pem(include_str!("pem/a.key")));
    let auth = pem("anna:$2y$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG");
    for (name, kind, data) in [
        (
            "shop-cert",
            "kubernetes.io/tls",
            json!({ "tls.crt": certificate, "tls.key": key }),
        ),
        ("staff", "Opaque", json!({ "auth": auth })),
        (
            "board-key",
            "Opaque",
            json!({ "secret": pem("MDEyMzQ1Njc4OWFiY2RlZg==") }),
        ),
    ] {
        let meta = json!({ "namespace": "shop", "name": name });
        api.put("secrets", json!({ "metadata": meta, "type": kind, "data": data }));
    }
    let mut running = run(settings(&api));
    let snapshot = running.complete().await;
    assert!(snapshot.invalid.is_empty(), "{:?}", snapshot.invalid);
    assert_eq!(hosts(&snapshot), ["board.example.com", "shop.example.com"]);
    let board = document(&snapshot, "board.example.com").unwrap();
    assert_eq!(board.raw().target.handlers[0]["handler"], "doors_handler");
    let shop = document(&snapshot, "shop.example.com").unwrap();
    assert_eq!(
        shop.raw().paths[0].target.handlers[0]["handler"],
        "authentication"
    );
    assert_eq!(read::<Ingress>(text, "Ingress").len(), 3);
}

#[tokio::test]
async fn the_rights_are_those_that_are_used_and_no_others() {
    let text = include_str!("../../../../examples/kubernetes/rbac.yaml");
    let mut given = Vec::new();
    for role in read::<ClusterRole>(text, "ClusterRole") {
        given.extend(role.rules.into_iter().flatten());
    }
    for role in read::<Role>(text, "Role") {
        given.extend(role.rules.into_iter().flatten());
    }
    let given: std::collections::BTreeSet<(String, String)> = given
        .iter()
        .flat_map(|rule| {
            rule.resources
                .iter()
                .flatten()
                .map(move |resource| (resource, &rule.verbs))
        })
        .flat_map(|(resource, verbs)| verbs.iter().map(move |verb| (resource.clone(), verb.clone())))
        .collect();

    // Everything that a source does, on a cluster where it has to do all of it.
    let api = api().await;
    let mut service = service();
    service["metadata"]["name"] = json!("doorway");
    service["spec"]["externalIPs"] = json!(["192.0.2.1"]);
    api.put("services", service);
    let mut younger = ingress("b");
    younger["metadata"]["uid"] = json!("the-uid");
    younger["metadata"]["creationTimestamp"] = json!("2026-02-01T00:00:00Z");
    younger["spec"]["rules"][0]["host"] = json!("a.test");
    api.put("ingresses", younger);
    let mut running = run(Settings {
        publish_service: Some("shop/doorway".to_owned()),
        ..settings(&api)
    });
    running.complete().await;
    api.until("status and an Event", |state| {
        state.count("PATCH", "/status") == 2 && state.count("POST", "/events") == 1
    })
    .await;
    running.stop().await;
    let used = api.change(|state| {
        let used = state.asked.iter().map(|asked| {
            let is_one = asked
                .path
                .split('/')
                .any(|part| part == "doorway-status" || part == "a" || part == "b");
            let verb = match asked.method.as_str() {
                "GET" if asked.query.contains_key("watch") => "watch",
                "GET" if is_one => "get",
                "GET" => "list",
                "POST" => "create",
                "PUT" => "update",
                "PATCH" => "patch",
                other => other,
            };
            let known = [
                "ingressclasses",
                "endpointslices",
                "services",
                "secrets",
                "leases",
                "events",
            ];
            let kind = known.iter().find(|kind| asked.path.contains(*kind));
            let kind = match kind {
                Some(kind) => (*kind).to_owned(),
                None if asked.path.ends_with("/status") => "ingresses/status".to_owned(),
                None => "ingresses".to_owned(),
            };
            (kind, verb.to_owned())
        });
        used.collect::<std::collections::BTreeSet<_>>()
    });
    assert_eq!(used, given);
}
