//! What becomes of fields.

use super::*;
use crate::routing::tests::context;

fn name(text: &str) -> HeaderName {
    HeaderName::from_bytes(text.as_bytes()).unwrap()
}

fn text(value: &str) -> Template {
    value.parse().unwrap()
}

fn on(ops: &HeaderOps, fields: &mut HeaderMap, uri: &str) {
    let cx = &context("GET", uri);
    ops.apply(&mut Beside { cx, fields });
}

#[test]
fn the_value_of_another_field_is_set_as_it_came() {
    let ops = HeaderOps {
        set: vec![(
            name("x-out"),
            text("<{http.request.header.X-In}>{http.request.method}"),
        )],
        ..HeaderOps::default()
    };
    let mut cx = context("GET", "http://a/");
    for (values, expected) in [
        (&[&b"a\xffb"[..]][..], &b"<a\xffb>GET"[..]),
        (&[b"\xe4", b"\xc3\xa4"], b"<\xe4,\xc3\xa4>GET"),
        (&[b""], b"<>GET"),
        (&[], b"<>GET"),
    ] {
        cx.parts.headers.clear();
        for value in values {
            cx.parts
                .headers
                .append("x-in", HeaderValue::from_bytes(value).unwrap());
        }
        ops.apply(&mut OfRequest(&mut cx));
        assert_eq!(cx.parts.headers["x-out"].as_bytes(), expected);
    }
}

#[test]
fn a_client_cannot_keep_its_own_value_of_a_field_that_is_set() {
    for query in ["%0a", "%0d%0aA:b", "%00", "%7f"] {
        let ops = HeaderOps {
            set: vec![(name("x-user"), text("u={http.request.uri.query.u}"))],
            replace: vec![Replacement {
                field: Some(name("x-role")),
                search: Search::Text(text("admin")),
                replace: text("{http.request.uri.query.u}"),
            }],
            ..HeaderOps::default()
        };
        let mut cx = context("GET", &format!("http://a/?u={query}"));
        cx.parts.headers.insert("x-user", "admin".parse().unwrap());
        cx.parts.headers.insert("x-role", "admin".parse().unwrap());
        ops.apply(&mut OfRequest(&mut cx));
        for field in ["x-user", "x-role"] {
            let value = cx.parts.headers[field].to_str().unwrap();
            assert!(!value.contains("admin"), "{query}: {field}: {value}");
        }
    }
}

#[test]
fn placeholders_see_what_was_changed_before_them() {
    let ops = HeaderOps {
        add: vec![(name("x-a"), text("1"))],
        set: vec![(name("x-b"), text("{http.request.header.X-A}"))],
        ..HeaderOps::default()
    };
    let mut cx = context("GET", "http://a/");
    ops.apply(&mut OfRequest(&mut cx));
    assert_eq!(cx.parts.headers["x-b"], "1");
}

#[test]
fn the_order_is_add_set_delete_replace() {
    let ops = HeaderOps {
        add: vec![(name("x-a"), text("2"))],
        set: vec![(name("x-b"), text("old {http.request.method}"))],
        delete: vec![NamePattern::parse("X-A").unwrap()],
        replace: vec![Replacement {
            field: Some(name("x-b")),
            search: Search::Regex(Regex::new("^(o)ld").unwrap()),
            replace: text("${1}k"),
        }],
    };
    let mut headers = HeaderMap::new();
    headers.insert("x-a", HeaderValue::from_static("1"));
    on(&ops, &mut headers, "http://a/");

    assert!(!headers.contains_key("x-a"));
    assert_eq!(headers["x-b"], "ok GET");
}

#[test]
fn names_are_deleted_by_pattern() {
    for (pattern, left) in [
        ("X-*", vec!["date"]),
        ("*te", vec!["x-a"]),
        ("*at*", vec!["x-a"]),
        ("*", vec![]),
    ] {
        let ops = HeaderOps {
            delete: vec![NamePattern::parse(pattern).unwrap()],
            ..HeaderOps::default()
        };
        let mut headers = HeaderMap::new();
        headers.insert("x-a", HeaderValue::from_static("1"));
        headers.insert("date", HeaderValue::from_static("1"));
        on(&ops, &mut headers, "http://a/");
        assert_eq!(
            headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(),
            left,
            "{pattern}"
        );
    }
}

#[test]
fn a_value_cannot_split_the_head() {
    let ops = HeaderOps {
        set: vec![(name("x"), text("{http.request.uri.path}"))],
        ..HeaderOps::default()
    };
    let mut headers = HeaderMap::new();
    on(&ops, &mut headers, "http://a/%0d%0aset-cookie:%20x");
    assert_eq!(headers["x"], "/  set-cookie: x");
}

#[test]
fn a_default_applies_only_to_an_absent_field() {
    let ops = ResponseOps {
        ops: HeaderOps {
            set: vec![(name("x"), text("default"))],
            ..HeaderOps::default()
        },
        only: ResponseMatcher {
            fields: vec![(name("x"), None)],
            ..ResponseMatcher::default()
        },
        ..ResponseOps::default()
    };
    let mut cx = context("GET", "http://a/");
    ops.apply(200, &mut cx);
    assert_eq!(cx.answer["x"], "default");
    cx.answer.insert("x", HeaderValue::from_static("own"));
    ops.apply(200, &mut cx);
    assert_eq!(cx.answer["x"], "own");
}
