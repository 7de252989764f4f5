//! Every mistake in a Caddyfile: what it says, and where.

use caddy_config::{Adapted, Config, Handler, Severity, from_caddyfile};

fn environment(name: &str) -> Option<String> {
    match name {
        "KEY" => Some("c2VjcmV0LXNlY3JldA==".to_owned()),
        "EMPTY" => Some(String::new()),
        "TWO_KEYS" => Some("c2VjcmV0LXNlY3JldA== bW9yZS1zZWNyZXQ=".to_owned()),
        "TWO_LINES" => Some("c2VjcmV0LXNlY3JldA==\nbW9yZS1zZWNyZXQ=".to_owned()),
        "SITE" => Some("example.com {\n\trespond hello\n}".to_owned()),
        "PORT" => Some("8080".to_owned()),
        _ => None,
    }
}

pub(crate) fn adapted(text: &str) -> Adapted {
    from_caddyfile("Caddyfile", text, &environment).unwrap_or_else(|findings| panic!("{text}\n{findings}"))
}

/// `line:column: message` of every finding.
pub(crate) fn findings(text: &str) -> Vec<String> {
    let findings = from_caddyfile("Caddyfile", text, &environment).expect_err("the text is wrong");
    let short = |finding: &caddy_config::Diagnostic| {
        let kind = if finding.severity() == Severity::Warning {
            "warning: "
        } else {
            ""
        };
        format!(
            "{}:{}: {kind}{}",
            finding.place().line(),
            finding.place().column(),
            finding.message()
        )
    };
    findings.iter().map(short).collect()
}

/// Each of `lines`, alone in a site on line 2, has the one finding beside it.
pub(crate) fn in_a_site(cases: &[(&str, &str)]) {
    for (lines, expected) in cases {
        let text = format!("example.com {{\n\t{lines}\n}}\n");
        assert_eq!(findings(&text), [*expected], "{text}");
    }
}

#[test]
fn a_finding_shows_its_line_a_mark_and_a_way_out() {
    let text = "example.com {\n\trespnd \"hello\"\n}\n";
    let findings = from_caddyfile("Caddyfile", text, &|_| None).unwrap_err();
    let expected = "Caddyfile:2:2: unknown directive `respnd`\n  2 | \trespnd \"hello\"\n    | \t^^^^^^\n  \
                    help: did you mean `respond`?";
    assert_eq!(findings.to_string(), expected);
}

#[test]
fn every_mistake_is_found_at_once_in_the_order_of_the_text() {
    let text = r#"{
	http_port eighty
	acme_dns cloudflare TOKEN
	nonsense
}

ws://example.com, a.example.com:99999 {
	respond
	tracing
	file_server
	header {
		"X Y" 1
		-A b
	}
	reverse_proxy ftp://app {
		health_url /
		lb_policy robin
	}
}

(snippet) {
	respnd
}

{
	debug
}

b.example.com {
	import snippet
	tls acme
	@m file a
	respond @n 200
}
"#;
    let expected = [
        "2:12: expected a port from 1 to 65535",
        "3:2: the global option `acme_dns` is not supported",
        "4:2: unknown global option `nonsense`",
        "7:1: the scheme ws:// is not one of a site",
        "7:19: the port is not a number from 0 to 65535",
        "8:2: `respond` needs a status or a body",
        "9:2: `tracing` is not supported yet",
        "10:2: `file_server` is not supported",
        "12:3: this is not the name of a header field",
        "13:6: unexpected argument `b`",
        "15:16: upstreams by ftp:// are not supported",
        "16:3: unknown option `health_url` of `reverse_proxy`",
        "17:13: unknown or unsupported policy `robin`",
        "22:2: unknown directive `respnd`",
        "25:1: a block without an address, and not the first of the file",
        "31:6: unexpected argument `acme`",
        "32:5: the matcher `file` is not supported",
        "33:10: the matcher `@n` is not defined",
    ];
    assert_eq!(findings(text), expected);
}

#[test]
fn broken_structure_and_broken_directives_are_found_together() {
    let text = "a {\n\trespond { x\n\t}\n\trespnd\n\theader {}\n}\n}\n";
    assert_eq!(
        findings(text),
        [
            "2:2: `respond` needs a status or a body",
            "2:12: text behind `{` on the same line",
            "4:2: unknown directive `respnd`",
            "5:2: `header` needs a field or a block of fields",
            "5:9: `{}` is a word, not an empty block",
            "7:1: nothing is open that this brace could close",
        ]
    );
}

