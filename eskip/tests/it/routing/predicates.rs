//! Each predicate: what it holds for, and which arguments it takes.

use eskip::routing::{Predicates, RouteTable, TableOptions};
use http::Method;

use super::{Request, table};

/// Whether the predicates hold for the request.
#[track_caller]
fn holds(predicates: &str, request: &Request) -> bool {
    let table = table(&format!("hit: {predicates} -> <shunt>"));
    request.route(&table) == "hit"
}

#[track_caller]
fn check(predicates: &str, rows: &[(Request, bool)]) {
    for (number, (request, expected)) in rows.iter().enumerate() {
        assert_eq!(
            holds(predicates, request),
            *expected,
            "{predicates}: row {number}"
        );
    }
}

fn get() -> Request {
    Request::get("/")
}

#[test]
fn methods() {
    check(
        r#"Method("GET")"#,
        &[
            (get(), true),
            (get().method(Method::POST), false),
            (get().method("get".parse().unwrap()), false),
        ],
    );
    check(
        r#"Methods("get", "Post")"#,
        &[
            (get(), true),
            (get().method(Method::POST), true),
            (get().method("gEt".parse().unwrap()), true),
            (get().method(Method::HEAD), false),
            (get().method("FOO".parse().unwrap()), false),
        ],
    );
    for method in [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE",
    ] {
        let request = get().method(method.parse().unwrap());
        check(&format!("Methods({method:?})"), &[(request, true)]);
    }
}

#[test]
fn hosts() {
    check(
        r"Host(/example[.]org/)",
        &[
            (get(), true),
            (get().host("www.example.org:8080"), true),
            (get().host("www.example.com"), false),
        ],
    );
    check(
        r"Host(/^www/) && Host(/org$/)",
        &[(get(), true), (get().host("www.example.com"), false)],
    );
    check(
        r#"Host("*.example.org")"#,
        &[
            (get(), true),
            (get().host("www.example.org:8080"), true),
            (get().host("example.org"), false),
            (get().host("a.www.example.org"), false),
            (get().host("www.exampleXorg"), false),
        ],
    );
    check(
        r#"HostAny("www.example.org", "b.org:80")"#,
        &[
            (get(), true),
            (get().host("www.example.org:80"), false),
            (get().host("b.org:80"), true),
            (get().host("b.org"), false),
        ],
    );
}

#[test]
fn paths_by_regular_expressions() {
    check(
        r"PathRegexp(/o/)",
        &[(Request::get("/foo"), true), (Request::get("/bar"), false)],
    );
    check(
        r"PathRegexp(/^\/a b$/)",
        &[
            (Request::get("/a%20b"), true),
            (Request::get("/a+b"), false),
            (Request::get("/a%2520b"), false),
        ],
    );
    check(
        r"PathRegexp(/^\/foo/) && PathRegexp(/\/$/)",
        &[(Request::get("/foo/"), true), (Request::get("/foo"), false)],
    );
}

