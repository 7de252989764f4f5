//! Tests of the translation.
#![expect(clippy::needless_pass_by_value, reason = "JSON is written where it is used")]

mod doors;
mod refused;
mod secrets;
mod strangers;
mod upstreams;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use route_store::document::{Raw, RawTarget};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::kubernetes::files::{Certificate, CertificateFiles};
use crate::kubernetes::settings::Access;

/// A cluster under construction.
struct World {
    cluster: Cluster,
    certificates: Certificates,
    settings: Settings,
}

fn world() -> World {
    World {
        cluster: Cluster::default(),
        certificates: Certificates::new(),
        settings: Settings::new(Access::InCluster, "/nowhere", "one"),
    }
}

fn made<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn key(meta: &ObjectMeta) -> Key {
    Key::of(meta)
}

impl World {
    /// An Ingress of our class; `age` counts seconds back.
    fn ingress(mut self, name: &str, age: u64, annotations: Value, spec: Value) -> Self {
        let mut spec = spec;
        if spec.get("ingressClassName").is_none() {
            spec["ingressClassName"] = json!("doorway");
        }
        let ingress: Ingress = made(json!({
            "metadata": {
                "namespace": "shop", "name": name, "annotations": annotations,
                "creationTimestamp": format!("2026-01-01T00:{:02}:{:02}Z", 59 - age / 60, 59 - age % 60),
            },
            "spec": spec,
        }));
        self.cluster.ingresses.insert(key(&ingress.metadata), ingress);
        self
    }

    /// A Service with one port, 80, and pods that listen on 8080.
    fn service(mut self, name: &str, pods: &[&str]) -> Self {
        let service: k8s_openapi::api::core::v1::Service = made(json!({
            "metadata": { "namespace": "shop", "name": name },
            "spec": { "clusterIP": "10.96.0.1", "ports": [{ "name": "web", "port": 80, "targetPort": 8080 }] },
        }));
        self.cluster.services.insert(key(&service.metadata), service);
        let endpoints: Vec<_> = pods.iter().map(|pod| json!({ "addresses": [pod] })).collect();
        self.slice(name, "a", json!("IPv4"), json!(endpoints))
    }

    fn slice(mut self, service: &str, name: &str, family: Value, endpoints: Value) -> Self {
        let slice: k8s_openapi::api::discovery::v1::EndpointSlice = made(json!({
            "metadata": {
                "namespace": "shop", "name": format!("{service}-{name}"),
                "labels": { "kubernetes.io/service-name": service },
            },
            "addressType": family, "endpoints": endpoints, "ports": [{ "name": "web", "port": 8080 }],
        }));
        self.cluster.slices.insert(key(&slice.metadata), slice);
        self
    }

    fn secret(mut self, name: &str, data: &[(&str, &str)]) -> Self {
        let mut secret = k8s_openapi::api::core::v1::Secret {
            metadata: made(json!({ "namespace": "shop", "name": name })),
            ..Default::default()
        };
        let bytes = |text: &str| k8s_openapi::ByteString(text.as_bytes().to_vec());
        let data = data.iter().map(|(name, text)| ((*name).to_owned(), bytes(text)));
        secret.data = Some(data.collect());
        self.cluster.secrets.insert(key(&secret.metadata), secret);
        self
    }

    fn certificate(mut self, name: &str, files: bool, problem: Option<&str>) -> Self {
        let certificate = Certificate {
            files: files.then(|| CertificateFiles {
                certificate: format!("/certs/{name}.crt").into(),
                key: format!("/certs/{name}.key").into(),
            }),
            problem: problem.map(str::to_owned),
        };
        self.certificates.insert(Key::new("shop", name), certificate);
        self
    }

    fn translate(&self) -> Translation {
        translate(&self.cluster, &self.certificates, &self.settings)
    }
}

fn rule(host: &str, paths: &[(&str, &str, &str)]) -> Value {
    let paths: Vec<_> = paths
        .iter()
        .map(|(kind, path, service)| {
            let backend = json!({ "service": { "name": service, "port": { "name": "web" } } });
            json!({ "path": path, "pathType": kind, "backend": backend })
        })
        .collect();
    json!({ "host": host, "http": { "paths": paths } })
}

