//! JSON that nobody writes by hand: an error or a configuration, in memory that its length bounds.

#![allow(clippy::too_many_lines, reason = "tables of cases")]

use std::fmt::Write as _;

use allocation_counter::measure;
use caddy_config::{from_json, text_from_bytes};

/// What a document may cost at most: so much for each of its bytes, and this beside it.
const PER_BYTE: u64 = 64;
const BESIDE: u64 = 4 << 20;

/// A name, the document, and a part of what is said; nothing if it is accepted.
type Case = (&'static str, String, &'static str);

/// Reads it and says what is wrong with it, after a look at what that cost.
fn read(name: &str, text: &str) -> String {
    let mut said = String::new();
    let cost = measure(|| {
        if let Err(findings) = from_json("t", text) {
            said = findings.to_string();
        }
    });
    let bound = PER_BYTE * text.len() as u64 + BESIDE;
    assert!(
        cost.bytes_max <= bound,
        "{name}: {} bytes of memory for {} of text",
        cost.bytes_max,
        text.len()
    );
    assert!(said.len() < 200_000, "{name} says {} bytes", said.len());
    assert!(!said.contains(['\0', '\x1b']), "{name} writes control characters");
    said
}

fn check(cases: &[Case]) {
    for (name, text, expected) in cases {
        let said = read(name, text);
        if expected.is_empty() {
            assert!(said.is_empty(), "{name}: {said}");
        } else {
            assert!(said.contains(expected), "{name}: {said}");
        }
    }
}

