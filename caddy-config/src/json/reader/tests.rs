//! Each rule of JSON, and each limit.

use super::{Node, Value, is_number, read};
use crate::source::{Report, Sources};

fn accepted(text: &str) -> Node {
    let mut report = Report::default();
    let node = read(text, &mut report);
    let findings = report.finish((), &Sources::new("t", text));
    assert!(findings.is_ok(), "{text}: {findings:?}");
    node.unwrap()
}

fn refused(text: &str) -> String {
    let mut report = Report::default();
    read(text, &mut report);
    report
        .finish((), &Sources::new("t", text))
        .unwrap_err()
        .to_string()
}

fn string(text: &str) -> String {
    let Value::String(string) = accepted(text).value else {
        panic!("{text} is no string")
    };
    string
}

#[test]
fn every_kind_of_value_is_read_with_its_span() {
    let node = accepted(r#" {"a": [null, true, false, -1.5e+3, "x"], "b": {}} "#);
    assert_eq!((node.span.start, node.span.end), (1, 50));
    let Value::Object(members) = node.value else {
        panic!("no object")
    };
    assert_eq!(members[0].key, "a");
    assert_eq!((members[0].key_span.start, members[0].key_span.end), (2, 5));
    let Value::Array(items) = &members[0].node.value else {
        panic!("no array")
    };
    assert!(matches!(items[0].value, Value::Null));
    assert!(matches!(items[1].value, Value::Bool(true)));
    assert!(matches!(items[2].value, Value::Bool(false)));
    assert!(matches!(&items[3].value, Value::Number(text) if text == "-1.5e+3"));
    assert!(matches!(&items[4].value, Value::String(text) if text == "x"));
}

#[test]
fn escapes_become_their_characters() {
    assert_eq!(string(r#""\"\\\/\b\f\n\r\t""#), "\"\\/\u{8}\u{c}\n\r\t");
    assert_eq!(string(r#""\u00e9\ud83d\ude00""#), "\u{e9}\u{1f600}");
    assert_eq!(string("\"\u{e9}\u{1f600}\u{7f}\""), "\u{e9}\u{1f600}\u{7f}");
}

#[test]
fn numbers_have_the_form_of_the_standard() {
    for text in ["0", "-0", "10", "1.0", "1e5", "1E-5", "1.25e+10"] {
        assert!(is_number(text), "{text}");
    }
    for text in ["", "-", "01", "1.", ".1", "1e", "1e+", "+1", "1.2.3", "1-2"] {
        assert!(!is_number(text), "{text}");
    }
}

#[test]
fn what_is_no_json_says_what_is_wrong_and_where() {
    let cases = [
        ("", "t:1:1: the text ends where a value is expected"),
        ("{\"a\": 1", "t:1:1: this bracket is never closed"),
        ("[1, 2", "t:1:1: this bracket is never closed"),
        ("[1,]", "t:1:3: a comma before `]`"),
        ("{\"a\":1,}", "t:1:7: a comma before `}`"),
        ("{a: 1}", "t:1:2: expected a key"),
        ("{\"a\" 1}", "t:1:6: expected `:` behind the key"),
        ("{\"a\":1 \"b\":2}", "t:1:8: expected `,` or `}`"),
        ("{} {}", "t:1:4: unexpected text behind the document"),
        ("\n  tru", "t:2:3: expected a value"),
        ("'x'", "t:1:1: expected a value"),
        ("// x", "t:1:1: expected a value"),
        ("\"x", "t:1:1: this string is never closed"),
        ("\"a\u{0}\"", "t:1:3: a control character inside a string"),
        ("\"a\nb\"", "t:1:3: a control character inside a string"),
        ("\"\\x\"", "t:1:2: this is not an escape"),
        ("\"\\u12g4\"", "t:1:2: \\u needs four hexadecimal digits"),
        ("\"\\ud800\"", "t:1:2: half of a surrogate pair"),
        ("\"\\ud800\\u0041\"", "t:1:2: half of a surrogate pair"),
        ("[01]", "t:1:2: this is not a number"),
        ("[\u{e9}]", "t:1:2: expected a value"),
    ];
    for (text, expected) in cases {
        let message = refused(text);
        assert!(message.starts_with(expected), "{text:?} gave {message}");
    }
}

#[test]
fn a_key_that_occurs_twice_is_an_error_at_the_second() {
    let message = refused("{\"a\": 1,\n \"a\": 2,\n \"a\": 3}");
    assert!(message.contains("t:2:2: the key `a` occurs twice"), "{message}");
    assert!(message.contains("t:3:2: the key `a` occurs twice"), "{message}");
}

#[test]
fn depth_is_limited() {
    accepted(&format!("{}{}", "[".repeat(128), "]".repeat(128)));
    let message = refused(&"[".repeat(100_000));
    assert!(
        message.starts_with("t:1:129: nested more than 128 deep"),
        "{message}"
    );
}

#[test]
fn the_number_of_values_is_limited() {
    let message = refused(&format!("[{}0]", "0,".repeat(2_000_000)));
    assert!(message.contains("more than 2000000 values"), "{message}");
}

#[test]
fn a_secret_is_masked_in_the_line_of_an_error() {
    let message = refused(r#"{"secret": "aGVsbG8=", "secret": "d29ybGQ="}"#);
    assert!(message.contains("occurs twice"), "{message}");
    assert!(
        !message.contains("aGVs") && !message.contains("d29y"),
        "{message}"
    );
    let message = refused(r#"{"secret": ["aGVsbG8=", oops]}"#);
    assert!(
        message.contains("expected a value") && !message.contains("aGVs"),
        "{message}"
    );
}
