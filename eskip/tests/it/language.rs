//! What texts mean.

use eskip::{Arg, Backend, Balanced, Layout, parse, parse_filters, parse_located, parse_predicates, print};

use crate::{call, parsed, route, shunt, text};

fn ids(document: &str) -> Vec<String> {
    let routes = parsed(document);
    routes
        .iter()
        .map(|route| route.id.as_deref().unwrap_or("-").to_owned())
        .collect()
}

/// The only argument of the only filter `f`.
#[track_caller]
fn argument(literal: &str) -> Arg {
    route(&format!("* -> f({literal}) -> <shunt>")).filters[0].args[0].clone()
}

#[test]
fn documents_are_one_route_or_definitions() {
    for (document, expected) in [
        ("", &[][..]),
        (" \n\t", &[]),
        ("// nothing", &[]),
        ("// nothing\n", &[]),
        (";", &[]),
        (" ; ;; ", &[]),
        ("* -> <shunt>", &["-"]),
        ("a: * -> <shunt>", &["a"]),
        ("a: * -> <shunt>;", &["a"]),
        (";a: * -> <shunt>;", &["a"]),
        ("a: * -> <shunt>;; b: * -> <shunt>;;", &["a", "b"]),
        ("a: * -> <shunt>;b:*-><shunt>", &["a", "b"]),
        ("route: Any() -> <shunt>; // some comment", &["route"]),
        ("a: * -> <shunt>; a: * -> <loopback>", &["a", "a"]),
        ("_9: * -> <shunt>; aZ_09: * -> <shunt>", &["_9", "aZ_09"]),
    ] {
        assert_eq!(ids(document), expected, "{document:?}");
    }
}

#[test]
fn a_whole_document_is_read() {
    let routes = parsed(
        r#"
        route0: PathRegexp(/\.html$/) && Header("Accept", "text/html") ->
            modPath(/\.html$/, ".jsx") ->
            requestHeader("X-Type", "page") ->
            "https://render.example.com";
        route1: Path("/some/path") -> "https://backend-0.example.com";
        route2: Path("/some/other/path") -> fixPath() -> "https://backend-1.example.com";
        catchAllWithCustom: * && Custom() -> "https://www.example.org""#,
    );
    assert_eq!(routes.len(), 4);
    assert_eq!(
        routes[0].predicates,
        [
            call("PathRegexp", &[text(r"\.html$")]),
            call("Header", &[text("Accept"), text("text/html")])
        ]
    );
    assert_eq!(
        routes[0].filters,
        [
            call("modPath", &[text(r"\.html$"), text(".jsx")]),
            call("requestHeader", &[text("X-Type"), text("page")])
        ]
    );
    assert_eq!(
        routes[0].backend,
        Backend::Network("https://render.example.com".to_owned())
    );
    assert_eq!(routes[2].filters, [call("fixPath", &[])]);
    assert_eq!(routes[3].predicates, [call("Custom", &[])]);
}

#[test]
fn what_matches_everything_is_not_kept() {
    for predicates in ["*", "* && *", "Any()", "* && Any()", "Any(1, \"x\")"] {
        assert_eq!(
            route(&format!("{predicates} -> <shunt>")),
            shunt(&[], &[]),
            "{predicates}"
        );
    }
    let custom = shunt(&[call("Custom", &[])], &[]);
    assert_eq!(route("* && Custom() -> <shunt>"), custom);
    assert_eq!(route("Custom() && * -> <shunt>"), custom);
}

#[test]
fn backends_are_read() {
    let network = |address: &str| Backend::Network(address.to_owned());
    for (written, backend) in [
        ("\"https://www.example.org\"", network("https://www.example.org")),
        ("`http://a`", network("http://a")),
        ("\"\"", network("")),
        ("<shunt>", Backend::Shunt),
        ("<loopback>", Backend::Loopback),
        ("<dynamic>", Backend::Dynamic),
        ("<forward>", Backend::Forward),
    ] {
        assert_eq!(route(&format!("* -> {written}")).backend, backend);
        let filtered = route(&format!("* -> setRequestHeader(\"X-Foo\", \"bar\") -> {written}"));
        assert_eq!(filtered.backend, backend);
        assert_eq!(
            filtered.filters,
            [call("setRequestHeader", &[text("X-Foo"), text("bar")])]
        );
    }
}

