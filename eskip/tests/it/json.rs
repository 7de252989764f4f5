//! Routes as JSON.

use eskip::{are_equivalent, from_json, to_json, to_json_pretty};

use crate::parsed;

#[test]
fn routes_are_printed_as_json_and_read_back() {
    for (document, json) in [
        ("* -> <loopback>", r#"[{"backend":{"type":"loopback"}}]"#),
        ("* -> \"\"", "[{}]"),
        (
            "foo: * -> \"127.0.0.1\"",
            r#"[{"id":"foo","backend":{"type":"network","address":"127.0.0.1"}}]"#,
        ),
        (
            "bar: * -> <loopback>",
            r#"[{"id":"bar","backend":{"type":"loopback"}}]"#,
        ),
        (
            "beef: * -> <yolo, \"http://localhost\", \"http://a?zone=z\">",
            r#"[{"id":"beef","backend":{"type":"lb","algorithm":"yolo","endpoints":["http://localhost","http://a?zone=z"]}}]"#,
        ),
        (
            "* -> <\"http://localhost\">",
            r#"[{"backend":{"type":"lb","endpoints":["http://localhost"]}}]"#,
        ),
        (
            "shunty: * -> <shunt>",
            r#"[{"id":"shunty","backend":{"type":"shunt"}}]"#,
        ),
        ("* -> <dynamic>", r#"[{"backend":{"type":"dynamic"}}]"#),
        ("* -> <forward>", r#"[{"backend":{"type":"forward"}}]"#),
        (
            "Test() -> xsrf() -> \"\"",
            r#"[{"predicates":[{"name":"Test"}],"filters":[{"name":"xsrf"}]}]"#,
        ),
        (
            "a: Path(\"/foo\") && Header(\"Bar\", \"<&>\") && Method(\"GET\") -> setPath(\"/\\u\\n\") -> \"127.0.0.1\"",
            concat!(
                r#"[{"id":"a","backend":{"type":"network","address":"127.0.0.1"},"#,
                r#""predicates":[{"name":"Header","args":["Bar","<&>"]},{"name":"Method","args":["GET"]},{"name":"Path","args":["/foo"]}],"#,
                r#""filters":[{"name":"setPath","args":["/\\u\n"]}]}]"#
            ),
        ),
        (
            "* -> f(3.14, \"hello\", -42, 1000000, .5) -> <shunt>",
            r#"[{"backend":{"type":"shunt"},"filters":[{"name":"f","args":[3.14,"hello",-42,1000000,0.5]}]}]"#,
        ),
        // Those with the same name stay in their order.
        (
            "PathRegexp(/b/) && Host(/2/) && PathRegexp(/a/) && Host(/1/) -> <shunt>",
            concat!(
                r#"[{"backend":{"type":"shunt"},"predicates":[{"name":"Host","args":["2"]},{"name":"Host","args":["1"]},"#,
                r#"{"name":"PathRegexp","args":["b"]},{"name":"PathRegexp","args":["a"]}]}]"#
            ),
        ),
        ("", "[]"),
    ] {
        let routes = parsed(document);
        assert_eq!(to_json(&routes), json);
        for text in [json, &to_json_pretty(&routes)] {
            let read = from_json(text).unwrap();
            assert!(are_equivalent(&read, &routes), "{text}");
        }
    }
}

#[test]
fn one_route_and_short_forms_are_read() {
    for (json, document) in [
        (r#"{"id":"a"}"#, "a: * -> \"\""),
        (r#" {"backend":{"address":"http://a"}}"#, "* -> \"http://a\""),
        (
            r#"[{"backend":{"type":"","address":"http://a"},"predicates":null,"filters":[]}]"#,
            "* -> \"http://a\"",
        ),
        (
            r#"[{"predicates":[{"name":"*"},{"name":"Any"},{"name":"P","args":null}]}]"#,
            "P() -> \"\"",
        ),
        ("\u{feff}[]", ""),
        (
            r#"[{"filters":[{"name":"f","args":[1e2,12345678901234567890,-1]}]}]"#,
            "* -> f(100, 12345678901234567000, -1) -> \"\"",
        ),
    ] {
        assert_eq!(from_json(json).unwrap(), parsed(document), "{json}");
    }
}

#[test]
fn wrong_json_says_where_and_why() {
    for (json, reason) in [
        ("", "EOF"),
        ("{\\", "key must be a string"),
        ("null", "invalid type: null"),
        ("1", "invalid type"),
        (r#"{"backend":{"type":"foo"}}"#, "unsupported backend type: foo"),
        (
            r#"{"backend":{"type":"shunt","address":"http://a"}}"#,
            "a backend of type \"shunt\" has no address",
        ),
        (
            r#"{"backend":{"endpoints":["http://a"]}}"#,
            "has neither an algorithm nor endpoints",
        ),
        (r#"{"backend":{"type":"lb"}}"#, "loadbalancer without an endpoint"),
        (
            r#"{"backend":{"type":"lb","endpoints":["localhost"]}}"#,
            "it has no scheme",
        ),
        (
            r#"{"backend":{"type":"lb","endpoints":["http://a","https://a"]}}"#,
            "mixed protocols",
        ),
        (r#"{"id":"a-b"}"#, "\"a-b\" is no name"),
        (r#"{"filters":[{"name":"a b"}]}"#, "is no name"),
        (r#"{"filters":[{"name":""}]}"#, "is no name"),
        (r#"{"filters":[{"args":[]}]}"#, "missing field `name`"),
        (
            r#"{"filters":[{"name":"f","args":[true]}]}"#,
            "expected a number or a string",
        ),
        (
            r#"{"filters":[{"name":"f","args":[[1]]}]}"#,
            "expected a number or a string",
        ),
        (
            r#"{"filters":[{"name":"f","args":[1e999]}]}"#,
            "number out of range",
        ),
        (
            r#"{"predicates":[{"name":"Path"}]}"#,
            "Path predicate expects 1 string argument",
        ),
        (r#"{"id":"a","routes":[]}"#, "unknown field `routes`"),
        (r#"[{"id":"a"},{"id":"b","id":"c"}]"#, "duplicate field `id`"),
        ("[{}] x", "trailing characters"),
    ] {
        let error = from_json(json).unwrap_err();
        assert!(error.to_string().contains(reason), "{json}: {error}");
    }
    for (json, said) in [
        (
            "[\n  {\"id\": \"a\"},\n  {\"ids\": 1}\n]",
            "unknown field `ids`, expected one of `id`, `backend`, `predicates`, `filters` at line 3 column 8",
        ),
        (
            "[{\"id\": \"a\"}, {\"id\": \"b\", \"predicates\": [{\"name\": \"Path\"}]}]",
            "route 2: invalid route \"b\": Path predicate expects 1 string argument",
        ),
        (
            "{\"id\": \"-\"}",
            "route 1: \"-\" is no name: names begin with a letter or `_`, and have letters, digits and `_`",
        ),
    ] {
        assert_eq!(from_json(json).unwrap_err().to_string(), said);
    }
}