#[test]
fn directives_say_what_they_miss_and_what_is_too_much() {
    in_a_site(&[
        ("respond a 200 b", "2:16: unexpected argument `b`"),
        ("respond a 99", "2:12: `99` is not a final status"),
        ("respond a 102", "2:12: `102` is not a final status"),
        (
            "respond a {http.x}",
            "2:12: the placeholder `{http.x}` is not supported",
        ),
        (
            "respond \"{http.request.body}\"",
            "2:11: the placeholder `{http.request.body}` is not supported",
        ),
        (
            "respond \"a {host} {resp.x}\"",
            "2:20: the placeholder `{resp.x}` is not supported",
        ),
        ("respond a {\n\t\tbody b\n\t}", "3:3: the body is given twice"),
        (
            "respond a {\n\t\tbdy b\n\t}",
            "3:3: unknown or unsupported subdirective `bdy`",
        ),
        (
            "respond a {\n\t\tclose now\n\t}",
            "3:9: unexpected argument `now`",
        ),
        ("redir", "2:2: `redir` needs a target"),
        ("redir /x", "2:2: `redir` needs a target"),
        (
            "redir https://a 200",
            "2:18: `200` is not a status for a redirect",
        ),
        ("redir https://a 301 b", "2:22: unexpected argument `b`"),
        (
            "redir \"a\nb\"",
            "2:8: a line break or control character in a header field",
        ),
        ("abort now", "2:8: unexpected argument `now`"),
        ("handle a", "2:9: unexpected argument `a`"),
        (
            "handle {\n\t\ttls internal\n\t}",
            "3:3: `tls` stands only directly in a site",
        ),
        (
            "route {\n\t\tbind ::1\n\t}",
            "3:3: `bind` stands only directly in a site",
        ),
        ("bind", "2:2: `bind` needs an address, such as 127.0.0.1"),
        ("bind 127.0.0.1:80", "2:7: this is not an address to listen on"),
        ("tls", "2:2: `tls` needs arguments"),
        ("tls extrenal", "2:6: unexpected argument `extrenal`"),
        ("tls a b c", "2:10: unexpected argument `c`"),
        (
            "tls internal {\n\t\tdns cloudflare\n\t}",
            "3:3: the option `dns` of `tls` is not supported",
        ),
        (
            "tls a b\n\ttls a c",
            "3:8: this certificate was given another key before",
        ),
    ]);
}

#[test]
fn header_directives_say_what_is_wrong() {
    in_a_site(&[
        ("header", "2:2: `header` needs a field or a block of fields"),
        ("header +-A b", "2:9: two signs before a field"),
        ("header >-A", "2:9: two signs before a field"),
        ("header ?A b c", "2:14: unexpected argument `c`"),
        ("header +A b c", "2:14: unexpected argument `c`"),
        ("header A b c d", "2:15: unexpected argument `d`"),
        (
            "header A ( c",
            "2:11: this regular expression is wrong: unclosed group",
        ),
        (
            "header A b {\n\t\tC d\n\t}",
            "3:3: fields both before and in the block",
        ),
        (
            "header {host} b",
            "2:9: placeholders in field names are not supported yet",
        ),
        (
            "header A {file./x/y}",
            "2:11: the placeholder `{file./x/y}` is not supported",
        ),
        (
            "header {\n\t\tmatch\n\t\tA b\n\t}",
            "3:3: `match` needs `status` or `header`",
        ),
        (
            "header {\n\t\tmatch status x\n\t\tA b\n\t}",
            "3:16: `x` is neither a status nor a class such as 4xx",
        ),
        (
            "header {\n\t\tmatch body x\n\t\tA b\n\t}",
            "3:9: unknown or unsupported response matcher `body`",
        ),
        ("request_header", "2:2: `request_header` needs a field"),
        ("request_header ?A b", "2:17: `?` before a request field"),
        ("request_header >A b", "2:17: `>` before a request field"),
    ]);
}

#[test]
fn matchers_say_what_is_wrong() {
    in_a_site(&[
        ("@m", "2:2: a matcher without a condition"),
        ("@m {\n\t}", "2:2: a matcher without a condition"),
        ("@m path", "2:5: `path` needs at least one value"),
        ("@m pth /a", "2:5: unknown or unsupported matcher `pth`"),
        ("@m host a b A", "2:14: this host is repeated"),
        (
            "@m path /{http.x}/a",
            "2:11: the placeholder `{http.x}` is not supported",
        ),
        (
            "@m path /a\n\t@m path /b",
            "3:2: `@m` is given twice, first on line 2",
        ),
        (
            "@m path /a\n\thandle {\n\t\t@m path /b\n\t}",
            "4:3: `@m` is given twice, first on line 2",
        ),
        (
            "handle {\n\t\t@m path /b\n\t}\n\trespond @m 200",
            "5:10: the matcher `@m` is not defined",
        ),
    ]);
}

