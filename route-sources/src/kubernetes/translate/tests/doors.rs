//! Doors apps.

use super::*;

const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZg==";

fn app(annotations: &[(&str, &str)], paths: &[(&str, &str, &str)]) -> World {
    let mut given = json!({ "doorway.dev/doors-secret": "app" });
    for (name, value) in annotations {
        given[format!("doorway.dev/{name}")] = json!(value);
    }
    let mut world = world()
        .service("web", &["10.0.0.1"])
        .service("other", &["10.1.0.1"])
        .secret("app", &[("secret", KEY)])
        .ingress("a", 1, given, json!({ "rules": [rule("a.test", paths)] }));
    for service in world.cluster.services.values_mut() {
        service.spec.as_mut().unwrap().cluster_ip = Some("None".to_owned());
    }
    world
}

const ROOT: [(&str, &str, &str); 1] = [("Prefix", "/", "web")];

#[test]
fn tokens_lead_to_pods_and_all_else_to_the_service() {
    let world = app(
        &[("doors-cidrs", "10.0.0.0/24"), ("load-balancing", "first")],
        &ROOT,
    );
    let translation = world.translate();
    let document = document(&translation, "a.test");
    assert_eq!(
        document.target.handlers,
        [
            json!({
                "handler": "doors_handler",
                "secret": KEY,
                "upstreams": [{ "cidr": "10.0.0.0/24", "host": "web.shop.svc.cluster.local", "port": 8080 }],
            }),
            json!({
                "handler": "reverse_proxy",
                "dynamic_upstreams": { "source": "doors_upstreams" },
                "load_balancing": { "selection_policy": { "policy": "first" } },
            }),
        ]
    );
    assert!(document.target.upstreams.is_none() && document.paths.is_empty());
    assert!(translation.invalid.is_empty(), "{:?}", translation.invalid);
}

#[test]
fn draining_pods_are_found_by_their_network_though_they_are_no_endpoints() {
    let world = app(&[("doors-cidrs", "10.0.0.0/24")], &ROOT);
    let before = document(&world.translate(), "a.test");
    let world = world.slice("web", "a", json!("IPv4"), json!([{ "addresses": ["10.0.0.77"] }]));
    assert_eq!(document(&world.translate(), "a.test"), before);
}

#[test]
fn several_servers_need_the_name_of_the_cookie() {
    let networks = ("doors-cidrs", "10.0.0.0/24, fd00::/64");
    let translation = app(&[networks], &ROOT).translate();
    assert!(is_closed(&document(&translation, "a.test").target));
    assert!(reasons(&translation)[0].contains("doors-cookie"));
    let world = app(&[networks, ("doors-cookie", "server")], &ROOT);
    let handler = &document(&world.translate(), "a.test").target.handlers[0];
    assert_eq!(handler["cookie_name"], "server");
    assert_eq!(handler["upstreams"][1]["cidr"], "fd00::/64");
}

#[test]
fn tokens_reach_all_servers_of_an_app_whatever_the_path() {
    let paths = [("Prefix", "/", "web"), ("Prefix", "/other", "other")];
    let networks = [
        ("doors-cidrs", "web=10.0.0.0/24,other=10.1.0.0/24"),
        ("doors-cookie", "server"),
    ];
    let document = document(&app(&networks, &paths).translate(), "a.test");
    let patterns: Vec<_> = document
        .paths
        .iter()
        .map(|path| path.patterns.join(" "))
        .collect();
    assert_eq!(patterns, ["/other /other/*", "/~ /~/*"]);
    let upstreams = |target: &RawTarget| target.handlers[0]["upstreams"].as_array().unwrap().len();
    assert_eq!(upstreams(&document.paths[0].target), 1);
    assert_eq!(upstreams(&document.paths[1].target), 2);
    assert_eq!(upstreams(&document.target), 1);
}

#[test]
fn a_service_whose_port_is_not_that_of_its_pods_must_be_headless() {
    let mut world = app(&[("doors-cidrs", "10.0.0.0/24")], &ROOT);
    let service = world.cluster.services.get_mut(&Key::new("shop", "web")).unwrap();
    service.spec.as_mut().unwrap().cluster_ip = Some("10.96.0.1".to_owned());
    let translation = world.translate();
    assert!(is_closed(&document(&translation, "a.test").target));
    assert!(reasons(&translation)[0].contains("listen on port 8080, and the Service itself on 80"));
}

#[test]
fn without_its_key_or_networks_an_app_is_closed() {
    let networks = [("doors-cidrs", "10.0.0.0/24")];
    let mut no_secret = app(&networks, &ROOT);
    no_secret.cluster.secrets.clear();
    for world in [
        no_secret,
        app(&networks, &ROOT).secret("app", &[("secret", "two words")]),
        app(&networks, &ROOT).secret("app", &[("key", KEY)]),
        app(&[], &ROOT),
        app(&[("doors-cidrs", "other=10.0.0.0/24")], &ROOT),
    ] {
        let translation = world.translate();
        assert!(is_closed(&document(&translation, "a.test").target));
        assert_eq!(translation.invalid.len(), 1, "{:?}", translation.invalid);
    }
}
