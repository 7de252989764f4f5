//! Routes of version 1 and what they become.

use serde_json::{Value, json};

use super::super::{HostDocument, Problems};

fn upgraded(route: Value) -> Value {
    let document = HostDocument::from_v1(route).unwrap_or_else(|problems| panic!("{problems}"));
    serde_json::from_str(&document.to_json()).unwrap()
}

fn problems(route: Value) -> Vec<String> {
    let problems: Problems = HostDocument::from_v1(route).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

fn with(name: &str, value: Value) -> Value {
    let mut route = json!({"host": "shop.test", "upstreams": [{"ip": "10.0.0.1", "port": 3000}]});
    route[name] = value;
    route
}

#[test]
fn a_whole_route_is_upgraded() {
    let route = json!({
        "host": "Shop.test",
        "match_with": {"path": {"patterns": ["/api/*", "/users/:id"]}},
        "upstreams": [
            {"ip": "10.0.0.1", "port": 3000, "weight": 2, "headers": {"add": [{"name": "X-To", "value": "a"}]}},
            {"ip": "api.internal", "port": 443, "sni": "api.internal", "headers": {"add": [{"name": "X-To", "value": "a"}]}},
        ],
        "headers": {"add": [{"name": "X-Edge", "value": "1"}], "remove": [{"name": "Server"}]},
        "ssl": {"path": {"key": "/tls/key.pem", "pem": "/tls/cert.pem"}},
        "ssl_certificate": {"self_signed_on_failure": false},
        "plugins": [],
        "cache": {"enabled": false},
    });
    let expected = json!({
        "schema_version": 2,
        "host": "shop.test",
        "tls": {"certificate": "/tls/cert.pem", "key": "/tls/key.pem"},
        "headers": {
            "request": {"set": [{"name": "X-To", "value": "a"}]},
            "response": {"set": [{"name": "X-Edge", "value": "1"}], "remove": ["Server"]},
        },
        "paths": [{
            "patterns": ["/api/*", "/users/?*"],
            "upstreams": [
                {"address": "10.0.0.1:3000", "weight": 2},
                {"address": "api.internal:443", "sni": "api.internal"},
            ],
        }],
    });
    assert_eq!(upgraded(route), expected);
}

#[test]
fn a_route_without_patterns_serves_every_path() {
    let expected =
        json!({"schema_version": 2, "host": "shop.test", "upstreams": [{"address": "10.0.0.1:3000"}]});
    assert_eq!(upgraded(with("match_with", Value::Null)), expected);
    assert_eq!(
        upgraded(with("match_with", json!({"path": {"patterns": []}}))),
        expected
    );
    let none = upgraded(with("upstreams", json!([])));
    assert_eq!(none["upstreams"], json!([]), "an empty list is answered with 503");
}

#[test]
fn upstreams_keep_their_turn_and_their_tls() {
    let two = json!([{"ip": "::1", "port": "1"}, {"ip": "10.0.0.2", "port": 443}]);
    let document = upgraded(with("upstreams", two));
    assert_eq!(document["load_balancing"], "round_robin");
    assert_eq!(
        document["upstreams"],
        json!([{"address": "[::1]:1"}, {"address": "10.0.0.2:443", "sni": "shop.test"}])
    );
}

#[test]
fn added_fields_take_the_place_of_others_and_removing_comes_last() {
    let headers = json!({
        "add": [{"name": "X-A", "value": "1"}, {"name": "x-a", "value": "2"}, {"name": "X-B", "value": "3"}],
        "remove": [{"name": "x-b"}],
    });
    let expected = json!({"set": [{"name": "x-a", "value": "2"}], "remove": ["x-b"]});
    assert_eq!(
        upgraded(with("headers", headers))["headers"]["response"],
        expected
    );
}

#[test]
fn fields_of_one_upstream_alone_are_refused() {
    let upstreams = json!([
        {"ip": "10.0.0.1", "port": 1, "headers": {"add": [{"name": "X-To", "value": "a"}]}},
        {"ip": "10.0.0.2", "port": 1},
    ]);
    let found = problems(with("upstreams", upstreams));
    assert!(
        found[0].starts_with("upstreams: `headers.add` must be the same"),
        "{found:?}"
    );
}

#[test]
fn a_login_is_never_dropped() {
    for (plugins, expected) in [
        (
            json!([{"name": "basic_auth", "config": {"user": "u", "pass": "hunter2"}}]),
            "doorway hash-password",
        ),
        (json!([{"name": "oauth2", "config": {}}]), "login service"),
        (json!([{"name": "request_id"}]), "{http.request.uuid}"),
        (json!([{"name": "jwt"}]), "plugin `jwt`"),
        (json!([{}]), "plugin ``"),
        (json!([null]), "plugin ``"),
        (json!({"name": "basic_auth"}), "a list is expected"),
        (json!("basic_auth"), "a list is expected"),
    ] {
        let found = problems(with("plugins", plugins));
        assert!(
            found[0].starts_with("plugins") && found[0].contains(expected),
            "{found:?}"
        );
        assert!(!found[0].contains("hunter2"));
    }
}

#[test]
fn settings_without_a_counterpart_are_refused_by_name() {
    for (name, value, place) in [
        ("cache", json!({"enabled": true}), "cache: "),
        ("cache", json!({}), "cache: "),
        ("ssl", json!({"min_proto": "v1.2"}), "ssl.min_proto: "),
        ("ssl", json!({"max_proto": "v1.3"}), "ssl.max_proto: "),
        (
            "ssl",
            json!({"self_signed_fallback": true}),
            "ssl.self_signed_fallback: ",
        ),
        (
            "ssl_certificate",
            json!({"self_signed_on_failure": true}),
            "ssl_certificate.self_signed_on_failure: ",
        ),
        (
            "upstreams",
            json!([{"ip": "a", "port": 1, "network": "web"}]),
            "upstreams[0].network: ",
        ),
        (
            "upstreams",
            json!([{"ip": "a", "port": 1, "headers": {"remove": [{"name": "x"}]}}]),
            "upstreams[0].headers.remove: ",
        ),
        (
            "match_with",
            json!({"path": {"patterns": ["/:id/*"]}}),
            "match_with.path.patterns[0]: ",
        ),
        (
            "pluginz",
            json!([]),
            "pluginz: there is no such field; did you mean `plugins`?",
        ),
    ] {
        let found = problems(with(name, value));
        assert!(found.len() == 1 && found[0].starts_with(place), "{found:?}");
    }
}

#[test]
fn what_is_wrong_is_where_it_was_written() {
    let route = json!({
        "host": "a b",
        "match_with": {"path": {"patterns": ["/a", "/A"]}},
        "upstreams": [{"ip": "http://a", "port": 80}, {"ip": "a"}, {"port": 70000, "ip": "b"}],
        "headers": {"add": [{"name": "a b", "value": "1"}]},
        "ssl": {"path": {"key": "k"}},
    });
    let found = problems(route.clone());
    assert_eq!(
        found,
        [
            "upstreams[1].port: it is missing",
            "upstreams[2].port: a whole number from 1 to 65535 is expected",
            "ssl.path.pem: it is missing",
        ]
    );
    let mut route = route;
    route["upstreams"] = json!([{"ip": "http://a", "port": 80}]);
    route["ssl"] = Value::Null;
    let places: Vec<_> = problems(route)
        .iter()
        .map(|problem| problem.split(": ").next().unwrap().to_owned())
        .collect();
    assert_eq!(
        places,
        [
            "host",
            "headers.add",
            "match_with.path.patterns[1]",
            "upstreams[0].ip"
        ]
    );
    assert!(problems(json!({}))[0].starts_with("host: it is missing"));
    assert_eq!(problems(json!([]))[0], "an object is expected, not a list");
}
