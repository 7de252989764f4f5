//! The bytes.

use proptest::prelude::*;
use serde_json::{Value, json};
use shipwick_routes::{
    App, Desired, OwnRoute, Path, Protocol, RenderOptions, Rendered, Replica, Upstream, render,
};

use crate::desired::{app, desired};

/// Of Shipwick 0.1.0; its origin is beside it.
const GOLDEN: &str = include_str!("../golden/shipwick-0.1.0.json");

fn example() -> Desired {
    let own = |domain: &str, upstream: &str| {
        Some(OwnRoute {
            domain: domain.parse().unwrap(),
            upstream: upstream.parse().unwrap(),
        })
    };
    let mut desired = desired();
    desired.agent = own("agent.example.com", "3f2b9c1d7a64:9000");
    desired.dashboard = own("dashboard.example.com", "dashboard:3000");
    let web = app("web.example.com", &["shipwick_web_7_2", "shipwick_web_7_1"]);
    desired.apps.insert("web".to_owned(), web);
    desired.apps.insert("api".to_owned(), app("api.example.com", &[]));
    desired
}

fn text(rendered: &Rendered) -> &str {
    std::str::from_utf8(rendered.bytes()).unwrap()
}

fn server(rendered: &Rendered) -> Value {
    let mut json: Value = serde_json::from_slice(rendered.bytes()).unwrap();
    json["apps"]["http"]["servers"]["shipwick"].take()
}

#[test]
fn the_bytes_of_0_1_0_come_out_with_their_fingerprint() {
    let rendered = render(&example(), &RenderOptions::shipwick_0_1_0());
    assert_eq!(text(&rendered), GOLDEN);
    assert_eq!(rendered.fingerprint().to_string(), "ab59667f4e81f62f");
    assert_eq!(rendered.routes(), 4);
}

#[test]
fn without_routes_there_is_the_last_one_alone() {
    let rendered = render(&desired(), &RenderOptions::shipwick_0_1_0());
    assert_eq!(rendered.fingerprint().to_string(), "0f98c2b1b3904f3a");
    assert_eq!(rendered.routes(), 0);
    let server = server(&rendered);
    assert_eq!(server["listen"], json!([":443"]));
    let last = json!([{
        "@id": "shipwick-config-0f98c2b1b3904f3a",
        "handle": [{
            "body": "404 Not Found: no application is served at this address.\n",
            "handler": "static_response",
            "headers": {"Content-Type": ["text/plain; charset=utf-8"]},
            "status_code": 404,
        }],
    }]);
    assert_eq!(server["routes"], last);
}