fn one_rule(host: &str, service: &str) -> Value {
    json!({ "rules": [rule(host, &[("Prefix", "/", service)])] })
}

/// The document of a host.
#[track_caller]
fn document(translation: &Translation, host: &str) -> Raw {
    let route = translation
        .routes
        .iter()
        .find(|route| route.host().as_str() == host);
    match route {
        Some(Route::Document(document)) => document.raw().clone(),
        other => panic!("{host}: {other:?}"),
    }
}

fn addresses(target: &RawTarget) -> Vec<&str> {
    let upstreams = target.upstreams.as_ref().unwrap();
    upstreams
        .iter()
        .map(|upstream| upstream.address.as_str())
        .collect()
}

fn is_closed(target: &RawTarget) -> bool {
    *target == closed()
}

/// Patterns with the first address behind them, `-` for none.
fn table(document: &Raw) -> Vec<(String, String)> {
    let first = |target: &RawTarget| {
        let all = target.upstreams.iter().flatten();
        all.map(|upstream| upstream.address.clone())
            .next()
            .unwrap_or_else(|| "-".to_owned())
    };
    let paths = document
        .paths
        .iter()
        .map(|path| (path.patterns.join(" "), first(&path.target)));
    paths.chain([("*".to_owned(), first(&document.target))]).collect()
}

#[track_caller]
fn reasons(translation: &Translation) -> Vec<String> {
    let shown = translation.invalid.iter().map(|one| {
        let host = one.host.as_deref().unwrap_or("-");
        format!("{host} {} {}", one.place, one.reason)
    });
    shown.collect()
}

#[test]
fn an_ingress_becomes_a_document_of_its_host() {
    let world = world().service("web", &["10.0.0.2", "10.0.0.1"]).ingress(
        "a",
        1,
        json!({}),
        one_rule("A.test", "web"),
    );
    let translation = world.translate();
    let document = document(&translation, "a.test");
    assert_eq!(addresses(&document.target), ["10.0.0.1:8080", "10.0.0.2:8080"]);
    assert!(document.paths.is_empty() && document.tls.is_none());
    assert!(translation.invalid.is_empty(), "{:?}", translation.invalid);
    assert_eq!(translation.ours, [Key::new("shop", "a")]);
}

#[test]
fn only_ingresses_of_our_class_count() {
    let class = |name: &str| json!({ "ingressClassName": name, "rules": [rule("a.test", &[("Prefix", "/", "web")])] });
    let world = world()
        .service("web", &["10.0.0.1"])
        .ingress("a", 1, json!({}), class("nginx"));
    assert!(world.translate().routes.is_empty());
    let legacy = json!({ "kubernetes.io/ingress.class": "doorway" });
    let mut world = world.ingress("b", 1, legacy, one_rule("b.test", "web"));
    let spec = world.cluster.ingresses.get_mut(&Key::new("shop", "b")).unwrap();
    spec.spec.as_mut().unwrap().ingress_class_name = None;
    assert_eq!(world.translate().ours, [Key::new("shop", "b")]);
    let both = json!({ "kubernetes.io/ingress.class": "doorway" });
    let world = world.ingress("c", 1, both, class("nginx"));
    assert_eq!(
        world.translate().ours.len(),
        1,
        "the field counts before the annotation"
    );
}

#[test]
fn an_ingress_without_a_class_is_ours_if_our_class_is_the_default() {
    let mut world = world().ingress("a", 1, json!({}), one_rule("a.test", "web"));
    let ingress = world.cluster.ingresses.values_mut().next().unwrap();
    ingress.spec.as_mut().unwrap().ingress_class_name = None;
    assert!(world.translate().ours.is_empty());
    for (controller, name, marked, ours) in [
        ("doorway/ingress", "doorway", "true", 1),
        ("other/ingress", "doorway", "true", 0),
        ("doorway/ingress", "inner", "true", 0),
        ("doorway/ingress", "doorway", "false", 0),
    ] {
        let class: k8s_openapi::api::networking::v1::IngressClass = made(json!({
            "metadata": { "name": name, "annotations": { "ingressclass.kubernetes.io/is-default-class": marked } },
            "spec": { "controller": controller },
        }));
        world.cluster.classes = [(key(&class.metadata), class)].into();
        assert_eq!(world.translate().ours.len(), ours, "{controller} {name} {marked}");
    }
}