fn app(fields: &str) -> String {
    format!(r#"{{"apps":{{"http":{{{fields}}}}}}}"#)
}

fn server(fields: &str) -> String {
    app(&format!(r#""servers":{{"s":{{{fields}}}}}"#))
}

fn matcher(fields: &str) -> String {
    server(&format!(r#""routes":[{{"match":[{{{fields}}}]}}]"#))
}

fn handler(fields: &str) -> String {
    server(&format!(r#""routes":[{{"handle":[{{{fields}}}]}}]"#))
}

fn respond(body: &str) -> String {
    handler(&format!(r#""handler":"static_response","body":"{body}""#))
}

#[test]
fn texts_that_are_no_json_are_refused_at_their_first_fault() {
    let cases: &[Case] = &[
        (
            "nothing",
            String::new(),
            "the text ends where a value is expected",
        ),
        (
            "spaces",
            " ".repeat(1 << 20),
            "the text ends where a value is expected",
        ),
        ("a NUL", "\0".to_owned(), "expected a value"),
        ("NULs", "\0".repeat(1 << 20), "expected a value"),
        ("a byte order mark", "\u{feff}{}".to_owned(), "expected a value"),
        (
            "two documents",
            "{}{}".to_owned(),
            "unexpected text behind the document",
        ),
        (
            "a tail",
            format!("{{}}{}", "x".repeat(1 << 20)),
            "unexpected text behind the document",
        ),
        ("a comment", "// x\n{}".to_owned(), "JSON has no comments"),
        ("single quotes", "{'apps': {}}".to_owned(), "expected a key"),
        ("a bare word", "{\"apps\": nul}".to_owned(), "expected a value"),
        ("not a number", "{\"apps\": NaN}".to_owned(), "expected a value"),
        (
            "a key without value",
            "{\"apps\"}".to_owned(),
            "expected `:` behind the key",
        ),
        (
            "a comma too many",
            "{\"apps\": {},}".to_owned(),
            "a comma before `}`",
        ),
        (
            "commas alone",
            format!("[{}", ",".repeat(1 << 20)),
            "expected a value",
        ),
        (
            "colons alone",
            format!("{{{}", ":".repeat(1 << 20)),
            "expected a key",
        ),
        (
            "brackets that cross",
            "{\"apps\": [}]".to_owned(),
            "expected a value",
        ),
        (
            "a NUL in a string",
            "{\"a\0b\": 1}".to_owned(),
            "a control character inside a string",
        ),
        (
            "a line feed in a string",
            "{\"a\nb\": 1}".to_owned(),
            "a control character inside a string",
        ),
        (
            "an unknown escape",
            "{\"\\x41\": 1}".to_owned(),
            "this is not an escape",
        ),
        (
            "an escape cut short",
            "{\"\\u12".to_owned(),
            "\\u needs four hexadecimal digits",
        ),
        (
            "an escape with a sign",
            "{\"\\u+123\": 1}".to_owned(),
            "\\u needs four hexadecimal digits",
        ),
        (
            "half a surrogate pair",
            "{\"\\ud800\": 1}".to_owned(),
            "half of a surrogate pair",
        ),
        (
            "a pair of the wrong half",
            "{\"\\ud800\\u0041\": 1}".to_owned(),
            "half of a surrogate pair",
        ),
        (
            "the second half alone",
            "{\"\\udc00\": 1}".to_owned(),
            "half of a surrogate pair",
        ),
        (
            "a string that never ends",
            format!("{{\"{}", "a".repeat(10 << 20)),
            "this string is never closed",
        ),
        (
            "a backslash at the end",
            "{\"\\".to_owned(),
            "this is not an escape",
        ),
        (
            "an object that never ends",
            "{\"apps\": {".to_owned(),
            "expected a key",
        ),
        (
            "an array that never ends",
            format!("[{}1", "1,".repeat(100_000)),
            "this bracket is never closed",
        ),
    ];
    check(cases);
}

#[test]
fn what_nests_without_end_is_refused() {
    let nots = |depth: usize| {
        let (open, close) = ("{\"not\":[".repeat(depth), "]}".repeat(depth));
        server(&format!(r#""routes":[{{"match":[{open}{{}}{close}]}}]"#))
    };
    let subroutes = |depth: usize| {
        let open = r#"{"handler":"subroute","routes":[{"handle":["#.repeat(depth);
        server(&format!(
            r#""routes":[{{"handle":[{open}{}]}}]"#,
            "]}]}".repeat(depth)
        ))
    };
    let errors = |depth: usize| {
        let open = r#"{"handler":"subroute","errors":{"routes":[{"handle":["#.repeat(depth);
        server(&format!(
            r#""routes":[{{"handle":[{open}{}]}}]"#,
            "]}]}}".repeat(depth)
        ))
    };
    let too_deep = "nested more than 128 deep";
    check(&[
        ("arrays", "[".repeat(1 << 20), too_deep),
        ("objects", "{\"a\":".repeat(1 << 18), too_deep),
        ("both", "[{\"a\":".repeat(1 << 18), too_deep),
        (
            "closed arrays",
            format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
            too_deep,
        ),
        ("a deep not", nots(10_000), too_deep),
        ("a not within the limit", nots(50), ""),
        ("deep subroutes", subroutes(10_000), too_deep),
        ("subroutes within the limit", subroutes(20), ""),
        ("deep error routes", errors(10_000), too_deep),
    ]);
}

#[test]
fn keys_that_occur_twice_or_are_nobodys_are_refused() {
    let mut same = "{".to_owned();
    for _ in 0..100_000 {
        same.push_str("\"apps\":{},");
    }
    same.push_str("\"apps\":{}}");
    let mut different = "{".to_owned();
    for number in 0..100_000 {
        write!(different, "\"k{number}\":{number},").unwrap();
    }
    different.push_str("\"apps\":{}}");
    let huge = "k".repeat(10 << 20);
    check(&[
        (
            "twice",
            r#"{"apps": {}, "apps": {}}"#.to_owned(),
            "the key `apps` occurs twice",
        ),
        (
            "twice, once escaped",
            r#"{"apps": {}, "\u0061pps": {}}"#.to_owned(),
            "the key `apps` occurs twice",
        ),
        (
            "two servers of one name",
            app(r#""servers":{"s":{},"s":{}}"#),
            "the key `s` occurs twice",
        ),
        (
            "two handlers in one",
            handler(r#""handler":"subroute","handler":"vars""#),
            "the key `handler` occurs twice",
        ),
        ("the same 100,000 times", same, "more"),
        ("100,000 unknown ones", different, "more"),
        ("one of 10 MB", format!("{{\"{huge}\":1}}"), "unknown"),
        ("the empty one", "{\"\": 1}".to_owned(), "unknown"),
        ("one in other case", r#"{"Apps": {}}"#.to_owned(), "unknown"),
        ("a prototype", r#"{"__proto__": {}}"#.to_owned(), "unknown"),
        ("one with a NUL", "{\"apps\\u0000\": {}}".to_owned(), "unknown"),
        (
            "one that moves the cursor",
            "{\"\\u001b[2J\": {}}".to_owned(),
            "unknown",
        ),
    ]);
}

#[test]
fn values_of_the_wrong_kind_or_size_are_refused() {
    let digits = "9".repeat(1 << 20);
    check(&[
        ("a list as document", "[]".to_owned(), "expected"),
        ("a string as document", "\"apps\"".to_owned(), "expected"),
        ("a number as document", "1".to_owned(), "expected"),
        ("true as document", "true".to_owned(), "expected"),
        ("servers as a list", app(r#""servers":[]"#), "expected"),
        ("routes as an object", server(r#""routes":{}"#), "expected"),
        ("a route as text", server(r#""routes":["x"]"#), "expected"),
        ("a port that is none", app(r#""http_port":65536"#), "65535"),
        ("a negative port", app(r#""http_port":-1"#), "http_port"),
        (
            "a port of a million digits",
            app(&format!(r#""http_port":{digits}"#)),
            "http_port",
        ),
        ("a port with a fraction", app(r#""http_port":80.5"#), "http_port"),
        (
            "a port with an exponent",
            app(r#""http_port":1e999999999"#),
            "http_port",
        ),
        (
            "zeros before a number",
            app(r#""http_port":0080"#),
            "not a number",
        ),
        ("a sign alone", app(r#""http_port":-"#), "not a number"),
        ("two points", app(r#""http_port":1.2.3"#), "not a number"),
        (
            "a grace period beyond time",
            app(r#""grace_period":99999999999999999999"#),
            "grace_period",
        ),
        (
            "a grace period of a million hours",
            app(&format!(r#""grace_period":"{digits}h""#)),
            "grace_period",
        ),
        (
            "a negative grace period",
            app(r#""grace_period":-1"#),
            "grace_period",
        ),
        (
            "a grace period without unit",
            app(r#""grace_period":"10""#),
            "grace_period",
        ),
        (
            "a size beyond memory",
            server(r#""max_header_bytes":18446744073709551616"#),
            "max_header_bytes",
        ),
        (
            "a status that is none",
            handler(r#""handler":"static_response","status_code":99999"#),
            "status_code",
        ),
        ("a handler without name", handler(""), "handler"),
        ("a handler of no kind", handler(r#""handler":7"#), "handler"),
        ("an unknown handler", handler(r#""handler":"rm -rf""#), "handler"),
        (
            "an expression without text",
            matcher(r#""expression":{"name":"x"}"#),
            "expr",
        ),
        (
            "an expression that is a number",
            matcher(r#""expression":7"#),
            "expression",
        ),
        ("a matcher without end", matcher(r#""path":"/x""#), "expected"),
    ]);
}

#[test]
fn placeholders_and_patterns_made_to_hurt_cost_what_they_are_long() {
    let million = 1 << 20;
    check(&[
        ("a million opening braces", respond(&"{".repeat(million)), ""),
        ("a million closing braces", respond(&"}".repeat(million)), ""),
        ("a million pairs", respond(&"{}".repeat(million)), ""),
        ("a million escaped braces", respond(&"\\\\{".repeat(million)), ""),
        ("a string of 10 MB", respond(&"x".repeat(10 << 20)), ""),
        (
            "a document above the limit",
            respond(&"x".repeat(33 << 20)),
            "the text is longer than",
        ),
        (
            "100,000 methods",
            handler(r#""handler":"metrics""#).replace(
                r#""handle""#,
                &format!(
                    r#""match":[{{"method":[{}"GET"]}}],"handle""#,
                    "\"GET\",".repeat(100_000)
                ),
            ),
            "",
        ),
    ]);
}

/// A server whose route invokes `a`, with these named routes: a name and its handlers.
fn invoking(named: &[(&str, &str)]) -> String {
    let named: Vec<String> = named
        .iter()
        .map(|(name, handlers)| format!(r#""{name}":{{"handle":[{handlers}]}}"#))
        .collect();
    let named = named.join(",");
    server(&format!(
        r#""named_routes":{{{named}}},"routes":[{{"handle":[{{"handler":"invoke","name":"a"}}]}}]"#
    ))
}

#[test]
fn named_routes_that_lead_back_to_themselves_are_refused() {
    let invoke = |name: &str| format!(r#"{{"handler":"invoke","name":"{name}"}}"#);
    let within = |name: &str| {
        let inner = invoke(name);
        format!(r#"{{"handler":"subroute","routes":[{{"handle":[{inner}]}}]}}"#)
    };
    let on_error = |name: &str| {
        let inner = invoke(name);
        format!(r#"{{"handler":"subroute","errors":{{"routes":[{{"handle":[{inner}]}}]}}}}"#)
    };
    let on_answer = |name: &str| {
        let inner = invoke(name);
        let routes = format!(r#"[{{"routes":[{{"handle":[{inner}]}}]}}]"#);
        format!(r#"{{"handler":"reverse_proxy","upstreams":[{{"dial":"h:1"}}],"handle_response":{routes}}}"#)
    };
    let names: Vec<String> = (0..5_000).map(|number| format!("r{number}")).collect();
    let chain = |last: &str| {
        let next = names.iter().skip(1).map(String::as_str).chain([last]);
        let routes: Vec<(&str, String)> = names.iter().map(String::as_str).zip(next.map(invoke)).collect();
        let mut all: Vec<(&str, &str)> = routes.iter().map(|(name, to)| (*name, to.as_str())).collect();
        let first = invoke("r0");
        let end = r#"{"handler":"static_response"}"#;
        all.extend([("a", first.as_str()), ("end", end)]);
        invoking(&all)
    };
    let everyone: Vec<String> = (0..300).map(|number| invoke(&format!("n{number}"))).collect();
    let everyone = everyone.join(",");
    let numbers: Vec<String> = (0..300).map(|number| format!("n{number}")).collect();
    let mut all: Vec<(&str, &str)> = numbers
        .iter()
        .map(|name| (name.as_str(), everyone.as_str()))
        .collect();
    all.push(("a", &everyone));
    let back = "leads back to itself";
    check(&[
        ("itself", invoking(&[("a", &invoke("a"))]), back),
        (
            "by another",
            invoking(&[("a", &invoke("b")), ("b", &invoke("a"))]),
            back,
        ),
        ("out of a subroute", invoking(&[("a", &within("a"))]), back),
        (
            "out of error routes",
            invoking(&[("a", &on_error("b")), ("b", &within("a"))]),
            back,
        ),
        ("out of an answer", invoking(&[("a", &on_answer("a"))]), back),
        ("by 5,000 others", chain("r0"), back),
        ("everyone by everyone", invoking(&all), back),
        ("a long way without a circle", chain("end"), ""),
        ("to nobody", invoking(&[("b", &invoke("a"))]), "a"),
    ]);
}

#[test]
fn a_hundred_thousand_routes_are_read() {
    let mut routes = String::new();
    for number in 0..100_000 {
        write!(
            routes,
            r#"{{"match":[{{"host":["h{number}.test"]}}],"terminal":true}},"#
        )
        .unwrap();
    }
    let text = server(&format!(r#""routes":[{routes}{{}}]"#));
    assert_eq!(read("100,000 routes", &text), "");
}

#[test]
fn more_values_than_any_configuration_has_are_refused() {
    let text = format!("[{}0]", "0,".repeat(3_000_000));
    assert!(read("three million zeros", &text).contains("more than 2000000 values"));
}

#[test]
fn bytes_that_are_no_text_are_refused_before_they_are_json() {
    for bytes in [
        &b"{\"a\": \"\xff\"}"[..],
        b"{\"a\": \"\xc0\xaf\"}",
        b"{\"a\": \"\xed\xa0\x80\"}",
        b"{\"a\": \"\xf4\x90\x80\x80\"}",
        b"\xff\xfe{\x00}\x00",
    ] {
        let message = text_from_bytes("t", bytes).unwrap_err().to_string();
        assert!(message.contains("this is not UTF-8"), "{message}");
    }
}

#[test]
fn expressions_made_to_hurt_are_refused_or_cost_what_they_are_long() {
    let expression = |text: &str| matcher(&format!(r#""expression":"{text}""#));
    let many = |unit: &str, count: usize| expression(&format!("true{}", unit.repeat(count)));
    let too_long = "longer than 16384 bytes";
    let too_deep = "nested";
    check(&[
        ("a megabyte of it", many(" && true", 1 << 17), too_long),
        ("as many as fit", many(" && true", 1_900), ""),
        ("parentheses", expression(&"(".repeat(10_000)), too_deep),
        (
            "pairs of parentheses",
            expression(&format!("{}true{}", "(".repeat(5_000), ")".repeat(5_000))),
            too_deep,
        ),
        (
            "lists in lists",
            expression(&format!("1 in {}{}", "[".repeat(5_000), "]".repeat(5_000))),
            too_deep,
        ),
        (
            "not, and not again",
            expression(&format!("{}true", "!".repeat(10_000))),
            too_deep,
        ),
        ("choices", expression(&"true ? true : ".repeat(1_000)), too_deep),
        ("calls", expression(&"size(".repeat(2_000)), too_deep),
        (
            "a regular expression that grows",
            expression("'x'.matches('((a{1000}){1000}){1000}')"),
            "regular expression",
        ),
        (
            "one that backtracks elsewhere",
            expression("'aaaa'.matches('(a+)+$')"),
            "",
        ),
        ("a text that never ends", expression("'abc"), "closing quote"),
        ("no text at all", expression(""), "expression"),
        (
            "a number beyond all",
            expression(&format!("{} == 1", "9".repeat(400))),
            "number",
        ),
    ]);
}

#[test]
fn regular_expressions_made_to_hurt_are_refused_or_cost_what_they_are_long() {
    let path = |pattern: &str| matcher(&format!(r#""path_regexp":{{"pattern":"{pattern}"}}"#));
    let hundred = |pattern: &dyn Fn(usize) -> String| {
        let sets: Vec<String> = (0..100)
            .map(|number| format!(r#"{{"path_regexp":{{"pattern":"{}"}}}}"#, pattern(number)))
            .collect();
        server(&format!(r#""routes":[{{"match":[{}]}}]"#, sets.join(",")))
    };
    let regexp = "regular expression";
    check(&[
        ("one that grows", path("((a{1000}){1000}){1000}"), regexp),
        ("one that grows sideways", path(&"(a{0,1000}|".repeat(50)), regexp),
        ("one that backtracks elsewhere", path("^(a+)+$"), ""),
        (
            "a hundred that grow",
            hundred(&|number| format!("{number}(a{{1000}}){{1000}}")),
            regexp,
        ),
        (
            "a hundred classes",
            hundred(&|number| format!("{number}[\\\\w\\\\d]{{50}}")),
            "",
        ),
        (
            "deep groups",
            path(&format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000))),
            regexp,
        ),
        ("open groups", path(&"(".repeat(100_000)), regexp),
        (
            "a megabyte of choices",
            path(&"a|".repeat(1 << 19)),
            "longer than 8192 bytes",
        ),
        ("a reference back", path("(a)\\\\1"), regexp),
        ("a look behind", path("(?<=a)b"), regexp),
    ]);
}