#[test]
fn a_doors_handler_says_what_is_missing() {
    let upstream = "upstream {\n\t\tpod_cidr 10.0.0.0/24\n\t\thost svc\n\t\tupstream_port 8080\n\t}";
    let all = format!("secret MDEyMzQ1Njc4OWFiY2RlZg==\n\tcookie_name c\n\t{upstream}");
    let cases = [
        (
            format!("cookie_name c\n\t{upstream}"),
            "2:1: `doors_handler` needs a `secret`",
        ),
        (
            "secret MDEyMzQ1Njc4OWFiY2RlZg==".to_owned(),
            "2:1: `doors_handler` needs an `upstream`",
        ),
        (
            format!("secret MDEyMzQ1Njc4OWFiY2RlZg==\n\t{upstream}\n\t{upstream}"),
            "2:1: several upstreams need `cookie_name` to keep a session on its server",
        ),
        (
            format!("{all}\n\tcookie_name d"),
            "10:2: `cookie_name` is given twice",
        ),
        (
            format!("{all}\n\tdead_pod_status 99"),
            "10:18: `99` is not a final status",
        ),
        (
            format!("{all}\n\tnonsense 99"),
            "10:2: unknown or unsupported subdirective `nonsense`",
        ),
        (
            all.replace("cookie_name c", "cookie_name \"c d\""),
            "4:14: this is not the name of a cookie",
        ),
        (
            all.replace("pod_cidr 10.0.0.0/24", ""),
            "5:2: `upstream` needs `pod_cidr`",
        ),
        (all.replace("host svc", ""), "5:2: `upstream` needs `host`"),
        (
            all.replace("upstream_port 8080", ""),
            "5:2: `upstream` needs `upstream_port`",
        ),
        (
            all.replace("10.0.0.0/24", "10.0.0.0"),
            "6:12: this is not a network such as 10.0.0.0/24",
        ),
        (
            all.replace("10.0.0.0/24", "10.0.0.0/33"),
            "6:12: this is not a network such as 10.0.0.0/24",
        ),
        (
            all.replace("host svc", "host svc:80"),
            "7:8: this is not a host name or an IP address",
        ),
        (all.replace("8080", "0"), "8:17: expected a port from 1 to 65535"),
        (
            all.replace("8080", "65536"),
            "8:17: expected a port from 1 to 65535",
        ),
        (all.replace("8080", "-1"), "8:17: expected a port from 1 to 65535"),
        (
            all.replace("host svc", "host svc\n\t\thost b"),
            "8:3: `host` is given twice",
        ),
        (
            all.replace("host svc", "port 8080\n\t\thost b"),
            "7:3: unknown or unsupported subdirective `port`",
        ),
    ];
    for (block, expected) in cases {
        let text = format!(
            "a {{\ndoors_handler {{\n\t{block}\n}}\nreverse_proxy {{\ndynamic doors_upstreams\n}}\n}}\n"
        );
        assert_eq!(findings(&text), [expected], "{text}");
    }
}

#[test]
fn a_secret_that_makes_no_key_is_told_at_its_place() {
    let upstream = "upstream {\n\t\tpod_cidr 10.0.0.0/24\n\t\thost svc\n\t\tupstream_port 8080\n\t}";
    let all = format!("secret KEY\n\t{upstream}");
    let cases = [
        (all.replace("secret KEY", "secret"), "3:2: `secret` needs a key"),
        (
            all.replace("secret KEY", "secret \"\""),
            "3:9: `secret` needs a key",
        ),
        (
            all.replace("secret KEY", "secret a b"),
            "3:11: `secret` takes one key",
        ),
        (
            all.replace("secret KEY", "secret hunter2"),
            "3:9: the secret is not standard base64 with padding",
        ),
        (
            all.replace("secret KEY", "secret \"aHVudGVy \""),
            "3:9: the secret decodes to 6 bytes, an AES key has 16, 24 or 32",
        ),
        (
            all.replace("secret KEY", "secret {$EMPTY}"),
            "3:9: `secret` needs a key",
        ),
    ];
    for (lines, expected) in cases {
        let text = format!("a\ndoors_handler {{\n\t{lines}\n}}\n");
        assert_eq!(findings(&text), [expected], "{text}");
    }
}

