//! How routes are printed.

use eskip::{Arg, Backend, Layout, Route, parse, print};

use crate::{call, parsed, route, shunt, text};

#[test]
fn routes_are_printed_on_a_line() {
    for printed in [
        r#"* -> """#,
        r#"Method("GET") -> "https://www.example.org""#,
        r#"Method("GET") -> static("/some", "/file") -> <shunt>"#,
        r#"Method("GET") -> static("/some", "/file") -> <loopback>"#,
        r#"* -> filter0("arg") -> <dynamic>"#,
        r#"* -> filter0("arg") -> <forward>"#,
        r#"* -> filter0("Line 1\\r\\nLine 2") -> <dynamic>"#,
        r#"* -> filter0("Line 1\r\nLine 2") -> <dynamic>"#,
        r#"Method("GET") -> <"http://127.0.0.1:9997">"#,
        r#"Method("GET") -> <random, "http://127.0.0.1:9997">"#,
        r#"Method("GET") -> <random, "http://127.0.0.1:9997", "http://127.0.0.1:9998?zone=z">"#,
        r#"Path("/") && PathRegexp(/\//) -> afilter("/") -> <shunt>"#,
        r#"Path("\\") && PathRegexp(/\\/) -> afilter("\\") -> <shunt>"#,
        r#"Path("\"") && PathRegexp(/"/) -> afilter("\"") -> <shunt>"#,
        r#"* -> f("\a\b\f\n\r\t\v\\") -> "a\"b""#,
        r#"* -> f(0, 1, -42, 0.1, 3.1415, 123456789, 123456789.5, 0.0000001) -> <shunt>"#,
        concat!(
            r#"Path("/some/\"/path") && Host(/h-expression/) && Host(/slash\/h-expression/) && "#,
            r#"PathRegexp(/p-expression/) && PathRegexp(/slash\/p-expression/) && Method("PUT") && "#,
            r#"Header("ap\"key", "ap\"value") && HeaderRegexp("ap\"key", /slash\/value0/) && "#,
            r#"HeaderRegexp("ap\"key", /slash\/value1/) && Test(3.14, "hello") -> "#,
            r#"filter0(3.1415, "argvalue") -> filter1(-42, "ap\"argvalue") -> "https://www.example.org""#
        ),
    ] {
        let route = route(printed);
        assert_eq!(route.to_string(), printed);
        assert_eq!(print(&[route], Layout::Plain), printed);
    }
}

#[test]
fn known_predicates_come_first_and_headers_are_sorted() {
    for (written, printed) in [
        (
            r#"True() && Cookie("alpha", "/^on$/")"#,
            r#"True() && Cookie("alpha", "/^on$/")"#,
        ),
        (
            r#"True() && Cookie("alpha", "a") && Method("GET")"#,
            r#"Method("GET") && True() && Cookie("alpha", "a")"#,
        ),
        (
            r#"Header("Accept", "application/json") && Method("GET")"#,
            r#"Method("GET") && Header("Accept", "application/json")"#,
        ),
        (
            r#"Header("x-frontend-type", "mobile-app") && Header("X-Forwarded-Proto", "http")"#,
            r#"Header("X-Forwarded-Proto", "http") && Header("x-frontend-type", "mobile-app")"#,
        ),
        (
            r#"HeaderRegexp("User-Agent", /Zelt-(.*)/) && HeaderRegexp("age", /\d/)"#,
            r#"HeaderRegexp("User-Agent", /Zelt-(.*)/) && HeaderRegexp("age", /\\d/)"#,
        ),
        (
            r#"HeaderRegexp("B", /3/) && HeaderRegexp("B", /2/) && HeaderRegexp("A", /1/)"#,
            r#"HeaderRegexp("A", /1/) && HeaderRegexp("B", /2/) && HeaderRegexp("B", /3/)"#,
        ),
        (
            "Z() && Method(\"M\") && PathRegexp(/2/) && Host(/b/) && PathRegexp(/1/) && A() && Host(/a/) && Path(\"/\")",
            "Path(\"/\") && Host(/b/) && Host(/a/) && PathRegexp(/2/) && PathRegexp(/1/) && Method(\"M\") && Z() && A()",
        ),
        ("Host(\"x\")", "Host(/x/)"),
        ("Any() && *", "*"),
    ] {
        assert_eq!(
            route(&format!("{written} -> <shunt>")).to_string(),
            format!("{printed} -> <shunt>")
        );
    }
}

