//! Each matcher as Caddy has it.

use super::*;
use crate::routing::slots::Slots;
use crate::routing::template::Template;
use crate::routing::tests::context;

fn alone(matcher: Matcher) -> MatcherSet {
    MatcherSet {
        others: vec![matcher],
        ..MatcherSet::default()
    }
}

fn text(text: &str) -> Template {
    text.parse().unwrap()
}

fn matches(set: &MatcherSet, cx: &mut Context) -> bool {
    set.matches(cx).unwrap()
}

#[test]
fn all_matchers_of_a_set_must_match() {
    let set = MatcherSet {
        host: Some(HostMatcher::new(["a.test"])),
        path: Some(vec![PathPattern::new("/x/*"), PathPattern::new("/y")]),
        method: Some(vec![Method::GET]),
        others: vec![Matcher::Protocol(Protocol::Http)],
    };
    for (method, uri, expected) in [
        ("GET", "http://a.test/x/1", true),
        ("GET", "http://A.test:81/y", true),
        ("POST", "http://a.test/x/1", false),
        ("GET", "http://b.test/x/1", false),
        ("GET", "http://a.test/z", false),
    ] {
        assert_eq!(
            matches(&set, &mut context(method, uri)),
            expected,
            "{method} {uri}"
        );
    }
}

#[test]
fn a_path_regexp_sees_the_decoded_clean_path_in_its_own_case() {
    for (pattern, path, expected) in [
        ("^/A b$", "/A%20b", true),
        ("^/a b$", "/A%20b", false),
        ("^/x/y$", "/x//y", true),
        ("b", "/abc", true),
    ] {
        let regexp = Regexp::new(regex::Regex::new(pattern).unwrap(), None);
        let set = alone(Matcher::PathRegexp(regexp));
        let mut cx = context("GET", &format!("http://a.test{path}"));
        assert_eq!(matches(&set, &mut cx), expected, "{pattern} on {path}");
    }
}

#[test]
fn a_query_matches_by_decoded_pairs_all_keys_and_any_value() {
    let query = |pairs: &[(&str, &[&str])]| {
        let pairs = pairs
            .iter()
            .map(|(key, values)| (text(key), values.iter().map(|value| text(value)).collect()));
        alone(Matcher::Query(QueryMatcher(pairs.collect())))
    };
    let one = query(&[("a", &["1", "2"])]);
    let any = query(&[("a", &["*"])]);
    let two = query(&[("a", &["1"]), ("b", &["x y"])]);
    let none = query(&[]);
    for (given, expected) in [
        ("", [false, false, false, true]),
        ("a=2", [true, true, false, false]),
        ("a=3", [false, true, false, false]),
        ("a=3&a=1", [true, true, false, false]),
        ("a", [false, true, false, false]),
        ("a=1&b=x+y", [true, true, true, false]),
        ("a=1&b=x%20y", [true, true, true, false]),
        ("a=1&b=%zz", [false, false, false, false]),
        ("a=1;b=2", [false, false, false, false]),
        ("&&", [false, false, false, true]),
    ] {
        let mut cx = context("GET", &format!("http://a.test/?{given}"));
        let found = [&one, &any, &two, &none].map(|set| matches(set, &mut cx));
        assert_eq!(found, expected, "{given}");
    }
}

#[test]
fn fields_match_by_value_with_wildcards_at_the_ends() {
    let field = |wanted| {
        alone(Matcher::Header(FieldMatcher(vec![(
            "x-a".parse().unwrap(),
            wanted,
        )])))
    };
    let one_of = |values: &[&str]| Wanted::OneOf(values.iter().map(|value| text(value)).collect());
    let mut with = context("GET", "http://a.test/");
    with.parts.headers.append("x-a", "one".parse().unwrap());
    with.parts.headers.append("x-a", "a.test".parse().unwrap());
    let mut without = context("GET", "http://a.test/");
    for (wanted, there, absent) in [
        (Wanted::Absent, false, true),
        (Wanted::Present, true, false),
        (one_of(&["two", "one"]), true, false),
        (one_of(&["ONE"]), false, false),
        (one_of(&["o*"]), true, false),
        (one_of(&["*e"]), true, false),
        (one_of(&["*n*"]), true, false),
        (one_of(&["*"]), true, false),
        (one_of(&["{http.request.host}"]), true, false),
    ] {
        let set = field(wanted);
        assert_eq!(
            (matches(&set, &mut with), matches(&set, &mut without)),
            (there, absent),
            "{set:?}"
        );
    }
}

#[test]
fn a_protocol_is_a_scheme_a_version_or_grpc() {
    let mut cx = context("POST", "http://a.test/");
    cx.parts.version = Version::HTTP_2;
    cx.parts
        .headers
        .insert("content-type", "application/grpc+proto".parse().unwrap());
    for (name, expected) in [
        ("http", true),
        ("https", false),
        ("grpc", true),
        ("http/1.0", false),
        ("http/1.0+", true),
        ("http/1.1+", true),
        ("http/2", true),
        ("http/2+", true),
        ("http/3+", false),
        ("http/1", false),
        ("HTTP", false),
    ] {
        let protocol: Protocol = name.parse().unwrap();
        assert_eq!(
            matches(&alone(Matcher::Protocol(protocol)), &mut cx),
            expected,
            "{name}"
        );
    }
}

#[test]
fn addresses_are_those_of_the_peer_or_of_the_client() {
    let mut cx = context("GET", "http://a.test/");
    let set = |range: &str| Arc::new(IpSet::new(&[range.parse().unwrap()]));
    assert!(matches(&alone(Matcher::RemoteIp(set("192.0.2.1/32"))), &mut cx));
    assert!(!matches(&alone(Matcher::RemoteIp(set("192.0.2.9/32"))), &mut cx));
    assert!(matches(&alone(Matcher::ClientIp(set("192.0.2.9/32"))), &mut cx));
    cx.peer = None;
    assert!(!matches(&alone(Matcher::RemoteIp(set("0.0.0.0/0"))), &mut cx));
}

#[test]
fn one_of_several_variables_is_enough() {
    let mut slots = Slots::default();
    let mut template = |text: &str| {
        Template::new(
            &text.parse().unwrap(),
            crate::routing::template::Unknown::Empty,
            &mut slots,
        )
    };
    let vars = vec![
        VarMatcher {
            value: template("{http.vars.a}"),
            wanted: vec![text("1")],
        },
        VarMatcher {
            value: template("{http.request.method}"),
            wanted: vec![text("PUT"), text("POST")],
        },
    ];
    let set = alone(Matcher::Vars(vars));
    assert!(!matches(&set, &mut context("GET", "http://a.test/")));
    assert!(matches(&set, &mut context("POST", "http://a.test/")));
    let mut cx = context("GET", "http://a.test/");
    let slot = slots.find("http.vars.a").unwrap();
    cx.vars.set(slot, crate::routing::slots::Value::Number(1.into()));
    assert!(matches(&set, &mut cx));
    assert!(matches(&alone(Matcher::Vars(Vec::new())), &mut cx));
}

#[test]
fn not_means_none_of_the_sets() {
    let set = alone(Matcher::Not(vec![
        MatcherSet {
            path: Some(vec![PathPattern::new("/a*")]),
            ..MatcherSet::default()
        },
        alone(Matcher::Protocol(Protocol::Https)),
    ]));
    assert!(!matches(&set, &mut context("GET", "http://a.test/ab")));
    assert!(matches(&set, &mut context("GET", "http://a.test/b")));
}
