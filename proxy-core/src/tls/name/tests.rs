//! Reading and matching of names.

use super::*;

fn parse(text: &str) -> ServedName {
    ServedName::parse(text).unwrap()
}

#[test]
fn names_lose_case_trailing_dot_and_brackets() {
    assert_eq!(
        parse("App.Example.COM."),
        ServedName::Host("app.example.com".into())
    );
    assert_eq!(parse("*.Example.com"), ServedName::Wildcard("example.com".into()));
    assert_eq!(parse("localhost"), ServedName::Host("localhost".into()));
    assert_eq!(
        parse("[2001:DB8::1]"),
        ServedName::Address("2001:db8::1".parse().unwrap())
    );
    assert_eq!(
        parse("::ffff:192.0.2.1"),
        ServedName::Address("192.0.2.1".parse().unwrap())
    );
}

#[test]
fn what_is_no_name_is_refused_with_a_way_out() {
    for text in [
        "",
        ".",
        "*",
        "*.",
        "a.*.com",
        "*.*.com",
        "a b",
        "bücher.example",
        "a..b",
        "-",
        "[a]",
    ] {
        let error = ServedName::parse(text).unwrap_err().to_string();
        assert!(
            error.contains(&format!("{text:?}")) && error.contains("ASCII form"),
            "{error}"
        );
    }
}

#[test]
fn a_wildcard_covers_exactly_one_label() {
    let wildcard = parse("*.example.com");
    for (name, covered) in [
        ("a.example.com", true),
        ("*.example.com", true),
        ("example.com", false),
        ("a.b.example.com", false),
        ("a.example.org", false),
        ("aexample.com", false),
    ] {
        assert_eq!(wildcard.covers(&parse(name)), covered, "{name}");
    }
    assert!(!parse("a.example.com").covers(&wildcard));
}

#[test]
fn a_certificate_holds_the_name_as_it_was_meant() {
    for text in ["app.example.com", "*.example.com", "192.0.2.1", "2001:db8::1"] {
        assert_eq!(parse(text).in_certificate(), text);
    }
}
