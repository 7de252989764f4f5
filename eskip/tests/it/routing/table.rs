//! Which of several routes a request is for.

use eskip::Arg;
use eskip::routing::{
    ArgsError, Asked, Predicate, PredicateSpec, Predicates, Refused, RouteTable, TableOptions,
};
use http::Method;
use proptest::prelude::*;

use super::{Request, built, built_with, table};

#[test]
fn a_route_with_a_path_comes_before_one_without() {
    let table =
        table(r#"a: Weight(1000) -> <shunt>; b: Path("/foo") -> <shunt>; c: PathSubtree("/") -> <shunt>"#);
    assert_eq!(Request::get("/foo").route(&table), "b");
    assert_eq!(Request::get("/bar").route(&table), "c");
    assert_eq!(Request::get("*").route(&table), "a");
}

#[test]
fn the_more_specific_path_comes_before_the_greater_weight() {
    let table = table(r#"a: Path("/:x") && Weight(1000) -> <shunt>; b: Path("/foo") -> <shunt>"#);
    assert_eq!(Request::get("/foo").route(&table), "b");
}

#[test]
fn where_other_predicates_fail_the_less_specific_is_tried() {
    let table = table(
        r#"a: Path("/foo/bar") && Method("POST") -> <shunt>;
           b: Path("/foo/:x") && Header("X", "1") -> <shunt>;
           c: Path("/:z/bar") && Header("X", "2") -> <shunt>;
           d: Path("/*all") && Header("X", "3") -> <shunt>;
           e: * -> <shunt>"#,
    );
    let get = || Request::get("/foo/bar");
    assert_eq!(get().method(Method::POST).route(&table), "a");
    for (value, id) in [("1", "b"), ("2", "c"), ("3", "d"), ("4", "e")] {
        assert_eq!(get().header("x", value).route(&table), id);
    }
}

#[test]
fn the_weight_decides_at_one_place() {
    for (one, other) in [
        (r#"Method("GET")"#, "*"),
        (r#"Method("GET") && Host(/./)"#, r#"Method("GET")"#),
        ("Host(/./) && Host(/w/)", "Host(/./)"),
        (r"PathRegexp(/./) && PathRegexp(/\//)", "PathRegexp(/./)"),
        (r#"True() && True()"#, "True()"),
        ("Weight(2)", "True()"),
        ("Weight(1.9) && Weight(1)", "True()"),
        ("*", "Weight(-1)"),
        ("Weight(-1)", "Weight(-2.5)"),
        ("True()", "TrafficSegment(0, 1) && TrafficSegment(0, 1)"),
        // Of one header only one counts.
        (
            "True() && True()",
            r#"HeaderRegexp("X", /1/) && HeaderRegexp("x", /./)"#,
        ),
        (
            r#"HeaderRegexp("X", /1/) && HeaderRegexp("Y", /./)"#,
            r#"HeaderRegexp("X", /1/) && HeaderRegexp("X", /./)"#,
        ),
    ] {
        for path in ["", r#" && Path("/foo")"#] {
            for (first, second) in [("b", "a"), ("a", "b")] {
                let text = format!("{first}: {one}{path} -> <shunt>; {second}: {other}{path} -> <shunt>");
                let request = Request::get("/foo").header("x", "1").header("y", "1");
                assert_eq!(request.route(&table(&text)), first, "{text}");
            }
        }
    }
}

#[test]
fn ties_are_broken_by_the_id() {
    for text in [
        "b: * -> <shunt>; a: * -> <shunt>",
        "a: * -> <shunt>; b: * -> <shunt>",
    ] {
        assert_eq!(Request::get("/").route(&table(text)), "a");
    }
    let table = table(
        r#"b: PathSubtree("/x") -> <shunt>; a: Path("/x") -> <shunt>; c: Path("/x") && Weight(1) -> <shunt>"#,
    );
    assert_eq!(Request::get("/x").route(&table), "c");
    assert_eq!(Request::get("/x/y").route(&table), "b");
}

#[test]
fn params_are_those_of_the_route_that_is_found() {
    let table = table(
        r#"a: Path("/a/:x") && Method("POST") -> <shunt>; b: Path("/a/:y") -> <shunt>; c: Path("/:p/:q/*rest") -> <shunt>"#,
    );
    let params = |target| {
        Request::get(target).asked(|asked| {
            let found = table.find(asked).unwrap();
            found
                .params()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
                .join(" ")
        })
    };
    assert_eq!(params("/a/1"), "y=1");
    assert_eq!(params("/a/1/2/3"), "p=a q=1 rest=/2/3");
}

#[test]
fn a_slash_at_the_end_can_be_ignored() {
    let options = TableOptions {
        ignore_trailing_slash: true,
    };
    let (table, _) = built_with(
        r#"a: Path("/foo/") && PathRegexp(/.$/) -> <shunt>; b: * -> <shunt>"#,
        options,
    );
    assert_eq!(Request::get("/foo").route(&table), "a");
    assert_eq!(Request::get("/foo/").route(&table), "a");
    // What a regular expression sees has it still.
    let (table, _) = built_with(
        r#"a: Path("/foo") && PathRegexp(/o$/) -> <shunt>; b: * -> <shunt>"#,
        options,
    );
    assert_eq!(Request::get("/foo/").route(&table), "b");
}

#[test]
fn a_route_that_is_not_valid_is_left_out_and_named() {
    let (table, invalid) = built(
        r#"a: Foo() -> <shunt>; b: Path("/a*b") -> <shunt>; c: Path("/a") && PathSubtree("/b") -> <shunt>;
           d: Path("/*x/y") -> <shunt>; e: * -> <shunt>"#,
    );
    let said: Vec<String> = invalid.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            r#"failed to process route a: unknown_predicate: predicate "Foo" not found"#,
            "failed to process route b: invalid_matcher: * or : in middle of path component",
            "failed to process route c: invalid_matcher: multiple tree predicates",
            "failed to process route d: invalid_matcher: free wildcard param should be last",
        ]
    );
    assert_eq!((table.len(), Request::get("/").route(&table).as_str()), (1, "e"));
}

#[test]
fn of_routes_with_one_id_the_last_counts() {
    let routes = eskip::parse(r#"a: Path("/x") -> "http://one"; a: Path("/y") -> "http://two""#).unwrap();
    let numbered = routes.iter().zip(0..);
    let (table, invalid) = RouteTable::build(numbered, &Predicates::default(), TableOptions::default());
    assert_eq!(table.iter().collect::<Vec<_>>(), [("a", &1)]);
    assert_eq!(
        invalid[0].to_string(),
        "failed to process route a: other: another route has the same id"
    );
}

#[test]
fn a_table_says_why_a_route_is_not_the_one() {
    let table = table(
        r#"a: Path("/x") -> <shunt>; b: Path("/y") && Header("A", "1") && Method("GET") -> <shunt>;
           c: Path("/y") && Method("GET") -> <shunt>; d: * -> <shunt>"#,
    );
    let verdicts = Request::get("/y").asked(|asked| {
        let verdicts = table.explain(asked);
        verdicts
            .into_iter()
            .map(|verdict| (verdict.id.to_owned(), verdict.refused))
            .collect::<Vec<_>>()
    });
    assert_eq!(
        verdicts,
        [
            // The number is that in the route: the path is 0.
            ("b".to_owned(), Some(Refused::Predicate(1))),
            ("c".to_owned(), None),
            ("a".to_owned(), Some(Refused::Path)),
            ("d".to_owned(), Some(Refused::Behind)),
        ]
    );
}

#[derive(Debug)]
struct Lucky(u16);

impl Predicate for Lucky {
    fn holds(&self, asked: &Asked<'_>) -> bool {
        asked.headers.len() == usize::from(self.0)
    }
}

struct LuckySpec;

impl PredicateSpec for LuckySpec {
    fn name(&self) -> &'static str {
        "Lucky"
    }

    fn create(&self, args: &[Arg]) -> Result<Box<dyn Predicate>, ArgsError> {
        match args {
            [Arg::Number(7.0)] => Ok(Box::new(Lucky(1))),
            _ => Err(ArgsError("7".to_owned())),
        }
    }
}

#[test]
fn others_may_add_predicates() {
    let mut predicates = Predicates::default();
    assert!(predicates.names().eq(Predicates::NAMES.iter().copied()));
    predicates.register(LuckySpec);
    let routes = eskip::parse("a: Lucky(7) -> <shunt>; b: Lucky(8) -> <shunt>").unwrap();
    let (table, invalid) = RouteTable::build(
        routes.iter().map(|route| (route, ())),
        &predicates,
        TableOptions::default(),
    );
    assert_eq!(invalid.len(), 1);
    assert_eq!(Request::get("/").header("x", "1").route(&table), "a");
    assert_eq!(Request::get("/").route(&table), "none");
}

/// Many routes of many hosts, with and without paths: found by host, in their order.
#[test]
fn routes_of_many_hosts_are_found_by_them() {
    let mut text = String::new();
    for number in 0..50 {
        text.push_str(&format!(
            "h{number:02}: Host(/^(h{number}[.]example[.]org[.]?(:[0-9]+)?)$/) -> <shunt>;\n"
        ));
        text.push_str(&format!(
            "p{number:02}: Path(\"/x\") && HostAny(\"h{number}.example.org\") -> <shunt>;\n"
        ));
    }
    text.push_str("any: Host(/example/) && Header(\"X\", \"1\") -> <shunt>; early: Host(/h7/) && Weight(5) -> <shunt>; last: * -> <shunt>");
    let table = table(&text);
    for (host, target, id) in [
        ("h3.example.org", "/", "h03"),
        ("H3.Example.org", "/", "last"),
        ("h3.example.org:8080", "/", "h03"),
        ("h3.example.org.", "/", "h03"),
        ("h3.example.org", "/x", "p03"),
        ("h3.example.org:80", "/x", "h03"),
        ("h7.example.org", "/", "early"),
        ("h99.example.org", "/", "last"),
        ("", "/", "last"),
    ] {
        assert_eq!(
            Request::get(target).host(host).route(&table),
            id,
            "{host}{target}"
        );
    }
    assert_eq!(
        Request::get("/")
            .host("h3.example.org")
            .header("x", "1")
            .route(&table),
        "any"
    );
}

proptest! {
    // Each case compiles many regular expressions.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The index of hosts changes nothing.
    #[test]
    fn what_is_found_by_host_is_what_is_found_one_by_one(
        routes in prop::collection::vec(("(\\^)?(a|b|\\(a\\|b\\)|\\.)\\[\\.\\]org(\\$)?", any::<bool>(), -2..3_i8), 1..24),
        host in "(a|b|c|A)\\.org(\\.|:80)?",
        path in "/(x)?",
    ) {
        let text: Vec<String> = routes
            .iter()
            .enumerate()
            .map(|(number, (host, with_path, weight))| {
                let path = if *with_path { " && Path(\"/x\")" } else { "" };
                format!("r{number:02}: Host(/{host}/) && Weight({weight}){path} -> <shunt>;")
            })
            .collect();
        let request = Request { host: Box::leak(host.into_boxed_str()), ..Request::get(Box::leak(path.into_boxed_str())) };
        let whole = request.route(&table(&text.concat()));
        // One by one, in the order of weight and id, those with a path first.
        let mut alone: Vec<(bool, i8, String)> = routes
            .iter()
            .zip(&text)
            .enumerate()
            .filter(|(_, (_, text))| request.route(&table(text)) != "none")
            .map(|(number, ((_, with_path, weight), _))| (!with_path, -weight, format!("r{number:02}")))
            .collect();
        alone.sort();
        let expected = alone.first().map_or("none", |(_, _, id)| id);
        prop_assert_eq!(whole, expected);
    }
}
