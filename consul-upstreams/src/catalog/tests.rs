//! Answers of agents of several versions, and what no agent should give.

use proptest::prelude::*;

use super::*;

fn texts(health: &Health) -> Vec<String> {
    health.instances.iter().map(ToString::to_string).collect()
}

fn zone(value: &str) -> Locality {
    Locality {
        node_meta: "zone".to_owned(),
        local_value: value.to_owned(),
        minimum: 0,
    }
}

fn of(body: &str) -> Health {
    read(body.as_bytes(), Some(&zone("a"))).unwrap()
}

fn one(service: &str) -> Health {
    of(&format!(
        r#"[{{"Node": {{"Node": "n", "Address": "192.0.2.9"}}, "Service": {service}}}]"#
    ))
}

#[test]
fn an_instance_is_the_service_s_address_or_its_node_s() {
    for (service, expected) in [
        (r#"{"Address": "192.0.2.1", "Port": 80}"#, "192.0.2.1:80"),
        (r#"{"Address": "", "Port": 80}"#, "192.0.2.9:80"),
        (r#"{"Address": null, "Port": 80}"#, "192.0.2.9:80"),
        (r#"{"Port": 80}"#, "192.0.2.9:80"),
        (r#"{"Address": "App.Test", "Port": 80}"#, "app.test:80"),
        (r#"{"Address": "2001:DB8::1", "Port": 443}"#, "[2001:db8::1]:443"),
        (
            r#"{"Address": "[2001:db8::2]", "Port": 443}"#,
            "[2001:db8::2]:443",
        ),
        (r#"{"Address": "::ffff:192.0.2.1", "Port": 1}"#, "192.0.2.1:1"),
        (r#"{"Address": "127.0.0.1", "Port": 65535}"#, "127.0.0.1:65535"),
    ] {
        let health = one(service);
        assert_eq!(texts(&health), [expected], "{service}");
        assert!(health.skipped.is_empty());
    }
}

#[test]
fn what_makes_no_address_is_skipped_and_named() {
    for (service, reason) in [
        ("null", SkipReason::Incomplete),
        ("{}", SkipReason::Port(0)),
        (r#"{"Port": 0}"#, SkipReason::Port(0)),
        (r#"{"Port": null}"#, SkipReason::Port(0)),
        (r#"{"Port": -1}"#, SkipReason::Port(-1)),
        (r#"{"Port": 70000}"#, SkipReason::Port(70000)),
        (r#"{"Port": 65616}"#, SkipReason::Port(65616)),
        (
            r#"{"Port": 80, "Address": "0.0.0.0"}"#,
            SkipReason::Address("0.0.0.0".into()),
        ),
        (
            r#"{"Port": 80, "Address": "[::]"}"#,
            SkipReason::Address("[::]".into()),
        ),
        (
            r#"{"Port": 80, "Address": "a b"}"#,
            SkipReason::Address("a b".into()),
        ),
        (
            r#"{"Port": 80, "Address": "a/b"}"#,
            SkipReason::Address("a/b".into()),
        ),
        (
            r#"{"Port": 80, "Address": "a:80"}"#,
            SkipReason::Address("a:80".into()),
        ),
        (
            r#"{"Port": 80, "Address": "[app]"}"#,
            SkipReason::Address("[app]".into()),
        ),
    ] {
        let health = one(service);
        let id = "n/?".to_owned();
        assert_eq!(health.skipped, [Skipped { id, reason }], "{service}");
        assert!(health.instances.is_empty());
    }
    let health = of(
        r#"[null, {"Node": null, "Service": {"ID": "x", "Port": 1}}, {"Node": {"Address": ""}, "Service": {"Port": 1}}]"#,
    );
    let reasons: Vec<_> = health
        .skipped
        .iter()
        .map(|skipped| skipped.reason.clone())
        .collect();
    assert_eq!(
        reasons,
        [
            SkipReason::Incomplete,
            SkipReason::Incomplete,
            SkipReason::NoAddress
        ]
    );
    assert_eq!(health.skipped[1].id, "?/x");
}

#[test]
fn order_and_repetition_do_not_matter() {
    let entry = |address: &str, zone: &str| {
        format!(
            r#"{{"Node": {{"Meta": {{"zone": "{zone}"}}}}, "Service": {{"Address": "{address}", "Port": 80}}}}"#
        )
    };
    let entries = [
        entry("10.0.0.10", "b"),
        entry("app.test", "b"),
        entry("10.0.0.9", "a"),
        entry("2001:db8::1", "b"),
        entry("10.0.0.9", "b"),
    ];
    let health = of(&format!("[{}]", entries.join(",")));
    let expected = ["10.0.0.9:80", "10.0.0.10:80", "[2001:db8::1]:80", "app.test:80"];
    assert_eq!(texts(&health), expected);
    assert!(health.instances[0].is_local(), "the first of equal ones counts");
    assert_eq!(health.skipped[0].reason, SkipReason::Duplicate);
    let mut turned = entries.to_vec();
    turned.swap(0, 3);
    turned.rotate_left(1);
    assert_eq!(texts(&of(&format!("[{}]", turned.join(",")))), expected);
}

#[test]
fn metadata_may_be_null_and_hold_other_keys() {
    for (meta, is_local) in [
        (r#"{"zone": "a"}"#, true),
        (r#"{"consul-network-segment": "", "zone": "a"}"#, true),
        (r#"{"zone": "A"}"#, false),
        (r#"{"Zone": "a"}"#, false),
        (r#"{"zone": null}"#, false),
        ("{}", false),
        ("null", false),
    ] {
        let body = format!(
            r#"[{{"Node": {{"Address": "192.0.2.1", "Meta": {meta}, "TaggedAddresses": null}}, "Service": {{"Port": 1, "Meta": {{"zone": "a"}}}}}}]"#
        );
        assert_eq!(of(&body).instances[0].is_local(), is_local, "{meta}");
    }
}

#[test]
fn weights_are_those_of_passing_instances() {
    for (weights, expected) in [
        (r#"{"Passing": 10, "Warning": 1}"#, 10),
        (r#"{"Passing": 0}"#, 1),
        (r#"{"Passing": -3}"#, 1),
        (r#"{"Passing": 1000000}"#, 65535),
        (r#"{"Passing": null}"#, 1),
        ("{}", 1),
        ("null", 1),
    ] {
        let health = one(&format!(r#"{{"Port": 1, "Weights": {weights}}}"#));
        assert_eq!(health.instances[0].weight(), expected, "{weights}");
    }
}

#[test]
fn fields_of_later_versions_are_passed_over() {
    let health = one(
        r#"{"Port": 1, "Kind": "", "PeerName": "", "SocketPath": "/x", "Ports": [{"name": "h", "port": 2}],
            "TaggedAddresses": {"lan": {"Address": "192.0.2.7", "Port": 7}}, "Proxy": {"Upstreams": null}, "New": [[{}]]}"#,
    );
    assert_eq!(texts(&health), ["192.0.2.9:1"]);
}

#[test]
fn nothing_is_nothing() {
    assert_eq!(of("[]"), Health::default());
    assert_eq!(of("null"), Health::default());
    assert_eq!(of(" [ ] \n"), Health::default());
}

#[test]
fn what_is_not_the_answer_is_an_error() {
    let deep = "[".repeat(100_000);
    for body in [
        "",
        "{}",
        "[",
        "[{]",
        "\"x\"",
        "[1]",
        "[] x",
        "<html>",
        "[{\"Node\": 1}]",
        "\u{0}",
        r#"[{"Service": {"Port": "80"}}]"#,
        r#"[{"Service": {"Port": 1e400}}]"#,
        &deep,
    ] {
        let found = read(body.as_bytes(), None);
        let short: String = body.chars().take(20).collect();
        assert!(matches!(found, Err(ReadError::Json(_))), "{short}: {found:?}");
    }
    assert!(read(b"[\xff]", None).is_err());
}

#[test]
fn more_entries_than_the_limit_are_refused() {
    let entry = r#"{"Node":{"Address":"192.0.2.1"},"Service":{"Port":1}}"#;
    let many = |count| format!("[{}]", vec![entry; count].join(","));
    assert_eq!(texts(&of(&many(MOST_INSTANCES - 1))), ["192.0.2.1:1"]);
    assert_eq!(texts(&of(&many(MOST_INSTANCES))), ["192.0.2.1:1"]);
    assert!(matches!(
        read(many(MOST_INSTANCES + 1).as_bytes(), None),
        Err(ReadError::Many)
    ));
}

#[test]
fn of_metadata_only_what_can_be_shown_is_kept() {
    let long = "a".repeat(100_000);
    let body = format!(
        r#"[{{"Node": {{"Address": "192.0.2.1", "Meta": {{"zone": "{long}"}}}}, "Service": {{"Port": 1}}}}]"#
    );
    let health = read(body.as_bytes(), Some(&zone(&long))).unwrap();
    assert!(health.instances[0].is_local(), "all of it is compared");
    assert_eq!(health.instances[0].zone().unwrap().len(), 100);
}

#[test]
fn failing_checks_are_named() {
    let body = r#"[
        {"Node": {"Node": "n1"}, "Service": {"ID": "s"}, "Checks": [{"CheckID": "serfHealth", "Status": "passing"}, {"CheckID": "http", "Status": "critical"}]},
        {"Node": {"Node": "n2"}, "Service": {"ID": "s"}, "Checks": [{"CheckID": "http", "Status": "warning"}]},
        {"Node": {"Node": "n3"}, "Service": {"ID": "s"}, "Checks": []},
        {"Node": {"Node": "n4"}, "Service": {"ID": "s"}, "Checks": null}
    ]"#;
    let (count, failing) = read_failing(body.as_bytes()).unwrap();
    let failing: Vec<_> = failing
        .iter()
        .map(|skipped| format!("{}: {}", skipped.id, skipped.reason))
        .collect();
    assert_eq!(count, 4);
    assert_eq!(
        failing,
        [
            r#"n1/s: check "http" is "critical""#,
            r#"n2/s: check "http" is "warning""#
        ]
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _found = read(&body, Some(&zone("a")));
        let _found = read_failing(&body);
    }

    #[test]
    fn what_is_read_can_be_dialled(address in "\\PC{0,20}", port in any::<i64>()) {
        let address = serde_json::to_string(&address).unwrap();
        let health = one(&format!(r#"{{"Address": {address}, "Port": {port}}}"#));
        prop_assert_eq!(health.instances.len() + health.skipped.len(), 1);
        for instance in &health.instances {
            prop_assert!(instance.port() > 0 && !instance.host().contains(['/', '[', ']', ' ', '@']));
        }
    }
}
