//! Documents out of texts of all versions.

use serde_json::json;

use super::*;

fn error(text: &str) -> ReadError {
    read(text).expect_err(text)
}

#[test]
fn the_newest_version_is_read_with_or_without_its_number() {
    for text in [
        r#"{"schema_version":2,"host":"A.test","upstreams":[]}"#,
        r#"{"host":"a.test","upstreams":[],"eskip":null}"#,
    ] {
        assert_eq!(read(text).unwrap().host().as_str(), "a.test");
    }
}

#[test]
fn version_one_is_upgraded() {
    let text = r#"{"schema_version":1,"route":{"host":"a.test","upstreams":[{"ip":"10.0.0.1","port":80}]}}"#;
    let document = read(text).unwrap();
    assert_eq!(document, read(&document.to_json()).unwrap());
    assert_eq!(document.raw().schema_version, SCHEMA_VERSION);
    for (text, expected) in [
        (r#"{"schema_version":1}"#, "route: it is missing"),
        (
            r#"{"schema_version":1,"route":{},"plugins":[]}"#,
            "plugins: documents of version 1 have nothing but a `route`",
        ),
        (
            r#"{"schema_version":1,"route":{"host":"a","upstreams":[{"ip":"a","port":0}]}}"#,
            "route.upstreams[0].port: a whole number from 1 to 65535 is expected",
        ),
        (
            r#"{"schema_version":1,"route":7}"#,
            "route: an object is expected, not a number",
        ),
    ] {
        assert!(error(text).to_string().starts_with(expected), "{}", error(text));
    }
}

#[test]
fn a_newer_version_is_told_before_anything_else_is_looked_at() {
    for (text, host) in [
        (
            r#"{"schema_version":3,"host":"A.test","what":{"host":1},"what":2}"#,
            Some("a.test"),
        ),
        (
            r#"{"schema_version":99,"route":{"host":"b.test"}}"#,
            Some("b.test"),
        ),
        (r#"{"schema_version":4,"host":{"name":"c"}}"#, None),
        (r#"{"schema_version":18446744073709551615}"#, None),
    ] {
        let error = error(text);
        assert!(matches!(error, ReadError::Newer { .. }), "{error}");
        assert_eq!(error.host().map(HostName::as_str), host);
    }
    assert_eq!(
        error(r#"{"schema_version":3}"#).to_string(),
        "the document has schema version 3, and this program reads versions up to 2"
    );
}

#[test]
fn a_version_that_is_none_is_refused() {
    for version in ["0", "-1", "1.5", "\"2\"", "null", "[]", "1e99"] {
        let error = error(&format!(
            r#"{{"schema_version":{version},"host":"a.test","upstreams":[]}}"#
        ));
        assert!(
            error.to_string().starts_with("schema_version: a whole number"),
            "{version}: {error}"
        );
        assert_eq!(error.host().unwrap().as_str(), "a.test");
    }
}

#[test]
fn broken_json_is_told_with_its_place() {
    for (text, line, column) in [
        ("", 1, 0),
        ("{\n  \"host\": ", 2, 10),
        ("{\"host\":\"a\"", 1, 11),
        ("{} x", 1, 4),
    ] {
        let ReadError::Json {
            line: at,
            column: col,
            message,
        } = error(text)
        else {
            panic!("{text}");
        };
        assert_eq!((at, col), (line, column), "{text}: {message}");
        assert!(!message.contains("line"), "{message}");
    }
    let deep = format!("{{\"handlers\":{}", "[".repeat(100_000));
    assert!(matches!(error(&deep), ReadError::Json { .. }));
}

#[test]
fn a_name_that_is_there_twice_is_refused_at_any_depth() {
    let text = r#"{"host":"a.test","handlers":[{"handler":"authentication","handler":"encode"}]}"#;
    let ReadError::Json { message, line: 1, .. } = error(text) else {
        panic!();
    };
    assert_eq!(message, "`handler` is there twice");
}

#[test]
fn unknown_fields_are_told_with_their_place_also_where_parts_are_flat() {
    let text = json!({
        "host": "a.test",
        "upstream": [],
        "upstreams": [{"address": "a:80", "wieght": 3}],
        "paths": [{"pattern": ["/a"], "patterns": ["/a"], "handlrs": [], "eskip": "* -> <shunt>"}],
        "headers": {"response": {"added": []}},
        "tls": {"certificate": "a", "key": "b", "zebra": 1},
    });
    let error = error(&text.to_string());
    let ReadError::Invalid { problems, .. } = error else {
        panic!();
    };
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "tls.zebra: there is no such field",
            "headers.response.added: there is no such field; did you mean `add`?",
            "paths[0].handlrs: there is no such field; did you mean `handlers`?",
            "paths[0].pattern: there is no such field; did you mean `patterns`?",
            "upstreams[0].wieght: there is no such field; did you mean `weight`?",
            "upstream: there is no such field; did you mean `upstreams`?",
        ]
    );
}

#[test]
fn wrong_types_are_told_without_the_value() {
    let text =
        json!({"host": 7, "aliases": "a", "paths": [5], "upstreams": [{"address": [], "weight": "hunter2"}]});
    let message = error(&text.to_string()).to_string();
    for part in [
        "host: the name of a host is expected",
        "aliases: a list is expected, not text",
        "paths[0]: an object is expected, not a number",
        "upstreams[0].address: text is expected, not a list",
        "upstreams[0].weight: a whole number from 1 to 65535 is expected, not text",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("hunter2"));
    assert!(error("[]").to_string().contains("an object is expected"));
}

#[test]
fn a_document_of_another_proxy_is_told_apart() {
    let newer = error(r#"{"schema_version":2,"host":{"name":"a.test","locations":[]}}"#).to_string();
    assert!(newer.contains("newer releases of Proksi"), "{newer}");
    let older = error(r#"{"route":{"host":"a.test"}}"#);
    assert!(older.to_string().contains("\"schema_version\": 1"), "{older}");
    assert_eq!(older.host().unwrap().as_str(), "a.test");
}

#[test]
fn a_document_has_a_length_and_few_problems() {
    let long = format!(r#"{{"host":"a.test","eskip":"{}"}}"#, " ".repeat(1 << 20));
    assert!(matches!(error(&long), ReadError::TooLong { .. }));
    let many = format!(r#"{{"host":"a.test","upstreams":[{}0]}}"#, "0,".repeat(100_000));
    let ReadError::Invalid { problems, .. } = error(&many) else {
        panic!();
    };
    assert_eq!(problems.iter().count(), 100);
}