#[test]
fn several_servers_are_read() {
    for (written, algorithm, addresses) in [
        (r#"<"https://example.org">"#, None, &["https://example.org"][..]),
        (
            r#"<algFoo, "https://example.org">"#,
            Some("algFoo"),
            &["https://example.org"],
        ),
        (
            "<\"https://1.example.org\",\n  \"https://2.example.org\"\n,`https://3.example.org` >",
            None,
            &[
                "https://1.example.org",
                "https://2.example.org",
                "https://3.example.org",
            ],
        ),
        (
            "< roundRobin // why not\n, \"http://a:80\", \"HTTP://b\">",
            Some("roundRobin"),
            &["http://a:80", "HTTP://b"],
        ),
        (r#"<"fastcgi://localhost:80">"#, None, &["fastcgi://localhost:80"]),
        (r#"<"http://[::1]:80/path">"#, None, &["http://[::1]:80/path"]),
    ] {
        let Backend::Balanced(Balanced {
            algorithm: found,
            endpoints,
        }) = route(&format!("* -> {written}")).backend
        else {
            panic!("{written}");
        };
        assert_eq!(found.as_deref(), algorithm);
        let found: Vec<&str> = endpoints.iter().map(eskip::Endpoint::address).collect();
        assert_eq!(found, addresses);
    }
}

#[test]
fn the_zone_of_an_endpoint_is_cut_off() {
    for (written, address, zone, printed) in [
        ("http://a", "http://a", None, "http://a"),
        ("http://a?zone=x", "http://a", Some("x"), "http://a?zone=x"),
        ("http://a?zone=", "http://a", None, "http://a"),
        ("http://a?b=c", "http://a?b=c", None, "http://a?b=c"),
        (
            "http://a?b=c&zone=x",
            "http://a?b=c",
            Some("x"),
            "http://a?b=c&zone=x",
        ),
        (
            "http://a?zone=x&b=c",
            "http://a?b=c",
            Some("x"),
            "http://a?b=c&zone=x",
        ),
        ("http://a?zone=x&zone=y", "http://a", Some("x"), "http://a?zone=x"),
        (
            "http://a?time_zone=x",
            "http://a?time_zone=x",
            None,
            "http://a?time_zone=x",
        ),
        ("http://a?", "http://a?", None, "http://a?"),
    ] {
        let endpoint: eskip::Endpoint = written.parse().unwrap();
        assert_eq!(
            (endpoint.address(), endpoint.zone()),
            (address, zone),
            "{written}"
        );
        assert_eq!(endpoint.scheme(), "http");
        assert_eq!(endpoint.to_string(), printed);
        assert_eq!(printed.parse(), Ok(endpoint));
    }
}

#[test]
fn comments_and_white_space_stand_between_any_two_words() {
    let words = [
        "a",
        ":",
        "P",
        "(",
        "1",
        ",",
        "/x/",
        ")",
        "&&",
        "*",
        "->",
        "f",
        "(",
        ")",
        "->",
        "<",
        "g",
        ",",
        "\"http://h\"",
        ">",
        ";",
    ];
    let plain = parsed(&words.concat());
    for space in [
        " ",
        "\n",
        "\t",
        "\u{b}",
        "\u{c}",
        "\r",
        "\r\n",
        "\u{85}",
        "\u{a0}",
        "// x\n",
        " // \"x\" -> ;\r\n",
        "///\n",
    ] {
        assert_eq!(parsed(&words.join(space)), plain, "{space:?}");
        assert_eq!(
            parsed(&format!("{space}{}{space}", words.join(space))),
            plain,
            "{space:?}"
        );
    }
    assert_eq!(parsed(&format!("\u{feff}{}", words.concat())), plain);
    assert_eq!(parsed(&format!("{}// no line feed", words.concat())), plain);
}

#[test]
fn numbers_are_read() {
    for (literal, number) in [
        ("0", 0.0),
        ("3", 3.0),
        ("-3", -3.0),
        ("007", 7.0),
        ("3.25", 3.25),
        (".3", 0.3),
        ("-.3", -0.3),
        ("0.3", 0.3),
        ("-0.50", -0.5),
        (
            "123456789012345678901234567890",
            123_456_789_012_345_678_901_234_567_890.0,
        ),
    ] {
        assert_eq!(argument(literal), Arg::Number(number), "{literal}");
    }
    let long = "9".repeat(308);
    assert_eq!(argument(&long), Arg::Number(long.parse().unwrap()));
    assert_eq!(argument(&format!("0.{}1", "0".repeat(1000))), Arg::Number(0.0));
}

#[test]
fn no_numbers_are_refused() {
    for literal in [
        "3.", "-", "-.", ".", "..", "-x", "+3", "1e5", "0x10", "1_000", "3.1.", "--3", "- 3", "1.2.3", "NaN",
        "inf", "9.9f",
    ] {
        assert!(
            parse(&format!("* -> f({literal}) -> <shunt>")).is_err(),
            "{literal}"
        );
    }
    let errors = parse("* -> number(3.) -> <shunt>").unwrap_err();
    assert_eq!(
        errors.to_string(),
        "parse failed after token (, position 14: incomplete token"
    );
    let errors = parse(&format!("* -> f({}) -> <shunt>", "9".repeat(400))).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "parse failed after token (, position 407: number too large"
    );
}

#[test]
fn strings_have_escapes_in_both_quotes() {
    for (inside, value) in [
        ("", ""),
        ("plain", "plain"),
        ("é €", "é €"),
        ("over\nlines", "over\nlines"),
        (r"\a\b\f\n\r\t\v", "\u{7}\u{8}\u{c}\n\r\t\u{b}"),
        (r"\\", "\\"),
        (r"\\n", "\\n"),
        (r"\\\n", "\\\n"),
        (r"\.", "\\."),
        (r"\zalando", "\\zalando"),
        (r"\ ", "\\ "),
        (r"\/path", "\\/path"),
        (r"\\/path", "\\/path"),
        (r"\é", "\\é"),
        (r"\0\x41\u0041", r"\0\x41\u0041"),
        ("\0\u{1b}", "\0\u{1b}"),
        (r"Line 1\r\nLine 2", "Line 1\r\nLine 2"),
        ("// no comment", "// no comment"),
    ] {
        assert_eq!(argument(&format!("\"{inside}\"")), text(value), "{inside}");
        assert_eq!(argument(&format!("`{inside}`")), text(value), "{inside}");
    }
    for (literal, value) in [
        (r#""\"""#, "\""),
        ("`\\``", "`"),
        ("\"`\"", "`"),
        ("`\"`", "\""),
        ("\"\\`\"", "\\`"),
        ("`\\\"`", "\\\""),
        (r#""\\\"""#, "\\\""),
        (r#""\\""#, "\\"),
    ] {
        assert_eq!(argument(literal), text(value), "{literal}");
    }
}

#[test]
fn regular_expressions_have_two_escapes_and_know_classes() {
    for (literal, value) in [
        ("/[/]/", "[/]"),
        (r"/[\[]/", r"[\[]"),
        (r"/[\]]/", r"[\]]"),
        (r"/[\\]/", r"[\]"),
        (r"/[\/]/", "[/]"),
        (r#"/["]/"#, r#"["]"#),
        (r#"/[\"]/"#, r#"[\"]"#),
        (r"/\//", "/"),
        ("/[[:upper:]]/", "[[:upper:]]"),
        (r"/\d/", r"\d"),
        (r"/\\d/", r"\d"),
        (r"/\/\w+Id$/", r"/\w+Id$"),
        (r"/\[/", r"\["),
        ("/]/", "]"),
        ("/[]/", "[]"),
        ("/[[]/", "[[]"),
        ("/^www[.]/", "^www[.]"),
        ("/a\nb/", "a\nb"),
        ("/é[€/]/", "é[€/]"),
        (r"/\é/", r"\é"),
        ("/* no comment */", "* no comment *"),
        (r"/\/\//", "//"),
    ] {
        assert_eq!(argument(literal), text(value), "{literal}");
    }
}

#[test]
fn the_checks_are_those_of_predicates_that_every_parser_knows() {
    for good in [
        r#"Path("/a")"#,
        r#"PathRegexp("^/some") && PathRegexp(/\/\w+Id$/)"#,
        "Host(/^www[.]/) && Host(/[.]org$/)",
        r#"Header("Header-0", "a") && Header("Header-1", "a") && Header("header-1", "b")"#,
        r#"HeaderRegexp("H", /a/) && HeaderRegexp("H", "b")"#,
        r#"Method("HEAD") && Methods() && Methods()"#,
        "Weight(50) && Weight(50)",
        "PathSubtree() && PathSubtree(1, 2, 3)",
        "NoSuchPredicate(1)",
    ] {
        assert!(
            parse(&format!("{good} -> noSuchFilter(\"?\") -> <shunt>")).is_ok(),
            "{good}"
        );
    }
    for (bad, problem) in [
        ("Path()", "Path predicate expects 1 string argument"),
        ("Path(1)", "Path predicate expects 1 string argument"),
        ("Path(\"/\", \"/\")", "Path predicate expects 1 string argument"),
        ("Host()", "Host predicate expects 1 string argument"),
        ("PathRegexp(1)", "PathRegexp predicate expects 1 string argument"),
        (
            "Path(\"/endpoint\") && Method(\"GET\", \"POST\")",
            "Method predicate expects 1 string argument",
        ),
        (
            "Path(\"/endpoint\") && Header(\"Foo\")",
            "Header predicate expects 2 string arguments",
        ),
        (
            "Header(\"Foo\", 1)",
            "Header predicate expects 2 string arguments",
        ),
        (
            "HeaderRegexp(\"Foo\")",
            "HeaderRegexp predicate expects 2 string arguments",
        ),
        (
            "Path(\"/one\") && Path(\"/two\")",
            "duplicate path tree predicate",
        ),
        (
            "Method(\"HEAD\") && Method(\"GET\")",
            "duplicate method predicate",
        ),
        (
            "Header(\"X\", \"a\") && Header(\"X\", \"b\")",
            "duplicate header predicate: X",
        ),
    ] {
        let named = parse(&format!("foo: {bad} -> <shunt>")).unwrap_err().to_string();
        assert_eq!(named, format!("invalid route \"foo\": {problem}"));
        let alone = parse(&format!("{bad} -> <shunt>")).unwrap_err().to_string();
        assert_eq!(alone, format!("invalid route \"\": {problem}"));
    }
}

#[test]
fn endpoints_are_addresses_with_one_scheme() {
    let mixed = parse(r#"* -> <roundRobin, "http://localhost:80", "fastcgi://localhost:80">"#).unwrap_err();
    assert!(
        mixed
            .to_string()
            .ends_with("loadbalancer endpoints cannot have mixed protocols")
    );
    for bad in [
        "",
        "localhost",
        "127.0.0.1:8080",
        "http://",
        "http:///x",
        "http://?zone=x",
        "://a",
        "1http://a",
        "http://a b",
        "http://a\n",
        "http://:80",
    ] {
        let error = parse(&format!("r: * -> <\"{bad}\">")).unwrap_err().to_string();
        assert!(
            error.starts_with("invalid route \"r\": loadbalancer endpoint"),
            "{bad:?}: {error}"
        );
    }
}

#[test]
fn one_bad_route_fails_the_document() {
    assert!(parse("a: * -> <shunt>; b: Path() -> <shunt>; c: * -> <shunt>").is_err());
}

#[test]
fn places_of_routes_are_told() {
    let document = "// x\na: * -> <shunt> ;\n b : P() -> \"http://b\"; // y";
    let spans: Vec<&str> = parse_located(document)
        .unwrap()
        .into_iter()
        .map(|located| document.get(located.span).unwrap())
        .collect();
    assert_eq!(spans, ["a: * -> <shunt>", "b : P() -> \"http://b\""]);
    assert_eq!(parse_located(" P() -> <shunt> ").unwrap()[0].span, 1..15);
}

#[test]
fn filters_are_read_alone() {
    let two = [
        call("filter1", &[Arg::Number(3.25)]),
        call("filter2", &[text("key"), Arg::Number(42.0)]),
    ];
    for document in [
        "filter1(3.25) -> filter2(\"key\", 42)",
        "filter1(3.25) -> filter2(\"key\", 42) // a trailing comment",
        "// a comment on a separate line\n\t\tfilter1(3.25) -> filter2(\"key\", 42)",
        "filter1(3.25) -> filter2(\"key\", 42)\n// a comment on a separate line",
    ] {
        assert_eq!(parse_filters(document).unwrap(), two, "{document}");
    }
    for empty in ["", " \t", "// a comment"] {
        assert_eq!(parse_filters(empty).unwrap(), []);
    }
    for bad in [
        "a() ->",
        "-> a()",
        "a() b()",
        "a();",
        "a() && b()",
        "* -> a()",
        "a() -> <shunt>",
        "a: b()",
    ] {
        assert!(parse_filters(bad).is_err(), "{bad}");
    }
}

#[test]
fn predicates_are_read_alone() {
    let two = [call("Foo", &[text("bar")]), call("Baz", &[text("qux")])];
    for document in [
        "Foo(\"bar\") && Baz(\"qux\")",
        "* && Foo(\"bar\") && * && Baz(\"qux\")",
        "Foo(\"bar\") && Baz(\"qux\") // a trailing comment",
        "// a comment on a separate line\n\t\tFoo(\"bar\") && Baz(\"qux\")",
        "Foo(\"bar\") && Baz(\"qux\")\n\t\t// a comment on a separate line",
    ] {
        assert_eq!(parse_predicates(document).unwrap(), two, "{document}");
    }
    for empty in ["", " \n", "// a comment", "///", "//\0\0/\0", "*", "* && *"] {
        assert_eq!(parse_predicates(empty).unwrap(), [], "{empty:?}");
    }
    // Nobody has said yet that these are the predicates of one route.
    assert_eq!(parse_predicates("Any() && Path(1) && Path(2)").unwrap().len(), 3);
    for bad in [
        "A() &&",
        "&& A()",
        "A() || B()",
        "!A()",
        "(A())",
        "A() -> B()",
        "A() B()",
        "A();",
    ] {
        assert!(parse_predicates(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_example_of_the_documentation_is_read_and_printed() {
    let documentation = include_str!("../../src/lib.rs");
    let example = documentation
        .split("```text\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let example: String = example
        .lines()
        .map(|line| format!("{}\n", line.trim_start_matches("//!").trim()))
        .collect();
    let routes = parsed(&example);
    assert_eq!(routes.len(), 3);
    assert!(eskip::are_equivalent(
        &parsed(&print(&routes, Layout::PRETTY)),
        &routes
    ));
}
