//! What is said about texts that are wrong.

use eskip::{ErrorKind, parse, parse_filters, parse_predicates};

fn said(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn the_lines_for_logs_are_skippers() {
    for (text, expected) in [
        (
            "fooId: * -> #",
            "parse failed after token ->, last route id: fooId, position 12: syntax error",
        ),
        ("* -> #", "parse failed after token ->, position 5: syntax error"),
        (
            "r1: Path(\"/foo\") -> <shunt>; r2: Path(\"/bar\") -> #",
            "parse failed after token ->, last route id: r2, position 49: syntax error",
        ),
        // Behind what could be all, the character is the mistake.
        (
            "* -> <shunt> #",
            "parse failed after token <shunt>, position 13: unexpected token",
        ),
        ("#", "parse failed after token , position 0: unexpected token"),
        // The word that does not fit is the last one that was read.
        (
            "invalid code",
            "parse failed after token code, position 12: syntax error",
        ),
        (
            "* -> <shunt>;",
            "parse failed after token ;, position 13: syntax error",
        ),
        ("* -> f(", "parse failed after token (, position 7: syntax error"),
        (
            "* -> f(  // x",
            "parse failed after token (, position 13: syntax error",
        ),
        (
            "* -> f(\"a\\tb\" 1.50",
            "parse failed after token 1.50, position 18: syntax error",
        ),
        (
            "* -> f(1 \"a\\tb\"",
            "parse failed after token a\tb, position 15: syntax error",
        ),
        // What does not end is read to the end.
        (
            "* -> \"abc",
            "parse failed after token ->, position 9: incomplete token",
        ),
        (
            "* -> f(`abc\\`",
            "parse failed after token (, position 13: incomplete token",
        ),
        (
            "* -> f(/a[/]",
            "parse failed after token (, position 12: incomplete token",
        ),
        (
            "* -> f(3.",
            "parse failed after token (, position 9: incomplete token",
        ),
        (
            "a: * /",
            "parse failed after token *, last route id: a, position 5: invalid character",
        ),
        ("é", "parse failed after token , position 0: unexpected token"),
    ] {
        assert_eq!(said(text), expected, "{text}");
    }
}

#[test]
fn fragments_have_the_same_lines() {
    for (text, expected) in [
        (
            "trallala",
            "parse failed after token trallala, position 8: syntax error",
        ),
        (
            "foo-bar",
            "parse failed after token foo, position 3: syntax error",
        ),
        ("a() -> ;", "parse failed after token ;, position 8: syntax error"),
    ] {
        assert_eq!(parse_filters(text).unwrap_err().to_string(), expected);
    }
    for (text, expected) in [
        (
            "not predicates",
            "parse failed after token predicates, position 14: syntax error",
        ),
        (
            "Header#",
            "parse failed after token Header, position 6: syntax error",
        ),
        (
            "A() #",
            "parse failed after token ), position 4: unexpected token",
        ),
    ] {
        assert_eq!(parse_predicates(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn wrong_documents_are_refused() {
    for text in [
        // No `;` between routes, and routes without an id beside others.
        "a: * -> <shunt> b: * -> <shunt>",
        "* -> <shunt>; * -> <shunt>",
        "a: * -> <shunt>; * -> <shunt>",
        "* -> <shunt>; a: * -> <shunt>",
        "; * -> <shunt>",
        // Names.
        "a-b: * -> <shunt>",
        "a.b: * -> <shunt>",
        "9a: * -> <shunt>",
        "é: * -> <shunt>",
        "\"a\": * -> <shunt>",
        // Parts of a route.
        "-> <shunt>",
        "a: -> <shunt>",
        "a: <shunt>",
        "a: *",
        "a: * ->",
        "a:",
        "a",
        "a: * -> f()",
        "a: * -> f() ->",
        "a: * -> f -> <shunt>",
        "a: Path -> <shunt>",
        "a: * * -> <shunt>",
        "a: * & P() -> <shunt>",
        "a: P() || Q() -> <shunt>",
        "a: !P() -> <shunt>",
        "a: (P()) -> <shunt>",
        "a: * -> * -> <shunt>",
        "a: * -> <shunt> -> <shunt>",
        "a: * -> \"http://a\" -> f()",
        "a: * - > <shunt>",
        // Arguments.
        "a: P(,) -> <shunt>",
        "a: P(1,) -> <shunt>",
        "a: P(,1) -> <shunt>",
        "a: P(1 2) -> <shunt>",
        "a: P(x) -> <shunt>",
        "a: P(Q()) -> <shunt>",
        "a: P('x') -> <shunt>",
        "a: P(true) -> <shunt>",
        "a: P(//) -> <shunt>",
        "a: P(*) -> <shunt>",
        // Backends.
        "* -> <>",
        "* -> <   >",
        "* -> <roundRobin>",
        "* -> <roundRobin,>",
        "* -> <, \"http://a\">",
        "* -> <\"http://a\",>",
        "* -> <\"http://a\" \"http://b\">",
        "* -> <\"http://a\", roundRobin>",
        "* -> <\"http://a\"",
        "* -> < shunt>",
        "* -> <shunt >",
        "* -> <Shunt>",
        "* -> <1, \"http://a\">",
        "* -> </a/>",
        "* -> /http:/",
        "* -> 1",
        "* -> shunt",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn all_mistakes_come_at_once_in_the_order_of_the_text() {
    let text = "a: Path(1) -> <\"x\">;\nb: * -> ;\nc: Method(\"A\") && Method(\"B\") -> <shunt>;\nd: * -> <shunt>;\n# e";
    let errors = parse(text).unwrap_err();
    let places: Vec<_> = errors
        .iter()
        .map(|error| (error.place().line(), error.place().column()))
        .collect();
    assert_eq!(places, [(1, 4), (1, 16), (2, 9), (3, 19), (5, 1)]);
    let kinds: Vec<_> = errors.iter().map(|error| error.kind().clone()).collect();
    assert!(matches!(kinds[0], ErrorKind::Route(_)));
    assert_eq!(kinds[2], ErrorKind::Syntax);
    assert_eq!(kinds[4], ErrorKind::UnexpectedToken);
    let routes: Vec<_> = errors
        .iter()
        .map(|error| error.route().map(|id| id.to_string()))
        .collect();
    assert_eq!(
        routes,
        [Some("a"), Some("a"), Some("b"), Some("c"), Some("d")].map(|id| id.map(str::to_owned))
    );
}

#[test]
fn a_slash_or_quote_too_many_does_not_hide_what_is_behind() {
    for (first, second) in [
        ("a: Path(/api) -> \"http://a\";", "b: # -> <shunt>;"),
        ("a: Path(\"/api) -> <shunt>;", "b: # -> <shunt>;"),
        ("a: Path(/api) -> <shunt>;", "b: # -> <shunt>;"),
        ("a-b: Path(/api) -> \"http://a\";", "b: # -> <shunt>;"),
        ("a: * -> f(3.;", "b: # -> <shunt>;"),
    ] {
        let errors = parse(&format!("{first}\n{second}\nc: * -> <shunt>;\n")).unwrap_err();
        let lines: Vec<usize> = errors.iter().map(|error| error.place().line()).collect();
        assert_eq!(lines, [1, 2], "{first}: {errors}");
    }
    // What is closed is believed, over several lines, too.
    let errors = parse("a: # f(\"x;\ny\") -> <shunt>;\nb: * -> <shunt>").unwrap_err();
    assert_eq!(errors.iter().count(), 1);
}

#[test]
fn mistakes_have_a_place_and_a_way_out() {
    for (text, expected) in [
        (
            "a: * -> <shunt>\nb: * -> <shunt>",
            "f:2:1: expected `;` or the end, found the name `b`\n  2 | b: * -> <shunt>\n    | ^\n  help: put a `;` between routes",
        ),
        (
            "* -> <shunt>;",
            "f:1:13: expected the end of the text, found `;`\n  1 | * -> <shunt>;\n    |             ^\n  help: a route without an id stands alone: drop the `;`, or give the route an id, as in `id: ...`",
        ),
        (
            "* -> f(1e5) -> <shunt>",
            "f:1:9: expected `,` or `)`, found the name `e5`\n  1 | * -> f(1e5) -> <shunt>\n    |         ^^\n  help: numbers have no exponent and no unit: write digits, or a string such as \"100ms\"",
        ),
        (
            "# x\n",
            "f:1:1: this character begins no word of the language\n  1 | # x\n    | ^\n  help: comments begin with `//`",
        ),
        (
            "* -> <roundRobin>",
            "f:1:17: expected `,` and an address, found `>`\n  1 | * -> <roundRobin>\n    |                 ^\n  help: name at least one address, in quotes; <shunt>, <loopback>, <dynamic> and <forward> have no blanks inside",
        ),
        (
            "a: Host(/x/) && Path() -> <shunt>",
            "f:1:17: Path predicate expects 1 string argument\n  1 | a: Host(/x/) && Path() -> <shunt>\n    |                 ^^^^^^",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().report("f"), expected);
    }
    for (text, help) in [
        (
            "a: Path(\"/a) -> <shunt>;\nb: Path(\"/b\") -> <shunt>;",
            "over several lines: is a quote",
        ),
        (
            "a: Path(\"/a) -> <shunt>;\nb: Path(\"x\") -> <shunt>;",
            "over several lines: is a quote",
        ),
        (
            "a: Path(/a) -> <shunt>;\nb: PathRegexp(/b/) -> <shunt>;",
            "over several lines: is a quote",
        ),
        ("* -> f() -> <shunt >", "no blanks inside"),
        ("* -> f(x) -> <shunt>", "put quotes around strings"),
        ("P() | Q() -> <shunt>", "write two routes"),
        ("!P() -> <shunt>", "cannot be negated"),
        ("* -> f('x')", "between double quotes or backquotes"),
        ("a: * -> f()", "ends with its backend"),
        ("a: * ->", "ends with its backend"),
        ("a: P -> <shunt>", "even without arguments"),
        ("a-b: * -> <shunt>", "letters, digits and `_`"),
        ("a: * -> <shunt>; * -> <shunt>", "each has an id"),
        ("* => <shunt>", "the arrow is `->`"),
        ("* -> http://a", "even without arguments"),
    ] {
        let report = parse(text).unwrap_err().report("f");
        assert!(report.contains(help), "{text}: {report}");
    }
}

#[test]
fn so_many_mistakes_are_kept() {
    let errors = parse(&"a: ;".repeat(150)).unwrap_err();
    assert_eq!((errors.iter().count(), errors.left_out()), (100, 50));
    assert!(errors.to_string().ends_with("\nand 50 more"));
    assert!(errors.report("f").ends_with("\nand 50 more"));
}

#[test]
fn long_words_are_cut_in_messages() {
    let name = "x".repeat(1_000_000);
    let errors = parse(&format!("* -> f(1 {name}")).unwrap_err();
    assert!(errors.to_string().len() < 500);
    assert!(errors.report("f").len() < 1000);
    assert_eq!(
        errors.iter().next().map(eskip::ParseError::position),
        Some(1_000_009)
    );
}
