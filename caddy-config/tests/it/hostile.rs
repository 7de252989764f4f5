//! Texts that nobody writes by hand: an answer, at once, in bounded memory. That each test ends is the bound.

use std::fmt::Write as _;

use caddy_config::{from_caddyfile, from_json, text_from_bytes};

fn caddyfile(text: &str) -> Result<usize, String> {
    let adapted = from_caddyfile("t", text, &|_| None);
    adapted
        .map(|adapted| adapted.config.to_json().len())
        .map_err(|findings| findings.to_string())
}

fn json(text: &str) -> Result<usize, String> {
    from_json("t", text)
        .map(|config| config.to_json().len())
        .map_err(|findings| findings.to_string())
}

#[test]
fn deep_nesting_is_refused() {
    let blocks = caddyfile(&format!("a {{\n{}", "handle {\n".repeat(50_000))).unwrap_err();
    assert!(blocks.contains("blocks nested more than 24 deep"), "{blocks}");
    let closed = format!(
        "a {{\n{}{}}}\n",
        "handle {\n".repeat(50_000),
        "}\n".repeat(50_000)
    );
    assert!(
        caddyfile(&closed)
            .unwrap_err()
            .contains("blocks nested more than 24 deep")
    );
    for open in ["[", "{\"a\":", "{\"apps\":[", "[[[{\"a\":"] {
        assert!(
            json(&open.repeat(50_000))
                .unwrap_err()
                .contains("nested more than 128 deep")
        );
    }
}

#[test]
fn a_row_of_negations_is_refused() {
    for many in [5, 1_000, 100_000] {
        for line in [
            format!("@a {}path /x", "not ".repeat(many)),
            format!("@a {{\n\t{}path /x\n}}", "not ".repeat(many)),
        ] {
            let error = caddyfile(&format!(":80 {{\n{line}\n\trespond @a x\n}}\n")).unwrap_err();
            assert!(error.contains("times `not` in a row"), "{many}: {error}");
        }
    }
    let three = ":80 {\n\t@a not not not path /x\n\trespond @a x\n}\n";
    assert!(caddyfile(three).is_ok());
}

#[test]
fn nesting_within_the_limits_is_read_and_printed() {
    let levels = 23;
    let text = format!(
        "a {{\n{}{}}}\n",
        "handle {\n".repeat(levels),
        "}\n".repeat(levels)
    );
    assert!(caddyfile(&text).is_ok());
    let config = from_caddyfile("t", &text, &|_| None).unwrap().config;
    let json = config.to_json();
    assert_eq!(from_json("t", &json).unwrap(), config);
    assert!(
        serde_json::from_str::<serde_json::Value>(&json).is_ok(),
        "readers with a limit of 128 read it"
    );
}

#[test]
fn more_findings_than_anyone_reads_are_only_counted() {
    let mut text = "a {\n".to_owned();
    for number in 0..20_000 {
        writeln!(text, "nonsense{number} x").unwrap();
    }
    text.push('}');
    let findings = from_caddyfile("t", &text, &|_| None).unwrap_err();
    assert_eq!((findings.iter().count(), findings.left_out()), (100, 19_900));
    assert!(findings.to_string().ends_with("and 19900 more"));
}

#[test]
fn one_huge_token_is_shown_in_part() {
    let huge = "x".repeat(4 << 20);
    let message = caddyfile(&format!("a {{\n {huge} y\n}}")).unwrap_err();
    assert!(message.len() < 1000, "{} bytes", message.len());
    let message = json(&format!("{{\"{huge}\": 1, \"{huge}\": 2}}")).unwrap_err();
    assert!(message.len() < 1000, "{} bytes", message.len());
}

#[test]
fn what_is_never_closed_is_found_in_one_pass() {
    let filler = "a b c\n".repeat(100_000);
    for (open, expected) in [
        ("\"", "this quote is never closed"),
        ("`", "this backquote is never closed"),
        ("<<EOF\n", "this heredoc is never closed"),
        ("a {\n", "this block is never closed"),
    ] {
        assert!(
            caddyfile(&format!("x {open}{filler}"))
                .unwrap_err()
                .contains(expected),
            "{open}"
        );
    }
}

#[test]
fn text_that_only_looks_like_references_or_placeholders_is_cheap() {
    for unit in ["{$ ", "{$A:", "{$", "{host", "{", "{header.", "\\", "<<a\t", "#"] {
        let text = format!("a {{\n respond \"{}\"\n}}\n", unit.repeat(300_000));
        // Which of the two it is does not matter here; that it is said at once does.
        match caddyfile(&text) {
            Ok(length) => assert!(length > text.len() / 2, "{unit}"),
            Err(message) => assert!(message.len() < 100_000, "{unit}"),
        }
    }
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let message = caddyfile("a {\n \u{1b}[31mred\u{0} x\n}").unwrap_err();
    assert!(
        message.contains("a NUL character") && message.contains("unknown directive"),
        "{message}"
    );
    assert!(
        !message.contains('\u{1b}') && !message.contains('\u{0}'),
        "{message:?}"
    );
    let message = json("{\"\\u001b[31m\": 1}").unwrap_err();
    assert!(!message.contains('\u{1b}'), "{message:?}");
}