#[test]
fn a_request_is_never_sent_twice_by_default() {
    let default = text(&render(&example(), &RenderOptions::default())).to_owned();
    assert_eq!(
        default
            .matches(r#""load_balancing":{"retry_match":[{"not":[{}]}],"#)
            .count(),
        3
    );
    // That is all that differs, beside the fingerprint.
    let plain = default.replace(r#""retry_match":[{"not":[{}]}],"#, "");
    let marker = |text: &str| {
        text.split("shipwick-config-")
            .nth(1)
            .unwrap()
            .chars()
            .take(16)
            .collect::<String>()
    };
    assert_eq!(plain.replace(&marker(&plain), "ab59667f4e81f62f"), GOLDEN);
    assert_ne!(marker(&plain), "ab59667f4e81f62f");
}

#[test]
fn the_admin_address_is_part_of_the_fingerprint() {
    let other = Desired {
        admin: "http://localhost:2019".parse().unwrap(),
        ..example()
    };
    let (one, other) = (
        render(&example(), &RenderOptions::default()),
        render(&other, &RenderOptions::default()),
    );
    assert_ne!(one.fingerprint(), other.fingerprint());
    assert!(text(&other).starts_with(r#"{"admin":{"listen":"localhost:2019"},"#));
}

#[test]
fn options_add_what_they_say_and_nothing_else() {
    let all = RenderOptions {
        error_route: true,
        protocols: vec![Protocol::H1, Protocol::H2],
        listen: vec!["127.0.0.1:8080".to_owned()],
        plain_http: true,
        ..RenderOptions::default()
    };
    let rendered = render(&example(), &all);
    let mut with = server(&rendered);
    let mut without = server(&render(&example(), &RenderOptions::default()));
    assert_eq!(with["protocols"], json!(["h1", "h2"]));
    assert_eq!(with["listen"], json!(["127.0.0.1:8080"]));
    assert_eq!(with["automatic_https"], json!({"disable": true}));
    let errors = &with["errors"]["routes"];
    assert_eq!(
        errors[0]["match"],
        json!([{"expression": "{http.error.status_code} in [502, 503]"}])
    );
    // The very answer of a route without upstreams.
    assert_eq!(errors[0]["handle"], without["routes"][1]["handle"]);
    for (server, more) in [(&mut with, true), (&mut without, false)] {
        let server = server.as_object_mut().unwrap();
        for name in ["protocols", "listen", "automatic_https", "errors"] {
            assert_eq!(server.remove(name).is_some(), more || name == "listen", "{name}");
        }
        server["routes"].as_array_mut().unwrap().pop();
    }
    assert_eq!(with, without);
}

#[test]
fn a_path_is_matched_whole_and_stripped_if_asked() {
    let path = |strip| App {
        path: Some(Path {
            prefix: "/api".parse().unwrap(),
            strip,
        }),
        ..app("a.example.com", &["api"])
    };
    for strip in [false, true] {
        let mut desired = desired();
        desired.apps.insert("api".to_owned(), path(strip));
        let route = server(&render(&desired, &RenderOptions::default()))["routes"][0].take();
        assert_eq!(
            route["match"],
            json!([{"host": ["a.example.com"], "path": ["/api", "/api/*"]}])
        );
        let handlers = route["handle"].as_array().unwrap();
        assert_eq!(handlers.len(), 1 + usize::from(strip));
        if strip {
            assert_eq!(
                handlers[0],
                json!({"handler": "rewrite", "strip_path_prefix": "/api"})
            );
        }
    }
}

/// Keys are in the order of the alphabet everywhere, also where options add some.
#[test]
fn keys_are_sorted() {
    let all = RenderOptions {
        error_route: true,
        protocols: vec![Protocol::H1],
        plain_http: true,
        ..RenderOptions::default()
    };
    for options in [all, RenderOptions::default()] {
        let rendered = render(&example(), &options);
        // serde_json sorts the keys of a map.
        let sorted: Value = serde_json::from_slice(rendered.bytes()).unwrap();
        assert_eq!(serde_json::to_string(&sorted).unwrap(), text(&rendered));
    }
}

#[test]
fn the_fingerprint_is_that_of_the_bytes_without_it() {
    use sha2::{Digest as _, Sha256};
    let rendered = render(&example(), &RenderOptions::default());
    let empty = text(&rendered).replace(&rendered.fingerprint().marker(), "");
    let digest: String = Sha256::digest(empty)[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(rendered.fingerprint().to_string(), digest);
}

fn any_app() -> impl Strategy<Value = App> {
    let replicas = prop::collection::vec(("[a-z]{1,3}", 1_u16..4), 0..4);
    ("[a-d]\\.test", replicas, any::<bool>()).prop_map(|(domain, replicas, stopped)| App {
        domain: Some(domain.parse().unwrap()),
        stopped,
        replicas: Some(
            replicas
                .into_iter()
                .map(|(name, port)| Replica::running(Upstream::new(&name, port).unwrap()))
                .collect(),
        ),
        ..App::default()
    })
}

proptest! {
    /// Applications are a map, so that what can come in another order are their replicas and aliases.
    #[test]
    fn the_order_of_the_input_does_not_matter(
        apps in prop::collection::btree_map("[a-z]{1,4}", any_app(), 0..8),
        seed in any::<u64>(),
    ) {
        let one = Desired { apps, ..desired() };
        let mut other = one.clone();
        for app in other.apps.values_mut() {
            let replicas = app.replicas.as_mut().unwrap();
            if !replicas.is_empty() {
                let by = usize::try_from(seed % 7).unwrap() % replicas.len();
                replicas.rotate_left(by);
                replicas.reverse();
            }
        }
        let rendered = render(&one, &RenderOptions::default());
        prop_assert_eq!(&rendered, &render(&other, &RenderOptions::default()));
        let json: Value = serde_json::from_slice(rendered.bytes()).unwrap();
        let routes = json["apps"]["http"]["servers"]["shipwick"]["routes"].as_array().unwrap();
        prop_assert_eq!(routes.len(), rendered.routes() + 1);
        // Each host once, in their order.
        let hosts: Vec<&str> = routes[..rendered.routes()]
            .iter()
            .map(|route| route["match"][0]["host"][0].as_str().unwrap())
            .collect();
        prop_assert!(hosts.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", hosts);
    }
}

#[test]
fn another_upstream_is_another_configuration() {
    let one = render(&example(), &RenderOptions::default());
    let mut changed = example();
    changed
        .apps
        .insert("api".to_owned(), app("api.example.com", &["api_1"]));
    assert_ne!(
        render(&changed, &RenderOptions::default()).fingerprint(),
        one.fingerprint()
    );
}