#[test]
fn doors_upstreams_need_a_handler_that_chooses_them() {
    let text = "a {\n\treverse_proxy {\n\t\tdynamic doors_upstreams\n\t}\n}\n";
    let expected = "3:11: no `doors_handler` in this site chooses upstreams for `doors_upstreams`";
    assert_eq!(findings(text), [expected]);
}

#[test]
fn addresses_that_contradict_each_other_are_errors() {
    let cases = [
        ("http://a:443 {\n}", "1:1: the scheme does not go with port 443"),
        ("https://a:80 {\n}", "1:1: the scheme does not go with port 80"),
        (
            "a {\n}\nhttps://a {\n}\nhttps://a {\n}",
            "3:1: warning: the site on line 1 is for this host too; only one gets its requests",
        ),
        (
            "a {\n}\na {\n}",
            "3:1: this address has a site already, on line 1",
        ),
        (
            "http://a:8080 {\n}\nb:8080 {\n\ttls internal\n}\nhttps://c:8080 {\n}",
            "6:1: this listener would speak HTTP and HTTPS, see `http://a:8080` on line 1",
        ),
        (
            "http://a:8443 {\n}\nb:8443 {\n\ttls x y\n}",
            "1:1: this address is for HTTP, but its listener has certificates",
        ),
        ("a.*.b {\n}", "1:1: no certificate is possible for this name"),
        (
            "respond 200",
            "1:1: the directive `respond` stands outside of a site",
        ),
        ("@m path /a", "1:1: a matcher outside of a site"),
        (
            "&(r) {\n\tinvoke r\n}",
            "2:9: the named route `r` leads back to itself",
        ),
        (
            "import x",
            "1:8: there is no snippet `(x)` above, and no file can be imported here",
        ),
        (
            ":443 {\n}\n:8443 {\n\ttls internal\n}",
            "4:2: another site for every host gets its certificates in another way",
        ),
        (
            "a b {\n\ttls internal\n}\na:8443, c:8443 {\n}\n*:7443 {\n\ttls internal\n}",
            "4:1: `a` gets its certificates in two ways",
        ),
        ("", "1:1: the file is empty"),
        ("a\nrespond 1\nb {\n\trespond 2\n}", "3:1: unknown directive `b`"),
    ];
    for (text, expected) in cases {
        let found = findings(text);
        assert_eq!(
            found.first().map(String::as_str),
            Some(expected),
            "{text}\n{found:?}"
        );
    }
}

/// Each option, alone in the options on line 2, has the one finding beside it.
pub(crate) fn in_the_options(cases: &[(&str, &str)]) {
    for (option, expected) in cases {
        let text = format!("{{\n\t{option}\n}}\n:8080 {{\n\trespond 1\n}}\n");
        assert_eq!(findings(&text), [*expected], "{text}");
    }
}

#[test]
fn warnings_come_with_the_configuration() {
    let cases = [
        (
            "a {\n\tredir /x html\n}",
            "2:8: requests for `/x` are sent to `html`",
        ),
        ("a {\n\treverse_proxy\n}", "2:2: no upstream to forward to"),
        (
            "0.0.0.0 {\n}",
            "1:1: only requests whose Host is 0.0.0.0 reach this site",
        ),
        (
            "a/x {\n}",
            "1:1: a path in an address will not work in later versions",
        ),
        (
            "http://a {\n\ttls internal\n}",
            "2:2: `tls` has no effect for addresses of plain HTTP",
        ),
        (
            "a {\n}\nA:443 {\n}",
            "3:1: the site on line 1 is for this host too; only one gets its requests",
        ),
        (
            "a {\n\trespond \"{$NOT_SET}x\"\n}",
            "2:11: the environment variable `NOT_SET` is not set, so this is empty",
        ),
        ("{\n\tdebug\n}", "1:1: no site is defined, so nothing is served"),
    ];
    for (text, expected) in cases {
        let warnings = adapted(text).warnings;
        let [warning] = warnings.as_slice() else {
            panic!("{text}: {warnings:?}")
        };
        let place = warning.place();
        assert_eq!(
            format!("{}:{}: {}", place.line(), place.column(), warning.message()),
            expected,
            "{text}"
        );
        assert_eq!(warning.severity(), Severity::Warning);
    }
}