#[test]
fn bytes_that_are_no_text_say_where() {
    for (bytes, place) in [
        (&b"\xff"[..], "t:1:1"),
        (b"ok\n\xc3(", "t:2:1"),
        (b"\xe2\x82", "t:1:1"),
    ] {
        let message = text_from_bytes("t", bytes).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("{place}: this is not UTF-8")),
            "{message}"
        );
    }
    assert_eq!(text_from_bytes("t", b"\xef\xbb\xbfa"), Ok("a"));
}

#[test]
fn ports_multiply_only_so_far() {
    let ranges = "h:1-65535 ".repeat(100);
    let message = caddyfile(&format!("a {{\n reverse_proxy {ranges}\n}}")).unwrap_err();
    assert!(message.contains("more than 10000 upstreams"), "{message}");
}

#[test]
fn ten_thousand_sites_are_read_and_printed() {
    let mut text = String::new();
    for number in 0..10_000 {
        let tls = if number % 100 == 0 { "\ttls internal\n" } else { "" };
        writeln!(
            text,
            "site{number}.example.com {{\n\treverse_proxy app{number}:8080\n{tls}}}\n"
        )
        .unwrap();
    }
    let config = from_caddyfile("t", &text, &|_| None).unwrap().config;
    assert_eq!(
        config.apps.http.as_ref().unwrap().servers["srv0"].routes.len(),
        10_000
    );
    assert_eq!(from_json("t", &config.to_json()).unwrap(), config);
}

#[test]
fn ten_thousand_certificates_and_addresses_are_told_apart() {
    let mut text = String::new();
    for number in 0..10_000 {
        writeln!(
            text,
            "c{number}.example.com {{\n\ttls /c{number}.pem /c{number}.key\n}}"
        )
        .unwrap();
    }
    let names: Vec<String> = (0..10_000)
        .map(|number| format!("n{number}.example.com"))
        .collect();
    writeln!(text, "{} {{\n\ttls internal\n}}", names.join(", ")).unwrap();
    writeln!(text, "*.example.com {{\n\trespond 1\n}}").unwrap();
    let config = from_caddyfile("t", &text, &|_| None).unwrap().config;
    let server = &config.apps.http.unwrap().servers["srv0"];
    assert_eq!(server.tls_connection_policies.as_ref().unwrap().len(), 10_001);
}

#[test]
fn a_large_matcher_is_not_copied_without_end() {
    let paths: String = (0..20_000).fold(String::new(), |mut text, number| {
        write!(text, " /{number}").unwrap();
        text
    });
    let uses = "respond @m x\n".repeat(2_000);
    let message = caddyfile(&format!("a {{\n@m path{paths}\n{uses}}}\n")).unwrap_err();
    assert!(
        message.contains("this matcher is too large for all of its uses"),
        "{message}"
    );
    let few = "respond @m x\n".repeat(50);
    assert!(caddyfile(&format!("a {{\n@m path{paths}\n{few}}}\n")).is_ok());
}

#[test]
fn many_large_regular_expressions_are_refused_together() {
    let mut lines = String::new();
    for number in 0..5_000 {
        writeln!(lines, "@m{number} path_regexp {number}.{{500}}").unwrap();
    }
    let message = caddyfile(&format!("a {{\n{lines}}}\n")).unwrap_err();
    assert!(
        message.contains("all of this configuration together would need too much memory"),
        "{message}"
    );
    let patterns: String = (0..5_000).fold(String::new(), |mut text, number| {
        write!(text, r#"{{"path_regexp":{{"pattern":"{number}.{{500}}"}}}},"#).unwrap();
        text
    });
    let sets = patterns.trim_end_matches(',');
    let message = json(&format!(
        r#"{{"apps":{{"http":{{"servers":{{"s":{{"routes":[{{"match":[{sets}]}}]}}}}}}}}}}"#
    ))
    .unwrap_err();
    assert!(
        message.contains("all of this configuration together would need too much memory"),
        "{message}"
    );
    let calls = vec!["path_regexp('.{500}')"; 500].join(" || ");
    let message = caddyfile(&format!("a {{\n@m `{calls}`\nrespond @m x\n}}\n")).unwrap_err();
    assert!(message.contains("too large together"), "{message}");
}

#[test]
fn long_lists_are_compared_in_one_pass() {
    let mut hosts = "@m host".to_owned();
    let mut users = "basic_auth {\n".to_owned();
    let mut countries = "doors_geo {\n".to_owned();
    for number in 0..50_000 {
        write!(hosts, " h{number}").unwrap();
        writeln!(users, "u{number} {{env.HASH}}").unwrap();
        writeln!(countries, "d{number} {{\nXX\n}}").unwrap();
    }
    assert!(caddyfile(&format!("a {{\n{hosts}\nrespond @m x\n}}\n")).is_ok());
    assert!(caddyfile(&format!("a {{\n{users}}}\n}}\n")).is_ok());
    assert!(caddyfile(&format!("a {{\n{countries}}}\n}}\n")).is_err());
}
