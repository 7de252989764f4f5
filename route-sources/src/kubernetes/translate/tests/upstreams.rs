//! Services and what is behind them.

use super::*;

fn upstreams(world: &World) -> Vec<String> {
    let document = document(&world.translate(), "a.test");
    addresses(&document.target)
        .into_iter()
        .map(str::to_owned)
        .collect()
}

fn at_web(world: World) -> World {
    world.ingress("a", 1, json!({}), one_rule("a.test", "web"))
}

#[test]
fn a_port_is_found_by_its_number_too() {
    let backend = json!({ "service": { "name": "web", "port": { "number": 80 } } });
    let paths = json!([{ "path": "/", "pathType": "Prefix", "backend": backend }]);
    let spec = json!({ "rules": [{ "host": "a.test", "http": { "paths": paths } }] });
    let world = world()
        .service("web", &["10.0.0.1"])
        .ingress("a", 1, json!({}), spec);
    assert_eq!(upstreams(&world), ["10.0.0.1:8080"]);
}

#[test]
fn addresses_of_both_families_and_all_slices_join_once() {
    let world = at_web(world().service("web", &["10.0.0.9", "10.0.0.1"]))
        .slice("web", "b", json!("IPv4"), json!([{ "addresses": ["10.0.0.1"] }]))
        .slice(
            "web",
            "c",
            json!("IPv6"),
            json!([{ "addresses": ["2001:db8::1"] }]),
        )
        .slice("web", "d", json!("FQDN"), json!([{ "addresses": ["pod.test"] }]));
    assert_eq!(
        upstreams(&world),
        ["10.0.0.1:8080", "10.0.0.9:8080", "[2001:db8::1]:8080"]
    );
}

#[test]
fn only_ready_endpoints_count_and_those_that_end_are_the_last_resort() {
    let ready = json!({ "addresses": ["10.0.0.1"], "conditions": { "ready": true } });
    let unready = json!({ "addresses": ["10.0.0.2"], "conditions": { "ready": false, "serving": false } });
    let ending = json!({
        "addresses": ["10.0.0.3"], "conditions": { "ready": false, "serving": true, "terminating": true },
    });
    let world = at_web(world().service("web", &[]));
    let world = world.slice("web", "a", json!("IPv4"), json!([ready, unready, ending]));
    assert_eq!(upstreams(&world), ["10.0.0.1:8080"]);
    let world = world.slice("web", "a", json!("IPv4"), json!([unready, ending]));
    assert_eq!(upstreams(&world), ["10.0.0.3:8080"]);
    let world = world.slice("web", "a", json!("IPv4"), json!([unready]));
    assert!(upstreams(&world).is_empty());
}

#[test]
fn a_service_without_endpoints_keeps_its_route_and_is_no_mistake() {
    let translation = at_web(world().service("web", &[])).translate();
    assert!(is_closed(&document(&translation, "a.test").target));
    assert!(translation.invalid.is_empty());
}

#[test]
fn what_is_missing_is_reported_and_keeps_its_route() {
    let translation = at_web(world()).translate();
    assert!(is_closed(&document(&translation, "a.test").target));
    assert_eq!(
        reasons(&translation),
        ["a.test ingress shop/a path `/`: there is no Service shop/web; it is answered with 503"]
    );
    let mut world = at_web(world().service("web", &["10.0.0.1"]));
    for service in world.cluster.services.values_mut() {
        service.spec.as_mut().unwrap().ports.as_mut().unwrap()[0].name = Some("other".to_owned());
    }
    let translation = world.translate();
    assert!(is_closed(&document(&translation, "a.test").target));
    assert!(reasons(&translation)[0].contains("the Service shop/web has no port web"));
}

#[test]
fn a_backend_that_is_no_service_is_reported() {
    let backend = json!({ "resource": { "kind": "Bucket", "name": "b" } });
    let paths = json!([{ "path": "/", "pathType": "Prefix", "backend": backend }]);
    let world = world().ingress(
        "a",
        1,
        json!({}),
        json!({ "rules": [{ "host": "a.test", "http": { "paths": paths } }] }),
    );
    let translation = world.translate();
    assert!(is_closed(&document(&translation, "a.test").target));
    assert!(reasons(&translation)[0].contains("a backend must be a Service"));
}

fn external(name: &str) -> World {
    let mut world = at_web(world().service("web", &[]));
    let service = world.cluster.services.values_mut().next().unwrap();
    let spec = service.spec.as_mut().unwrap();
    spec.type_ = Some("ExternalName".to_owned());
    spec.external_name = Some(name.to_owned());
    world.settings.external_names = true;
    world
}

#[test]
fn an_external_name_is_an_upstream_only_if_that_is_allowed() {
    let mut world = external("api.example.com.");
    assert_eq!(upstreams(&world), ["api.example.com:80"]);
    world.settings.external_names = Settings::new(Access::InCluster, "/nowhere", "one").external_names;
    let translation = world.translate();
    assert!(is_closed(&document(&translation, "a.test").target));
    assert!(reasons(&translation)[0].contains("does not allow"));
}

#[test]
fn an_external_name_cannot_mean_this_machine() {
    for name in [
        "localhost",
        "x.localhost",
        "127.0.0.1",
        "::1",
        "169.254.169.254",
        "*.test",
        "a b",
        "",
    ] {
        let translation = external(name).translate();
        assert!(is_closed(&document(&translation, "a.test").target), "{name}");
        assert_eq!(translation.invalid.len(), 1, "{name}");
    }
    assert_eq!(upstreams(&external("192.0.2.1")), ["192.0.2.1:80"]);
}

#[test]
fn an_endpoint_cannot_be_this_machine() {
    let addresses = ["127.0.0.1", "0.0.0.0", "169.254.169.254", "not one", "10.0.0.1"];
    assert_eq!(
        upstreams(&at_web(world().service("web", &addresses))),
        ["10.0.0.1:8080"]
    );
}
