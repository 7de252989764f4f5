//! What the check finds.

use serde_json::{Value, json};

use super::super::{HostDocument, Raw, RawTarget, RawUpstream};
use super::*;

fn problems(value: Value) -> Vec<String> {
    let raw = Raw::from_value(value).unwrap_or_else(|problems| panic!("{problems}"));
    let problems = HostDocument::check(raw).unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

fn problem(mut value: Value) -> String {
    value["host"] = json!("a.test");
    let problems = problems(value);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].clone()
}

#[test]
fn everything_wrong_is_told_at_once() {
    let found = problems(json!({
        "host": "a.test:80",
        "aliases": ["b.test", "B.test.", "c/d"],
        "tls": {"certificate": "", "key": "a\0b"},
        "headers": {
            "request": {"add": [{"name": "a b", "value": "x"}], "remove": ["Connection"]},
            "response": {"set": [{"name": "X-A", "value": "a\r\nb: c"}]},
        },
        "paths": [
            {"patterns": ["api"], "upstreams": [{"address": "a:80"}, {"address": "http://a"}]},
            {"patterns": [], "handlers": [{"handler": "encode"}, {}, 7, {"handler": ""}]},
            {"patterns": ["/x"]},
        ],
        "upstreams": [{"address": "a:0", "sni": "*.a.test"}],
        "eskip": " ",
        "load_balancing": "lest_conn",
    }));
    let places: Vec<&str> = found
        .iter()
        .map(|problem| problem.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        places,
        [
            "host",
            "aliases[1]",
            "aliases[2]",
            "tls.certificate",
            "tls.key",
            "headers.request.add[0].name",
            "headers.request.remove[0]",
            "headers.response.set[0].value",
            "paths[0].patterns[0]",
            "paths[0].upstreams[1].address",
            "paths[1].patterns",
            "paths[1].handlers[1]",
            "paths[1].handlers[2]",
            "paths[1].handlers[3]",
            "paths[2]",
            "eskip",
            "upstreams[0].address",
            "upstreams[0].sni",
            "load_balancing",
            "eskip",
        ]
    );
    assert!(
        found.contains(
            &"load_balancing: there is no policy `lest_conn`; did you mean `least_conn`?".to_owned()
        )
    );
}

#[test]
fn something_must_be_served_and_no_upstreams_are_something() {
    assert!(problem(json!({})).starts_with("nothing is served"));
    assert!(problem(json!({"headers": {}})).starts_with("nothing is served"));
    for target in [
        json!({"upstreams": []}),
        json!({"handlers": [{"handler": "static_response"}]}),
        json!({"eskip": "* -> <shunt>"}),
        json!({"paths": [{"patterns": ["*"], "upstreams": []}]}),
        json!({"handlers": [{"handler": "encode"}], "upstreams": [{"address": "a:80"}]}),
    ] {
        let mut value = target;
        value["host"] = json!("a.test");
        HostDocument::check(Raw::from_value(value).unwrap()).unwrap();
    }
}

#[test]
fn hosts_of_one_document_differ() {
    let host = json!({"upstreams": [], "aliases": ["A.TEST"]});
    assert_eq!(problem(host), "aliases[0]: a.test is there twice");
    assert_eq!(
        problems(json!({"host": "", "upstreams": []})),
        ["host: it is empty"]
    );
}

#[test]
fn patterns_of_one_document_differ() {
    let paths = json!([{"patterns": ["/a"], "upstreams": []}, {"patterns": ["/b", "/A"], "upstreams": []}]);
    assert_eq!(
        problem(json!({"paths": paths})),
        "paths[1].patterns[1]: `/A` is there twice"
    );
}

#[test]
fn policies_are_those_that_need_no_settings() {
    for policy in LOAD_BALANCING {
        let raw =
            Raw::from_value(json!({"host": "a.test", "upstreams": [], "load_balancing": policy})).unwrap();
        HostDocument::check(raw).unwrap();
    }
    for policy in LOAD_BALANCING_WITH_SETTINGS {
        let found = problem(json!({"upstreams": [], "load_balancing": policy}));
        assert!(found.contains("needs settings"), "{found}");
    }
    let weighted = json!({"upstreams": [{"address": "a:1", "weight": 2}], "load_balancing": "first"});
    assert!(problem(weighted).starts_with("load_balancing: weights"));
    let nothing = json!({"handlers": [{"handler": "encode"}], "load_balancing": "first"});
    assert!(problem(nothing).contains("there are none"));
}

#[test]
fn fields_of_connections_are_left_to_the_proxy() {
    for name in [
        "Connection",
        "transfer-encoding",
        "TE",
        "Upgrade",
        "Keep-Alive",
        "Content-Length",
        "Trailer",
    ] {
        let found = problem(json!({"upstreams": [], "headers": {"response": {"remove": [name]}}}));
        assert!(found.contains("belongs to a connection"), "{found}");
    }
    for value in ["a\nb", "a\rb", "a\0b", "\u{7f}"] {
        let headers = json!({"request": {"add": [{"name": "x", "value": value}]}});
        let found = problem(json!({"upstreams": [], "headers": headers}));
        assert!(found.starts_with("headers.request.add[0].value"), "{found}");
    }
}

#[test]
fn documents_have_bounds() {
    let many = |count: usize, item: &dyn Fn(usize) -> Value| Value::Array((0..count).map(item).collect());
    let alias = |number: usize| json!(format!("a{number}.test"));
    let upstream = |number: usize| json!({"address": format!("a:{}", number + 1)});
    let path = |number: usize| json!({"patterns": [format!("/{number}")], "upstreams": []});
    for (name, bound, item) in [
        ("aliases", MAX_ALIASES, &alias as &dyn Fn(usize) -> Value),
        ("upstreams", MAX_UPSTREAMS, &upstream),
        ("paths", MAX_PATHS, &path),
    ] {
        let mut value = json!({"host": "a.test", "upstreams": []});
        value[name] = many(bound, item);
        HostDocument::check(Raw::from_value(value.clone()).unwrap()).unwrap();
        value[name] = many(bound + 1, item);
        assert!(problem(value).starts_with(&format!("{name}: there may be {bound}")));
    }
    let long = json!({"eskip": "x".repeat(MAX_BYTES)});
    assert!(problem(long).starts_with("a document may have 1 MiB"));
}

#[test]
fn what_was_built_by_hand_is_checked_too() {
    let raw = Raw {
        host: "a.test".to_owned(),
        target: RawTarget {
            upstreams: Some(vec![RawUpstream {
                address: "a:80".to_owned(),
                weight: Some(0),
                sni: Some(String::new()),
            }]),
            ..RawTarget::default()
        },
        ..Raw::default()
    };
    let found = HostDocument::check(raw).unwrap_err().to_string();
    assert_eq!(
        found,
        "upstreams[0].weight: a whole number from 1 to 65535 is expected; upstreams[0].sni: it is empty"
    );
}
