//! Tests of limits.

use std::time::Duration;

use http::StatusCode;

use super::BackendLimits;
use crate::filters::settings::BackendLimit;
use crate::filters::trial::Trial;
use crate::filters::{Filter, Flow};

/// Whether the filters let the request through.
fn passes(trial: &mut Trial, filters: &[Box<dyn Filter>]) -> bool {
    matches!(trial.request_of(filters).0, Flow::Next)
}

fn at(mut trial: Trial, route: &str) -> Trial {
    trial.exchange.route = route.to_owned();
    trial
}

#[test]
fn what_is_too_much_is_told_when_to_come_again() {
    let mut trial = Trial::get("/");
    let filters = trial.make(r#"ratelimit(2, "1m")"#);
    assert!(passes(&mut trial, &filters));
    trial.env.passed = Duration::from_millis(500);
    assert!(passes(&mut trial, &filters));
    trial.env.passed = Duration::from_millis(20_200);
    let (flow, _) = trial.request_of(&filters);
    let Flow::Serve(answer) = flow else {
        panic!("it passed")
    };
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    let field = |name| answer.headers()[name].to_str().unwrap();
    assert_eq!(field("x-rate-limit"), "120");
    assert_eq!(field("retry-after"), "40");
    assert_eq!(field("content-type"), "text/plain; charset=utf-8");
    assert_eq!(field("x-content-type-options"), "nosniff");
    assert_eq!(answer.body().length(), Some("Too Many Requests\n".len() as u64));

    trial.env.passed = Duration::from_secs(60);
    assert!(passes(&mut trial, &filters));
    assert!(!passes(&mut trial, &filters));
}

#[test]
fn the_status_may_be_another() {
    let mut trial = Trial::get("/");
    let filters = trial.make("ratelimit(0, 60, 503)");
    let (flow, _) = trial.request_of(&filters);
    let Flow::Serve(answer) = flow else {
        panic!("it passed")
    };
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers()["x-rate-limit"], "0");
}