#[test]
fn header_fields() {
    check(
        r#"Header("x-Test", "b")"#,
        &[
            (get().header("x-test", "a").header("x-test", "b"), true),
            (get().header("x-test", "ab"), false),
            (get(), false),
        ],
    );
    // The Host is no field, unless a filter made it one.
    check(
        r#"Header("Host", "www.example.org")"#,
        &[
            (get(), false),
            (get().host("a").header("host", "www.example.org"), true),
        ],
    );
    check(
        r#"HeaderRegexp("X-Test", /^b/)"#,
        &[
            (get().header("x-test", "a").header("x-test", "bc"), true),
            (get().header("x-test", "ab"), false),
        ],
    );
    // Of "secret".
    check(
        r#"HeaderSHA256("X-Key", "00", "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b")"#
            .replace(r#""00", "#, "")
            .as_str(),
        &[
            (get().header("x-key", "secret"), true),
            (get().header("x-key", "Secret"), false),
            (get(), false),
        ],
    );
}

#[test]
fn cookies_and_query_parameters() {
    check(
        "Cookie(\"tcial\", /^enabled$/)",
        &[
            (get().header("cookie", "a=b; tcial=enabled"), true),
            (get().header("cookie", "tcial=\"enabled\""), true),
            // The first of that name counts.
            (get().header("cookie", "tcial=no; tcial=enabled"), false),
            (get().header("cookie", "xtcial=enabled"), false),
            (get(), false),
        ],
    );
    check(
        r#"QueryParam("a b")"#,
        &[
            (Request::get("/?a+b"), true),
            (Request::get("/?x=1&a%20b=2"), true),
            (Request::get("/?ab=1"), false),
            (get(), false),
        ],
    );
    check(
        r#"QueryParam("q", /^2$/)"#,
        &[
            (Request::get("/?q=1&q=2"), true),
            (Request::get("/?q=12"), false),
            (Request::get("/?q"), false),
        ],
    );
}

#[test]
fn clients() {
    let peer = |address: &str| Request {
        peer: address.parse().ok(),
        ..get()
    };
    check(
        r#"ClientIP("192.0.2.0/25", "2001:db8::/32", "203.0.113.7")"#,
        &[
            (get(), true),
            (peer("192.0.2.200"), false),
            (peer("2001:db8::7"), true),
            (peer("203.0.113.7"), true),
            (peer("203.0.113.8"), false),
            // An IPv4 address that is written as one of IPv6.
            (peer("::ffff:192.0.2.9"), true),
            (peer("nobody"), false),
            // Anybody may write this.
            (peer("203.0.113.9").header("x-forwarded-for", "192.0.2.1"), false),
        ],
    );
    let chain = |value| get().header("x-forwarded-for", value);
    check(
        r#"Source("198.51.100.0/24")"#,
        &[
            (chain("198.51.100.7, 192.0.2.9"), true),
            (chain("192.0.2.9, 198.51.100.7"), false),
            (chain("198.51.100.7:4711"), true),
            (chain("unknown"), false),
            (get(), false),
        ],
    );
    check(r#"Source("192.0.2.1")"#, &[(get(), true), (chain(""), true)]);
    check(
        r#"SourceFromLast("198.51.100.0/24")"#,
        &[
            (chain("198.51.100.7, 192.0.2.9"), false),
            (chain("192.0.2.9, 198.51.100.7"), true),
            (chain("192.0.2.9").header("x-forwarded-for", "198.51.100.7"), true),
        ],
    );
}

#[test]
fn times() {
    // 2016-01-01T00:00:00Z, a Friday.
    const THEN: u64 = 1_451_606_400;
    for date in [
        r#""2016-01-01T00:00:00Z""#,
        r#""2016-01-01T01:00:00+01:00""#,
        "1451606400",
        r#""2016-01-01T01:00:00", "Europe/Berlin""#,
    ] {
        check(
            &format!("After({date})"),
            &[
                (get().at(THEN - 1), false),
                (get().at(THEN), true),
                (get().at(THEN + 1), true),
            ],
        );
        check(
            &format!("Before({date})"),
            &[(get().at(THEN - 1), true), (get().at(THEN), false)],
        );
    }
    check(
        r#"Between("2016-01-01T00:00:00Z", "2016-01-01T00:01:00Z")"#,
        &[
            (get().at(THEN - 1), false),
            (get().at(THEN), true),
            (get().at(THEN + 59), true),
            (get().at(THEN + 60), false),
        ],
    );
    check(
        r#"Between("2016-01-01T01:00:00", "2016-01-01T02:00:00", "Europe/Berlin")"#,
        &[(get().at(THEN), true), (get().at(THEN + 3600), false)],
    );
}

#[test]
fn minutes() {
    // Friday, 2016-01-01 00:00 UTC.
    const THEN: u64 = 1_451_606_400;
    for (mask, expected) in [
        ("* * * * *", true),
        ("0 0 1 1 5", true),
        ("0 0 1 1 4", false),
        // All fields must hold, also both of the day.
        ("* * 2 * 5", false),
        ("1,0 0-3 * * *", true),
        ("1-59 * * * *", false),
        // From more to less there is nothing.
        ("59-0 * * * *", false),
        ("*  *\t* * *", true),
        // Five fields, all of them.
        ("0 0 1 1 0-6", true),
        ("0 0 1 2-12 *", false),
        ("0 1-23 * * *", false),
    ] {
        check(&format!("Cron({mask:?})"), &[(get().at(THEN + 59), expected)]);
    }
}

#[test]
fn minutes_are_those_of_a_place() {
    // 2016-01-01 00:00 UTC, and 2016-07-01 00:00 UTC, when the clocks of Berlin are one hour further.
    const WINTER: u64 = 1_451_606_400;
    const SUMMER: u64 = 1_467_331_200;
    let berlin = Predicates::new(jiff::tz::TimeZone::get("Europe/Berlin").unwrap());
    let routes =
        eskip::parse(r#"one: Cron("0 1 * * *") -> <shunt>; two: Cron("0 2 * * *") -> <shunt>"#).unwrap();
    let routes = routes.iter().map(|route| (route, ()));
    let (table, invalid) = RouteTable::build(routes, &berlin, TableOptions::default());
    assert_eq!(invalid, []);
    assert_eq!(get().at(WINTER).route(&table), "one");
    assert_eq!(get().at(SUMMER).route(&table), "two");
}

#[test]
fn shares() {
    let dice = |dice| Request { dice, ..get() };
    check("Traffic(.3)", &[(dice(0.29), true), (dice(0.3), false)]);
    check("Traffic(0)", &[(dice(0.0), false)]);
    check("Traffic(1)", &[(dice(0.999), true)]);
    let sticky = |dice, cookie| Request { dice, ..get() }.header("cookie", cookie);
    check(
        r#"Traffic(.3, "variant", "B")"#,
        &[
            (sticky(0.9, "variant=B"), true),
            (sticky(0.1, "variant=A"), false),
            (sticky(0.1, "other=A"), true),
            (sticky(0.9, "other=A"), false),
            // The first cookie of that name decides.
            (sticky(0.1, "variant=A; variant=B"), false),
        ],
    );
    let chance = |chance| Request { chance, ..get() };
    check(
        "TrafficSegment(.2, .5)",
        &[(chance(0.19), false), (chance(0.2), true), (chance(0.5), false)],
    );
    // Segments that lie side by side share all requests out, in whatever order the routes are asked.
    let segments = table(
        "a: TrafficSegment(0, .3) -> <shunt>; b: TrafficSegment(.3, 1) -> <shunt>; c: TrafficSegment(1, 1) -> <shunt>",
    );
    for (number, id) in [(0.0, "a"), (0.299, "a"), (0.3, "b"), (0.999, "b")] {
        assert_eq!(chance(number).route(&segments), id);
    }
    check("TrafficSegment(.2, .2)", &[(chance(0.2), false)]);
    check(
        "TrafficSegment(0, 1)",
        &[(chance(0.0), true), (chance(0.999), true)],
    );
}

#[test]
fn forwarded() {
    let with = |value| get().header("forwarded", value);
    check(
        r"ForwardedHost(/^example[.]org$/)",
        &[
            (with("for=192.0.2.1;Host=example.org"), true),
            (with("host=a.org, host=\"example.org\""), true),
            (with("host=example.org, host=a.org"), false),
            (get(), false),
        ],
    );
    check(
        r#"ForwardedProtocol("https")"#,
        &[
            (with("proto=http, for=x; proto=HTTPS"), true),
            (with("proto=https, proto=http"), false),
            (get(), false),
        ],
    );
}

#[test]
fn baggage() {
    let with = |value| get().header("baggage", value);
    check(
        r#"OTelBaggage("a")"#,
        &[
            (with("a=1"), true),
            (with("b=2 ,\ta = 1 ; p=x"), true),
            (with("b=2").header("baggage", "a="), true),
            (with("A=1"), false),
            (with("b=a,c=1;a=2"), false),
            (with("a"), false),
            (get(), false),
        ],
    );
    check(
        r#"OTelBaggage("a", "x y,+")"#,
        &[
            (with("a=x%20y%2C+"), true),
            (with("a=1,a=x%20y%2c+;p"), true),
            (with("a=x%20y%2C+,a=1"), false),
            (with("a=x+y"), false),
        ],
    );
}

#[test]
fn the_manual_has_a_valid_call_of_every_predicate() {
    let all: Vec<_> = Predicates::default().all().collect();
    let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
    for name in Predicates::NAMES
        .iter()
        .chain(&["*", "Any", "Path", "PathSubtree", "Weight"])
    {
        assert!(names.contains(name), "{name}");
    }
    assert_eq!(names.len(), Predicates::NAMES.len() + 5);
    for (name, about) in all {
        assert!(!about.does.is_empty(), "{name}");
        assert!(
            about.example == name || about.example.starts_with(&format!("{name}(")),
            "{name}"
        );
        table(&format!("{} -> <shunt>", about.example));
    }
}

#[test]
fn the_rest() {
    check("*", &[(get(), true)]);
    check("Any()", &[(get(), true)]);
    check("True()", &[(get(), true)]);
    check("True(1, \"x\")", &[(get(), true)]);
    check("False()", &[(get(), false)]);
    check(
        "Shutdown()",
        &[
            (get(), false),
            (
                Request {
                    stopping: true,
                    ..get()
                },
                true,
            ),
        ],
    );
    check(
        r#"Tee("a")"#,
        &[
            (get(), false),
            (
                Request {
                    tee: Some("a"),
                    ..get()
                },
                true,
            ),
            (
                Request {
                    tee: Some("b"),
                    ..get()
                },
                false,
            ),
        ],
    );
    let length = |length| Request { length, ..get() };
    check(
        "ContentLengthBetween(10, 20)",
        &[
            (length(None), false),
            (length(Some(9)), false),
            (length(Some(10)), true),
            (length(Some(19)), true),
            (length(Some(20)), false),
        ],
    );
    check(
        "ContentLengthBetween(0, 1)",
        &[(length(Some(0)), true), (length(None), false)],
    );
}

#[test]
fn claims_that_nobody_verified() {
    // {"iss":"https://accounts.google.com","email":"x@example.org","n":1}, in the alphabet of URLs, without padding.
    const TOKEN: &str = concat!(
        "bearer eyJhbGciOiJSUzI1NiJ9.",
        "eyJpc3MiOiJodHRwczovL2FjY291bnRzLmdvb2dsZS5jb20iLCJlbWFpbCI6InhAZXhhbXBsZS5vcmciLCJuIjoxfQ",
        ".sig"
    );
    let with = |value| get().header("authorization", value);
    let row = || {
        [
            (with(TOKEN), true),
            (with("Bearer a.b"), false),
            (with("Basic eDp5"), false),
            (get(), false),
        ]
    };
    check(
        r#"JWTPayloadAnyKV("iss", "nobody", "email", "x@example.org")"#,
        &row(),
    );
    check(
        r#"JWTPayloadAllKV("iss", "https://accounts.google.com", "email", "x@example.org")"#,
        &row(),
    );
    check(r#"JWTPayloadAnyKVRegexp("email", /example[.]org$/)"#, &row());
    check(r#"JWTPayloadAllKVRegexp("iss", /google/, "email", /@/)"#, &row());
    check(
        r#"JWTPayloadAllKV("iss", "https://accounts.google.com", "email", "y")"#,
        &[(with(TOKEN), false)],
    );
    // Claims that are no texts are none.
    check(r#"JWTPayloadAnyKV("n", "1")"#, &[(with(TOKEN), false)]);
    for token in [
        "Bearer ..",
        "Bearer a.%%%.c",
        "Bearer a.bm90anNvbg.c",
        "Bearer a.b.c.d",
        "Bearer",
    ] {
        check(r#"JWTPayloadAnyKV("iss", "x")"#, &[(with(token), false)]);
    }
}
