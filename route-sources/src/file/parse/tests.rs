//! YAML and JSON out of texts, friendly and hostile.

use serde_json::json;

use super::super::deep::deep;
use super::*;

fn error(read: Result<Node, ParseError>) -> ParseError {
    read.unwrap_err()
}

#[test]
fn yaml_is_read_with_its_lines() {
    let text = "# routes\nroutes:\n  - host: a.test\n    port: 80\n    tls: true\n  - host: \"b\"\n    ratio: 0.5\n    none: ~\n";
    let node = yaml(text).unwrap();
    assert_eq!(
        node.to_json(),
        json!({"routes": [{"host": "a.test", "port": 80, "tls": true}, {"host": "b", "ratio": 0.5, "none": null}]})
    );
    assert_eq!(node.line_of("routes[0].port"), 4);
    assert_eq!(node.line_of("routes[1].host"), 6);
    assert_eq!(node.line_of("routes[1]"), 6);
}

#[test]
fn anchors_and_merges_are_read() {
    let text = "base: &base\n  port: 80\nroutes:\n  - <<: *base\n    host: a\n  - *base\n";
    let node = yaml(text).unwrap();
    assert_eq!(
        node.to_json()["routes"],
        json!([{"port": 80, "host": "a"}, {"port": 80}])
    );
}

#[test]
fn nothing_is_nothing_in_every_format() {
    for text in ["", "\n \n", "\u{feff}", "# only a comment\n", "---\n", "null"] {
        assert_eq!(yaml(text).unwrap().kind, Kind::Null, "{text:?}");
    }
    for text in ["", " \n", "null"] {
        assert_eq!(json(text).unwrap().kind, Kind::Null, "{text:?}");
    }
}

#[test]
fn broken_yaml_has_a_line_and_shows_no_text() {
    for (text, line) in [
        ("routes:\n  - host: [a\n", 2),
        ("a: 1\nsecret: \"hunter2\n", 0),
        ("a:\n\t- b\n", 0),
        ("a: 1\na: 2\n", 2),
        ("a: 1\n---\nb: 2\n", 0),
    ] {
        let error = error(yaml(text));
        assert!(line == 0 || error.line == line, "{text:?}: {error:?}");
        assert!(
            !error.message.is_empty() && !error.message.contains("hunter2"),
            "{error:?}"
        );
        assert!(!error.message.contains('\n'));
    }
}

#[test]
fn hostile_yaml_is_bounded() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(",");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    for text in [
        bomb,
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        "&a [*a]".to_owned(),
        "!!".repeat(1000),
        format!("a: &a {}\nb: [{}]\n", "x".repeat(1000), "*a,".repeat(50_000)),
    ] {
        let start: String = text.chars().take(20).collect();
        assert!(deep(|| yaml(&text).is_err()).unwrap(), "{start}");
    }
}

#[test]
fn json_is_read_with_the_lines_of_items() {
    let text = "{\n  \"hosts\": [\n    {\"host\": \"a\"},\n\n    {\"host\": \"b\",\n     \"x\": [1]}],\n \"routes\": [{\"y\":\n1}], \"z\": {}\n}";
    let node = json(text).unwrap();
    assert_eq!(node.line_of("hosts[0].host"), 3);
    assert_eq!(node.line_of("hosts[1].x"), 5);
    assert_eq!(node.line_of("routes[0]"), 7);
}

#[test]
fn broken_json_has_a_line() {
    for (text, line) in [("{\n\"a\": }", 2), ("{\"a\":1,\n\"a\":2}", 2), ("{} {}", 1)] {
        assert_eq!(error(json(text)).line, line, "{text}");
    }
    assert!(json(&"[".repeat(100_000)).is_err());
}