#[test]
fn rules_of_all_ingresses_of_a_host_join_and_the_oldest_wins_a_path() {
    let world = world()
        .service("old", &["10.0.0.1"])
        .service("new", &["10.0.0.2"])
        .ingress(
            "b-old",
            50,
            json!({}),
            json!({ "rules": [rule("a.test", &[("Prefix", "/x", "old")])] }),
        )
        .ingress(
            "a-new",
            10,
            json!({}),
            json!({ "rules": [rule("a.test", &[("Prefix", "/X/", "new"), ("Prefix", "/y", "new")])] }),
        );
    let translation = world.translate();
    assert_eq!(
        table(&document(&translation, "a.test")),
        [
            ("/x /x/*".to_owned(), "10.0.0.1:8080".to_owned()),
            ("/y /y/*".to_owned(), "10.0.0.2:8080".to_owned()),
            ("*".to_owned(), "-".to_owned()),
        ]
    );
    assert_eq!(
        reasons(&translation),
        ["a.test ingress shop/a-new path `/X` is already served by the older Ingress shop/b-old"]
    );
    assert!(translation.invalid[0].kept);
}

#[test]
fn of_two_as_old_the_first_by_name_wins() {
    let world = world()
        .service("web", &["10.0.0.1"])
        .service("other", &["10.0.0.2"])
        .ingress("b", 5, json!({}), one_rule("a.test", "web"))
        .ingress("a", 5, json!({}), one_rule("a.test", "other"));
    assert_eq!(
        addresses(&document(&world.translate(), "a.test").target),
        ["10.0.0.2:8080"]
    );
}

#[test]
fn the_longest_path_comes_first_and_what_nobody_serves_is_not_found() {
    let paths = [
        ("Prefix", "/a", "web"),
        ("Exact", "/a", "web"),
        ("ImplementationSpecific", "/a/b", "web"),
    ];
    let world = world().service("web", &["10.0.0.1"]).ingress(
        "a",
        1,
        json!({}),
        json!({ "rules": [rule("a.test", &paths)] }),
    );
    let document = document(&world.translate(), "a.test");
    let patterns: Vec<_> = document
        .paths
        .iter()
        .map(|path| path.patterns.join(" "))
        .collect();
    assert_eq!(patterns, ["/a/b /a/b/*", "/a", "/a/*"]);
    assert_eq!(document.target.handlers[0]["status_code"], 404);
}

#[test]
fn a_wildcard_host_is_a_host_of_its_own() {
    let world = world()
        .service("web", &["10.0.0.1"])
        .ingress("a", 1, json!({}), one_rule("*.a.test", "web"));
    assert!(!is_closed(&document(&world.translate(), "*.a.test").target));
}

#[test]
fn a_rule_without_a_host_needs_a_setting() {
    let rules = json!({ "rules": [{ "http": rule("", &[("Prefix", "/", "web")])["http"] }] });
    let mut world = world()
        .service("web", &["10.0.0.1"])
        .ingress("a", 1, json!({}), rules);
    let translation = world.translate();
    assert!(translation.routes.is_empty());
    assert!(reasons(&translation)[0].contains("a rule without a host needs a setting"));
    world.settings.default_host = Some("any.test".parse().unwrap());
    assert_eq!(
        addresses(&document(&world.translate(), "any.test").target),
        ["10.0.0.1:8080"]
    );
}

#[test]
fn a_default_backend_serves_what_no_rule_of_its_hosts_is_for() {
    let backend = json!({ "service": { "name": "rest", "port": { "number": 80 } } });
    let spec = json!({ "defaultBackend": backend, "rules": [rule("a.test", &[("Prefix", "/x", "web")])] });
    let world = world()
        .service("web", &["10.0.0.1"])
        .service("rest", &["10.0.0.9"])
        .ingress("a", 9, json!({}), spec);
    assert_eq!(
        table(&document(&world.translate(), "a.test"))[1].1,
        "10.0.0.9:8080"
    );
    let world = world.ingress("b", 1, json!({}), one_rule("a.test", "web"));
    assert_eq!(
        table(&document(&world.translate(), "a.test"))[1].1,
        "10.0.0.1:8080",
        "a rule counts before a default"
    );
}