#[test]
fn the_environment_may_hold_arguments_and_blocks() {
    let site = |config: Config| config.apps.http.unwrap().servers.into_iter().next().unwrap().1;
    let server = site(adapted("{$SITE}").config);
    assert_eq!(
        server.routes[0].matchers[0].host.as_deref(),
        Some(&["example.com".to_owned()][..])
    );
    let server = site(adapted(":{$PORT}\nrespond {$NOT_SET:hello}").config);
    assert_eq!(server.listen[0].to_string(), ":8080");
    let Handler::StaticResponse(response) = &server.routes[0].handlers[0] else {
        panic!("{server:?}")
    };
    assert_eq!(response.body, "hello");
}

#[test]
fn findings_show_the_variable_and_not_its_value() {
    for (line, expected) in [
        ("secret {$TWO_KEYS}", "3:10: `secret` takes one key"),
        (
            "secret {$TWO_LINES}",
            "3:10: unknown or unsupported subdirective `{$TWO_LINES}`",
        ),
        ("secret {$KEY} {", "3:3: `secret` takes no block here"),
        (
            "sercet {$KEY}",
            "3:3: unknown or unsupported subdirective `sercet`",
        ),
        ("{$KEY}", "3:3: unknown or unsupported subdirective `{$KEY}`"),
        (
            "secrets {$KEY}",
            "3:3: unknown or unsupported subdirective `secrets`",
        ),
    ] {
        let text = format!("a {{\n\tdoors_handler {{\n\t\t{line}\n\t}}\n}}\n");
        let found = findings(&text);
        assert!(found.contains(&expected.to_owned()), "{text}\n{found:?}");
        let shown = from_caddyfile("Caddyfile", &text, &environment)
            .unwrap_err()
            .to_string();
        assert!(!shown.contains("c2Vj") && !shown.contains("bW9y"), "{shown}");
    }
}

#[test]
fn findings_do_not_show_keys_that_are_written_in_the_file() {
    for line in [
        "secret c2VjcmV0 extra",
        "secret c2VjcmV0",
        "sercet c2VjcmV0",
        "secret \"c2VjcmV0",
        "secret <<K\n\t\tc2VjcmV0\n\t\tK x",
    ] {
        let text = format!("a {{\n\tdoors_handler {{\n\t\t{line}\n\t}}\n}}\n");
        let shown = from_caddyfile("Caddyfile", &text, &environment)
            .unwrap_err()
            .to_string();
        assert!(!shown.contains("c2Vj"), "{shown}");
    }
}

#[test]
fn a_secret_whose_variable_is_not_set_is_told_with_its_cause_first() {
    for secret in ["secret {$SECRET}", "secret \"{$SECRET}\""] {
        let text = format!("a {{\n\tdoors_handler {{\n\t\t{secret}\n\t}}\n}}\n");
        let found = findings(&text);
        let at = |wanted: &str| found.iter().position(|finding| finding.contains(wanted));
        assert!(
            at("`SECRET` is not set").unwrap() < at("`secret` needs a key").unwrap(),
            "{found:?}"
        );
        let shown = from_caddyfile("Caddyfile", &text, &environment)
            .unwrap_err()
            .to_string();
        assert!(
            shown.contains("`SECRET=$(doorway token secret) doorway run`"),
            "{shown}"
        );
        assert!(!shown.contains(":default}"), "{shown}");
    }
}

#[test]
fn a_placeholder_that_is_not_supported_comes_with_those_that_are() {
    let text = "a {\n\theader A \"x {resp.x}\"\n}\n";
    let shown = from_caddyfile("Caddyfile", text, &environment)
        .unwrap_err()
        .to_string();
    assert!(shown.contains("| \t            ^^^^^^^^\n"), "{shown}");
    assert!(
        shown.contains("help: supported: {client_ip}, {cookie.*}, {dir}"),
        "{shown}"
    );
}

#[test]
fn what_serves_files_is_refused_for_one_reason() {
    let help = "Doorway serves no files; run a file server and `reverse_proxy` to it";
    for directive in ["root * /srv", "file_server", "try_files /a"] {
        let text = format!("a {{\n\t{directive}\n}}\n");
        let shown = from_caddyfile("Caddyfile", &text, &environment)
            .unwrap_err()
            .to_string();
        assert!(
            shown.contains("is not supported\n") && shown.contains(help),
            "{shown}"
        );
    }
}