#[test]
fn routes_have_limits_of_their_own_which_outlive_them() {
    let mut trial = at(Trial::get("/"), "a");
    let text = r#"ratelimit(1, "1m")"#;
    let first = trial.make(text);
    assert!(passes(&mut trial, &first));
    drop(first);
    // The route comes again, in another table.
    let again = trial.make(text);
    assert!(!passes(&mut trial, &again));
    // With another limit it begins anew.
    let other = trial.make(r#"ratelimit(2, "1m")"#);
    assert!(passes(&mut trial, &other));
    // Another route has the same one for itself.
    trial.exchange.route = "b".to_owned();
    let same = trial.make(text);
    assert!(passes(&mut trial, &same));
    // And so has one of the same name in another table.
    trial.exchange.table = 1;
    let elsewhere = trial.make(text);
    assert!(passes(&mut trial, &elsewhere));
}

#[test]
fn clients_are_told_apart_by_their_addresses() {
    let mut trial = Trial::get("/");
    for name in ["clientRatelimit", "localRatelimit"] {
        let filters = trial.make(&format!(r#"{name}(1, "1m")"#));
        trial.exchange.route = name.to_owned();
        trial.parts.headers.clear();
        assert!(passes(&mut trial, &filters));
        trial.exchange.peer = Some(([192, 0, 2, 7], 9).into());
        assert!(!passes(&mut trial, &filters), "the port is of no interest");
        for (source, expected) in [
            ("198.51.100.1, 192.0.2.7", true),
            ("198.51.100.1", false),
            ("198.51.100.1:80", false),
            ("::ffff:198.51.100.1", false),
            ("2001:db8::1", true),
            ("[2001:db8::1]:80", false),
            // What is no address is not believed.
            ("nobody", false),
        ] {
            let forwarded = http::HeaderValue::from_static(source);
            trial.parts.headers.insert("x-forwarded-for", forwarded);
            assert_eq!(passes(&mut trial, &filters), expected, "{name} {source}");
        }
    }
}

#[test]
fn clients_without_an_address_are_one() {
    let mut trial = Trial::get("/");
    trial.exchange.peer = None;
    let filters = trial.make(r#"clientRatelimit(1, "1m")"#);
    assert!(passes(&mut trial, &filters));
    assert!(!passes(&mut trial, &filters));
}

#[test]
fn clients_may_be_told_apart_by_fields() {
    let with = |fields: &[(&str, &str)]| {
        let trial = Trial::get("/");
        fields
            .iter()
            .fold(trial, |trial, (name, value)| trial.with(name, value))
    };
    let filters = Trial::get("/").make(r#"clientRatelimit(1, "1m", "X-A, x-b,X-Forwarded-For")"#);
    let others = Trial::get("/").make(r#"clientRatelimit(1, "1m", "X-A,X-B")"#);
    for (fields, expected) in [
        (&[("x-a", "1"), ("x-b", "2")][..], true),
        (&[("x-a", "1"), ("x-b", "2")][..], false),
        (&[("x-a", "12"), ("x-b", "")][..], true),
        (&[("x-a", "1")][..], true),
        (&[("x-b", "1")][..], true),
        (&[("x-b", "1")][..], false),
    ] {
        assert_eq!(passes(&mut with(fields), &filters), expected, "{fields:?}");
        assert_eq!(passes(&mut with(fields), &others), expected, "{fields:?}");
    }
    let forwarded = [("x-b", "1"), ("x-forwarded-for", "198.51.100.1")];
    assert!(passes(&mut with(&forwarded), &filters));
    assert!(!passes(&mut with(&forwarded), &others));
    // Who has none of them is not counted; everybody has an address.
    assert!(passes(&mut with(&[]), &others) && passes(&mut with(&[]), &others));
    assert!(passes(&mut with(&[]), &filters) && !passes(&mut with(&[]), &filters));
}

#[test]
fn limits_of_endpoints_are_said_of_the_route() {
    let limit = |text| Trial::settings(text).backend_limit;
    let expected = BackendLimit {
        group: "g".to_owned(),
        most: 5,
        window: Duration::from_secs(2),
        status: StatusCode::SERVICE_UNAVAILABLE,
    };
    assert_eq!(limit(r#"backendRatelimit("g", 5, "2s")"#), Some(expected.clone()));
    assert_eq!(
        limit(r#"backendRatelimit("g", 5, 2, 429)"#),
        Some(BackendLimit {
            status: StatusCode::TOO_MANY_REQUESTS,
            ..expected
        })
    );
    for none in [
        r#"disableRatelimit() -> backendRatelimit("g", 5, 2)"#,
        r#"backendRatelimit("g", 5, 2) -> disableRatelimit()"#,
    ] {
        assert_eq!(limit(none), None, "{none}");
    }
}

#[test]
fn endpoints_of_a_group_are_counted_apart_and_routes_together() {
    let (limits, now) = (BackendLimits::default(), Trial::get("/").env.began);
    let limit = |group: &str| BackendLimit {
        group: group.to_owned(),
        most: 1,
        window: Duration::from_secs(10),
        status: StatusCode::SERVICE_UNAVAILABLE,
    };
    let passes = |group, endpoint, now| limits.refusal(&limit(group), endpoint, now).is_none();
    assert!(passes("a", "http://10.0.0.1:80", now));
    assert!(!passes("a", "http://10.0.0.1:80", now));
    assert!(passes("a", "http://10.0.0.2:80", now));
    assert!(passes("b", "http://10.0.0.1:80", now));
    assert!(passes("a", "http://10.0.0.1:80", now + Duration::from_secs(10)));
}

#[test]
fn limits_behind_the_switch_do_not_count() {
    let mut trial = at(Trial::get("/"), "a");
    let filters = trial.make(r#"disableRatelimit() -> ratelimit(0, "1m") -> clientRatelimit(0, "1m")"#);
    assert!(passes(&mut trial, &filters));
    // Those of another route that the request comes to do.
    trial.exchange.route = "b".to_owned();
    let others = trial.make(r#"ratelimit(0, "1m")"#);
    assert!(!passes(&mut trial, &others));
}

#[test]
fn a_limit_that_says_nothing_is_a_mistake() {
    for wrong in [
        "ratelimit()",
        "ratelimit(1)",
        "ratelimit(-1, 1)",
        "ratelimit(1.5, 1)",
        "ratelimit(1, 0)",
        r#"ratelimit(1, "x")"#,
        r#"ratelimit(1, "1s", 100)"#,
        r#"ratelimit(1, "1s", 600)"#,
        r#"ratelimit(1, "1s", 429, 1)"#,
        r#"clientRatelimit(1, "1s", "")"#,
        r#"clientRatelimit(1, "1s", "a b")"#,
        r#"clientRatelimit(1, "1s", 429)"#,
        r#"clientRatelimit(1, "1s", "a", 1)"#,
        r#"backendRatelimit(1, "1s")"#,
        r#"backendRatelimit("g", 1)"#,
        "disableRatelimit(1)",
    ] {
        assert!(
            Trial::mistake(wrong).starts_with("invalid_filter_params"),
            "{wrong}"
        );
    }
}