#[test]
fn an_ingress_with_only_a_default_backend_needs_a_setting() {
    let backend = json!({ "service": { "name": "web", "port": { "number": 80 } } });
    let mut world = world().service("web", &["10.0.0.1"]).ingress(
        "a",
        1,
        json!({}),
        json!({ "defaultBackend": backend }),
    );
    assert!(reasons(&world.translate())[0].contains("names its host"));
    world.settings.default_host = Some("any.test".parse().unwrap());
    assert_eq!(
        addresses(&document(&world.translate(), "any.test").target),
        ["10.0.0.1:8080"]
    );
}

#[test]
fn a_document_that_is_refused_costs_only_the_ingress_that_is_wrong() {
    let annotations = json!({ "doorway.dev/response-headers": r#"{"set":{"no name":"a"}}"# });
    let spec = json!({ "rules": [rule("a.test", &[("Prefix", "/x", "web")])] });
    let world = world()
        .service("web", &["10.0.0.1"])
        .ingress("good", 9, json!({}), one_rule("a.test", "web"))
        .ingress("wrong", 1, annotations, spec);
    let translation = world.translate();
    let document = document(&translation, "a.test");
    assert!(is_closed(&document.paths[0].target));
    assert_eq!(addresses(&document.target), ["10.0.0.1:8080"]);
    assert!(reasons(&translation)[0].starts_with("a.test ingress shop/wrong"));
}

#[test]
fn a_host_that_cannot_be_a_document_is_held_and_goes_to_no_other_source() {
    let mut world = world().service("web", &["10.0.0.1"]);
    for number in 0..4 {
        let path = |path| format!("/{number}/{path}");
        let paths: Vec<_> = (0..150).map(path).collect();
        let paths: Vec<_> = paths
            .iter()
            .map(|path| ("Prefix", path.as_str(), "web"))
            .collect();
        let spec = json!({ "rules": [rule("a.test", &paths)] });
        world = world.ingress(&format!("many-{number}"), 9, json!({}), spec);
    }
    let translation = world.translate();
    assert!(matches!(&translation.routes[..], [Route::Held(_)]));
    assert_eq!(translation.invalid.len(), 1);
}

#[test]
fn more_addresses_than_a_document_can_have_are_left_out() {
    let pods: Vec<_> = (0..1100)
        .map(|number| format!("10.0.{}.{}", number / 250, number % 250))
        .collect();
    let pods: Vec<_> = pods.iter().map(String::as_str).collect();
    let world = world()
        .service("web", &pods)
        .ingress("a", 1, json!({}), one_rule("a.test", "web"));
    let translation = world.translate();
    assert_eq!(
        addresses(&document(&translation, "a.test").target).len(),
        MAX_UPSTREAMS
    );
    assert!(reasons(&translation)[0].contains("the others are left out"));
}

#[test]
fn annotations_reach_the_document() {
    let annotations = json!({
        "doorway.dev/load-balancing": "least_conn",
        "doorway.dev/redirect": "false",
        "doorway.dev/response-headers": r#"{"remove":["Server"]}"#,
        "doorway.dev/handlers": r#"[{"handler":"rewrite","strip_path_prefix":"/x"}]"#,
    });
    let mut spec = one_rule("a.test", "web");
    spec["tls"] = json!([{ "secretName": "cert" }]);
    let mut world = world()
        .service("web", &["10.0.0.1"])
        .certificate("cert", true, None)
        .ingress("a", 1, annotations, spec);
    world.settings.allow_handlers = true;
    let document = document(&world.translate(), "a.test");
    let path = &document.paths[0];
    assert_eq!(path.patterns, ["/*"]);
    assert_eq!(path.target.load_balancing.as_deref(), Some("least_conn"));
    assert_eq!(path.target.handlers[0]["handler"], "rewrite");
    assert_eq!(
        path.headers.as_ref().unwrap().response.as_ref().unwrap().remove,
        ["Server"]
    );
    assert_eq!(document.tls.unwrap().redirect, Some(false));
}
