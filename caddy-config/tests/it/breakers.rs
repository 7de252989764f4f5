//! Circuit breakers, which are Doorway's own.

use crate::caddyfile::adapted;
use crate::proxy::{fields_say, in_a_proxy};

#[test]
fn breakers_say_what_is_wrong() {
    let number = "expected a whole number from 1 to 4294967295";
    in_a_proxy(&[
        ("breaker", "3:3: this is no circuit breaker"),
        ("breaker consecutive", "3:3: this is no circuit breaker"),
        ("breaker rate 3 in 5", "3:3: this is no circuit breaker"),
        (
            "breaker latency 3",
            "3:11: unknown or unsupported circuit breaker `latency`",
        ),
        ("breaker consecutive 0", &format!("3:23: {number}")),
        ("breaker consecutive x", "3:23: expected a whole number"),
        (
            "breaker rate 5 of 3",
            "3:21: fewer requests than failures: it would never open",
        ),
        ("breaker rate 5 of 65537", "3:21: expected at most 65536"),
        (
            "breaker consecutive 5 {\n\t\t\ttime 3s\n\t\t}",
            "4:4: unknown or unsupported option `time`",
        ),
    ]);
}

#[test]
fn checks_and_breakers_of_our_own_are_read() {
    let text = "a.com {\n\treverse_proxy b {\n\t\thealth_tcp\n\t\tbreaker rate 30 of 300 {\n\t\t\ttimeout 5s\n\
                \t\t\thalf_open 4\n\t\t}\n\t}\n\treverse_proxy /c c {\n\t\tbreaker consecutive 5\n\t}\n}\n";
    let adapted = adapted(text);
    let json = adapted.config.to_json();
    let rate = r#""circuit_breaker":{"failures":30,"half_open_requests":4,"timeout":5000000000,"type":"rate","window":300}"#;
    let row = r#""circuit_breaker":{"failures":5,"type":"consecutive"}"#;
    for expected in [rate, row, r#""health_checks":{"active":{"tcp":true}}"#] {
        assert!(json.contains(expected), "{expected} in {json}");
    }
    assert!(adapted.warnings.is_empty());
}

#[test]
fn a_breaker_in_json_says_what_is_wrong() {
    fields_say(&[
        (
            r#""circuit_breaker":{}"#,
            "circuit_breaker: the field `type` is missing",
        ),
        (
            r#""circuit_breaker":{"type":"latency","failures":1}"#,
            "circuit_breaker.type: unknown or unsupported type",
        ),
        (
            r#""circuit_breaker":{"type":"consecutive","failures":0}"#,
            "circuit_breaker.failures: expected a whole number from 1 to 4294967295",
        ),
        (
            r#""circuit_breaker":{"type":"consecutive","failures":1,"window":2}"#,
            "circuit_breaker.window: unknown or unsupported field",
        ),
        (
            r#""circuit_breaker":{"type":"rate","failures":3}"#,
            "circuit_breaker: the field `window` is missing",
        ),
        (
            r#""circuit_breaker":{"type":"rate","failures":3,"window":2}"#,
            "circuit_breaker.window: fewer requests than failures: it would never open",
        ),
    ]);
}