#[test]
fn lists_are_printed_plain_and_pretty() {
    let two = parsed("r1: Method(\"GET\") -> f(\"x\") -> <shunt>; r2: Path(\"/p\") -> \"http://a\"");
    assert_eq!(
        print(&two, Layout::Plain),
        "r1: Method(\"GET\") -> f(\"x\") -> <shunt>;\nr2: Path(\"/p\") -> \"http://a\";"
    );
    assert_eq!(
        print(&two, Layout::PRETTY),
        "r1: Method(\"GET\")\n  -> f(\"x\")\n  -> <shunt>;\n\nr2: Path(\"/p\")\n  -> \"http://a\";"
    );
    assert_eq!(
        print(&two[1..], Layout::Pretty("    ")),
        "r2: Path(\"/p\")\n    -> \"http://a\";"
    );
    let alone = parsed("P() && Q() -> f() -> <shunt>");
    assert_eq!(print(&alone, Layout::Plain), "P() && Q() -> f() -> <shunt>");
    assert_eq!(
        print(&alone, Layout::PRETTY),
        "P() && Q()\n  -> f()\n  -> <shunt>"
    );
    assert_eq!(print(&[], Layout::Plain), "");
    assert_eq!(print(&[], Layout::PRETTY), "");
    assert_eq!(Layout::default(), Layout::Plain);
}

#[test]
fn several_routes_without_an_id_get_one() {
    let mut routes = vec![shunt(&[], &[]), shunt(&[], &[]), shunt(&[], &[])];
    routes[1].id = Some("route1".parse().unwrap());
    let printed = print(&routes, Layout::Plain);
    assert_eq!(
        printed,
        "route2: * -> <shunt>;\nroute1: * -> <shunt>;\nroute3: * -> <shunt>;"
    );
    assert_eq!(parse(&printed).unwrap().len(), 3);
}

#[test]
fn numbers_are_printed_so_that_they_can_be_read() {
    for (number, printed) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (1_234_567.5, "1234567.5"),
        (1e21, "1000000000000000000000"),
        (1e-7, "0.0000001"),
        (0.123_456_789, "0.123456789"),
        (
            123_456_789_012_345_678_901_234_567_890.0,
            "123456789012345677877719597056",
        ),
        (f64::MAX, &format!("{:.0}", f64::MAX)),
        (f64::MIN_POSITIVE, &f64::MIN_POSITIVE.to_string()),
    ] {
        let filter = call("f", &[Arg::Number(number)]);
        assert_eq!(filter.to_string(), format!("f({printed})"));
        let read = eskip::parse_filters(&filter.to_string()).unwrap();
        assert_eq!(
            read[0].args[0].as_number().map(f64::to_bits),
            Some(number.to_bits()),
            "{printed}"
        );
    }
}

#[test]
fn regular_expressions_are_printed_so_that_they_can_be_read() {
    for (value, printed) in [
        ("x", "/x/"),
        ("/", r"/\//"),
        (r"\", r"/\\/"),
        (r"\d", r"/\\d/"),
        (r"\/", r"/\\\//"),
        ("[/]", r"/[\/]/"),
        ("[[:upper:]]", "/[[:upper:]]/"),
        // With its backslash doubled, the bracket would begin a class.
        (r"a\[b", r"/a\[b/"),
        (r"\[\d/\\", r"/\[\d\/\\\\/"),
        (r"\\[a]", r"/\\\\[a]/"),
        (r"[\]", r"/[\\]/"),
        // A class that is not closed, no text, and what does not fit a line.
        ("[", "\"[\""),
        ("", "\"\""),
        ("a\nb", r#""a\nb""#),
        ("\0", "\"\0\""),
    ] {
        let route = shunt(&[call("Host", &[text(value)])], &[]);
        assert_eq!(
            route.to_string(),
            format!("Host({printed}) -> <shunt>"),
            "{value:?}"
        );
        assert_eq!(crate::route(&route.to_string()), route, "{value:?}");
        let route = shunt(&[call("HeaderRegexp", &[text("a\"b"), text(value)])], &[]);
        assert_eq!(crate::route(&route.to_string()), route, "{value:?}");
    }
}

#[test]
fn what_no_parser_gives_is_printed_as_it_is() {
    let odd = shunt(&[call("Host", &[Arg::Number(1.0)]), call("Path", &[])], &[]);
    assert_eq!(odd.to_string(), "Host(1) && Path() -> <shunt>");
    assert!(odd.check().is_err());
    let empty = Route {
        backend: Backend::Balanced(eskip::Balanced {
            algorithm: None,
            endpoints: Vec::new(),
        }),
        ..shunt(&[], &[])
    };
    assert_eq!(empty.to_string(), "* -> <>");
    assert_eq!(
        empty.check().unwrap_err().to_string(),
        "invalid route \"\": loadbalancer without an endpoint"
    );
}

#[test]
fn printing_again_changes_nothing() {
    let printed = "route1: Method(\"GET\") -> filter(\"expression\") -> <shunt>;\nroute2: Path(\"/some/path\") -> \"https://www.example.org\";";
    assert_eq!(print(&parsed(printed), Layout::Plain), printed);
}
