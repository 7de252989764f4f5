//! Which arguments predicates refuse.

use super::{Request, built};

/// Calls, and what is said of them.
const REFUSED: &[(&str, &str)] = &[
    ("Methods()", "expected one or more methods"),
    (r#"Methods("FOO")"#, r#""FOO" is none of GET,"#),
    ("HostAny()", "expected one or more hosts"),
    ("HostAny(1)", "expected one or more hosts"),
    (r"PathRegexp(/(/)", "not a regular expression: "),
    (r#"Header("a b", "c")"#, r#""a b" is no name of a header field"#),
    (
        r#"HeaderSHA256("a", "00")"#,
        "expected a name and one or more hashes of 64 hexadecimal digits",
    ),
    (r#"Cookie("a")"#, "expected a name and a regular expression"),
    (
        "QueryParam()",
        "expected a name, and perhaps a regular expression",
    ),
    (
        r#"ClientIP("0.0.0.0")"#,
        "0.0.0.0 is nobody's address; all of them are 0.0.0.0/0",
    ),
    (
        r#"ClientIP("::")"#,
        ":: is nobody's address; all of them are ::/0",
    ),
    (
        r#"Source("example.org")"#,
        r#""example.org" is neither an address nor a network"#,
    ),
    ("Source()", "expected one or more addresses or networks"),
    (r#"After("yesterday")"#, "expected a date: "),
    (
        r#"After("2016-01-01T00:00:00", "Nowhere/City")"#,
        "expected a date: ",
    ),
    ("After(1.5)", "expected a date: "),
    ("Between(2, 1)", "the first date is not before the second"),
    ("Between(1)", "expected two times a date: "),
    (r#"Cron("* * * *")"#, "expected five fields"),
    (r#"Cron("* * * * * *")"#, "expected five fields"),
    (r#"Cron("* * 0 * *")"#, r#""0" is no number from 1 to 31"#),
    (r#"Cron("* * * JAN *")"#, r#""JAN" is no number from 1 to 12"#),
    (r#"Cron("*/5 * * * *")"#, r#""*/5" is no number from 0 to 59"#),
    (r#"Cron("60 * * * *")"#, r#""60" is no number from 0 to 59"#),
    (r#"Cron("* * * * 7")"#, r#""7" is no number from 0 to 6"#),
    ("Traffic(1.1)", "expected a share from 0 to 1"),
    (r#"Traffic(.1, "a")"#, "expected a share from 0 to 1"),
    (
        "TrafficSegment(.5, .2)",
        "expected two numbers from 0 to 1, the first not above the second",
    ),
    (r#"ForwardedProtocol("ftp")"#, "expected http or https"),
    ("Shutdown(1)", "expected no arguments"),
    ("Tee()", "expected one label"),
    ("OTelBaggage()", "expected a key, and perhaps a value"),
    (
        r#"OTelBaggage("a", "b", "c")"#,
        "expected a key, and perhaps a value",
    ),
    ("Method(\"\")", "expected one method"),
    ("Cookie(1, 2)", "expected a name and a regular expression"),
    (r#"HostAny("a", 1)"#, "expected one or more hosts"),
    (
        r#"ClientIP("10.0.0.0/33")"#,
        "\"10.0.0.0/33\" is neither an address nor a network",
    ),
    ("Traffic(-.1)", "expected a share from 0 to 1"),
    ("Traffic()", "expected a share from 0 to 1"),
    ("TrafficSegment(0, 1.1)", "expected two numbers from 0 to 1"),
    ("ContentLengthBetween(1, 1)", "expected two lengths in bytes"),
    ("Between(1, 1)", "the first date is not before the second"),
    ("ContentLengthBetween(2, 1)", "expected two lengths in bytes"),
    ("ContentLengthBetween(-1, 1)", "expected two lengths in bytes"),
    (
        r#"JWTPayloadAnyKV("a")"#,
        "expected one or more pairs of a name and a value",
    ),
    (
        "JWTPayloadAllKV()",
        "expected one or more pairs of a name and a value",
    ),
    ("Weight()", "expected one number"),
];

#[test]
fn arguments_that_say_nothing_are_refused() {
    for (call, why) in REFUSED {
        let (table, invalid) = built(&format!("bad: {call} -> <shunt>; good: * -> <shunt>"));
        let said: Vec<String> = invalid.iter().map(ToString::to_string).collect();
        let name = call.split('(').next().unwrap();
        let expected = format!(
            "failed to process route bad: invalid_predicate_params: failed to create predicate {name}(): {why}"
        );
        assert!(
            said.len() == 1 && said[0].starts_with(&expected),
            "{call}: {said:?}"
        );
        // The others are there.
        assert_eq!(Request::get("/").route(&table), "good");
    }
}
