//! Mistakes in directives that handle requests.

use caddy_config::from_caddyfile;

use crate::caddyfile::in_a_site;

const ANSWERS: [(&str, &str); 14] = [
    ("copy_response a", "2:16: `a` is not a final status"),
    ("copy_response 404 405", "2:20: unexpected argument `405`"),
    (
        "copy_response_headers {\n\t\tinclude\n\t}",
        "3:3: `include` needs a field",
    ),
    (
        "copy_response_headers {\n\t\tinclude A\n\t\texclude B\n\t}",
        "2:2: both `include` and `exclude`",
    ),
    (
        "copy_response_headers {\n\t\tkeep A\n\t}",
        "3:3: unknown or unsupported subdirective `keep`",
    ),
    ("error", "2:2: `error` needs a status or a message"),
    ("error a 99", "2:10: `99` is not a final status"),
    ("error a {\n\t\tmessage b\n\t}", "3:3: the message is given twice"),
    (
        "error a {\n\t\tstatus 404\n\t}",
        "3:3: unknown or unsupported subdirective `status`",
    ),
    (
        "header X-A {http.x}",
        "2:13: the placeholder `{http.x}` is not supported",
    ),
    ("metrics a", "2:10: unexpected argument `a`"),
    (
        "metrics {\n\t\tenable_openmetrics\n\t}",
        "3:3: unknown or unsupported subdirective `enable_openmetrics`",
    ),
    ("redir a 200", "2:10: `200` is not a status for a redirect"),
    ("redir a later", "2:10: `later` is not a status for a redirect"),
];

const ACCESS: [(&str, &str); 12] = [
    (
        "basic_auth md5",
        "2:13: unknown or unsupported hash algorithm `md5`",
    ),
    (
        "basic_auth {\n\t\talice\n\t}",
        "3:3: a user needs one word behind the name, the hash of the password",
    ),
    (
        "basic_auth {\n\t\talice secret\n\t}",
        "3:9: this is not the hash of a password",
    ),
    (
        "basic_auth {\n\t\talice $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG more\n\t}",
        "3:3: a user needs one word behind the name, the hash of the password",
    ),
    (
        "basic_auth argon2id {\n\t\talice $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n\t}",
        "3:9: this is not a hash of argon2id, such as `$argon2id$v=19$m=47104,t=1,p=1$...`",
    ),
    (
        "basic_auth {\n\t\ta:b $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n\t}",
        "3:3: this cannot be the name of a user: it is empty, or has a colon or a control character",
    ),
    (
        "basic_auth {\n\t\ta $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n\t\ta $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n\t}",
        "4:3: `a` is given twice, first on line 3",
    ),
    ("forward_auth a:1", "2:2: `forward_auth` needs `uri`"),
    (
        "forward_auth a:1 {\n\t\turi /a\n\t\turi /b\n\t}",
        "4:3: `uri` is given twice",
    ),
    (
        "forward_auth a:1 {\n\t\turi /a\n\t\tcopy_headers\n\t}",
        "4:3: `copy_headers` needs a field",
    ),
    (
        "forward_auth a:1 {\n\t\turi /a\n\t\tcopy_headers \"X A\"\n\t}",
        "4:16: this is not the name of a header field",
    ),
    (
        "forward_auth a:1 {\n\t\turi /a\n\t\tcopy_header A\n\t}",
        "4:3: unknown option `copy_header` of `reverse_proxy`",
    ),
];

const GEO: [(&str, &str); 10] = [
    ("doors_geo", "2:2: `doors_geo` needs a domain"),
    (
        "doors_geo {\n\t\teu.example.com {\n\t\t}\n\t}",
        "3:3: a domain without countries",
    ),
    (
        "doors_geo {\n\t\teu.example.com DE\n\t}",
        "3:3: unknown or unsupported subdirective `eu.example.com`",
    ),
    (
        "doors_geo {\n\t\ta.test {\n\t\t\tDE\n\t\t}\n\t\tb.test {\n\t\t\tde\n\t\t}\n\t}",
        "7:4: `de` is given twice, first on line 4",
    ),
    (
        "doors_geo {\n\t\ta.test {\n\t\t\tDE\n\t\t}\n\t\ta.test {\n\t\t\tFR\n\t\t}\n\t}",
        "6:3: `a.test` is given twice, first on line 3",
    ),
    (
        "doors_geo {\n\t\thttps://a.test {\n\t\t\tDE\n\t\t}\n\t}",
        "3:3: this is not a host name, or a host name and a port",
    ),
    (
        "doors_geo {\n\t\ttarball_url ftp://a\n\t\ta.test {\n\t\t\tDE\n\t\t}\n\t}",
        "3:15: this is not a URL that begins with https:// or http://",
    ),
    (
        "doors_geo {\n\t\tupdate_interval often\n\t\ta.test {\n\t\t\tDE\n\t\t}\n\t}",
        "3:19: expected a duration, such as 10s",
    ),
    (
        "doors_geo {\n\t\tredirect_scheme ws\n\t\ta.test {\n\t\t\tDE\n\t\t}\n\t}",
        "3:19: unknown or unsupported scheme `ws`",
    ),
    (
        "doors_geo {\n\t\tstatus 301\n\t\ta.test {\n\t\t\tDE\n\t\t}\n\t}",
        "3:10: unknown or unsupported status `301`",
    ),
];

const ENCODE: [(&str, &str); 9] = [
    ("encode deflate", "2:9: unknown or unsupported format `deflate`"),
    ("encode gzip gzip", "2:14: `gzip` is given twice"),
    ("encode {\n\t\tgzip 10\n\t}", "3:8: expected a level from 0 to 9"),
    ("encode {\n\t\tbr 12\n\t}", "3:6: expected a level from 0 to 11"),
    (
        "encode {\n\t\tzstd 3\n\t}",
        "3:8: unknown or unsupported level `3`",
    ),
    ("encode {\n\t\tgzip 1 2\n\t}", "3:10: unexpected argument `2`"),
    (
        "encode {\n\t\tminimum_length many\n\t}",
        "3:18: expected a number of bytes",
    ),
    (
        "encode {\n\t\tmatch status 2xx\n\t\tmatch status 3xx\n\t}",
        "4:3: `match` is given twice",
    ),
    (
        "encode {\n\t\tprefer gzip\n\t}",
        "3:3: unknown or unsupported subdirective `prefer`",
    ),
];

const VARIABLES: [(&str, &str); 19] = [
    ("log_skip a", "2:11: unexpected argument `a`"),
    ("log_name", "2:2: `log_name` needs a name"),
    ("map", "2:2: `map` needs a source and a destination"),
    ("map {host}", "2:2: `map` needs a destination"),
    (
        "map {host} {path}",
        "2:13: this placeholder has a meaning of its own",
    ),
    (
        "map {host} backend",
        "2:13: a destination is one name in braces, such as `{backend}`",
    ),
    (
        "map {host} {a} {\n\t\tx 1 2\n\t}",
        "3:7: more values than destinations, which are 1",
    ),
    (
        "map {host} {a} {\n\t\tx 1\n\t\tx 2\n\t}",
        "4:3: `x` is given twice, first on line 3",
    ),
    (
        "map {host} {a} {\n\t\t~[ 1\n\t}",
        "3:3: this regular expression is wrong: unclosed character class",
    ),
    (
        "map {host} {a} {\n\t\tdefault 1\n\t\tdefault 2\n\t}",
        "4:3: `default` is given twice",
    ),
    (
        "map {host} {a} {\n\t\tx inf\n\t}",
        "3:5: this is not a number that JSON has",
    ),
    (
        "map {host} {a} {\n\t\tx {http.x}\n\t}",
        "3:5: the placeholder `{http.x}` is not supported",
    ),
    ("vars a", "2:7: the variable `a` needs one value"),
    ("vars a b c", "2:7: the variable `a` needs one value"),
    ("vars {\n\t\ta\n\t}", "3:3: the variable `a` needs one value"),
    ("vars {\n\t\ta 1\n\t\ta 2\n\t}", "4:3: this variable is set twice"),
    ("vars handler b", "2:7: no variable can be called `handler`"),
    (
        "vars a 1e400",
        "2:9: this number is too large or too small to be kept",
    ),
    (
        "vars {http.x} a",
        "2:7: the placeholder `{http.x}` is not supported",
    ),
];

const REWRITES: [(&str, &str); 27] = [
    ("method", "2:2: `method` needs a method"),
    ("method GET POST", "2:13: unexpected argument `POST`"),
    ("method \"a b\"", "2:9: this is not a method of HTTP"),
    (
        "request_body {\n\t\tmax_size many\n\t}",
        "3:12: expected a size, such as 10MB or 512KiB",
    ),
    (
        "request_body {\n\t\tmax_size 1MB\n\t\tmax_size 2MB\n\t}",
        "4:3: `max_size` is given twice, first on line 3",
    ),
    (
        "request_body {\n\t\tread_timeout 1s\n\t}",
        "3:3: unknown or unsupported subdirective `read_timeout`",
    ),
    ("rewrite", "2:2: `rewrite` needs a target, such as /new{uri}"),
    ("rewrite /a /b /c", "2:16: unexpected argument `/c`"),
    (
        "rewrite /a {http.x}",
        "2:13: the placeholder `{http.x}` is not supported",
    ),
    ("rewrite /a {\n\t\tb\n\t}", "2:2: `rewrite` takes no block here"),
    ("uri", "2:2: `uri` needs an operation, such as `strip_prefix`"),
    ("uri strip_prefix", "2:6: `strip_prefix` needs one part of a path"),
    (
        "uri strip_prefix /a /b",
        "2:6: `strip_prefix` needs one part of a path",
    ),
    (
        "uri replace a",
        "2:6: `replace` needs a text to find and a text to put there",
    ),
    (
        "uri replace a b many",
        "2:18: expected how many times at most, 0 being every time",
    ),
    ("uri replace a b 1 2", "2:20: unexpected argument `2`"),
    (
        "uri path_regexp a",
        "2:6: `path_regexp` needs an expression and a replacement",
    ),
    (
        "uri path_regexp [ b",
        "2:18: this regular expression is wrong: unclosed character class",
    ),
    ("uri query a", "2:12: this is no change to a parameter"),
    ("uri query -a b", "2:15: unexpected argument `b`"),
    ("uri query +a", "2:12: `+` before a parameter needs one value"),
    ("uri query a>b c", "2:16: unexpected argument `c`"),
    ("uri query a>b>c", "2:12: two `>` in one name"),
    (
        "uri query a [ b",
        "2:14: this regular expression is wrong: unclosed character class",
    ),
    (
        "uri query a b {\n\t\tc d\n\t}",
        "2:2: changes both before and in the block",
    ),
    (
        "uri query {\n\t\ta b {\n\t\t}\n\t}",
        "3:3: a change to a parameter takes no block",
    ),
    ("uri rename a b", "2:6: unknown or unsupported operation `rename`"),
];

#[test]
fn directives_that_answer_say_what_is_wrong() {
    in_a_site(&ANSWERS);
}

#[test]
fn directives_that_let_pass_say_what_is_wrong() {
    in_a_site(&ACCESS);
}

#[test]
fn doors_geo_says_what_is_wrong() {
    in_a_site(&GEO);
}

#[test]
fn encode_says_what_is_wrong() {
    in_a_site(&ENCODE);
}

#[test]
fn directives_about_variables_say_what_is_wrong() {
    in_a_site(&VARIABLES);
}

#[test]
fn directives_that_change_requests_say_what_is_wrong() {
    in_a_site(&REWRITES);
}

/// The warnings of `lines` in a site, each with its place.
fn warnings(lines: &str) -> Vec<String> {
    let text = format!("example.com {{\n\t{lines}\n\trespond hello\n}}\n");
    let adapted = from_caddyfile("Caddyfile", &text, &|_| None).unwrap();
    let short = |warning: &caddy_config::Diagnostic| {
        let place = warning.place();
        format!("{}:{}: {}", place.line(), place.column(), warning.message())
    };
    adapted.warnings.iter().map(short).collect()
}

#[test]
fn what_works_but_perhaps_not_as_meant_is_a_warning() {
    let cases = [
        ("basic_auth", "2:2: no users, so nobody passes"),
        (
            "header {\n\t\tX-A 1\n\t\t-x-*\n\t}",
            "2:2: `X-A` is set here, and deleted again",
        ),
        (
            "header {\n\t\t+X-A 1\n\t\t-*-A\n\t}",
            "2:2: `X-A` is set here, and deleted again",
        ),
        (
            "reverse_proxy a:1 {\n\t\theader_up Host b\n\t\theader_up -Host\n\t}",
            "2:2: `Host` is set here, and deleted again",
        ),
        (
            "map {host} {a} {\n\t\t~^(.*)$ \"{path}${1}\"\n\t}",
            "3:11: no placeholder is replaced in the value of an expression",
        ),
        ("uri query", "2:2: no change to the query"),
        ("vars", "2:2: no variable to set"),
        (
            "@m protocol http/1",
            "2:14: `http/1` is no protocol, so no request matches",
        ),
        (
            "doors_geo {\n\t\ta.test {\n\t\t\tEU\n\t\t}\n\t}",
            "4:4: `EU` is not the code of a country",
        ),
        ("@m geo_country de EU", "2:20: `EU` is not the code of a country"),
    ];
    for (lines, warning) in cases {
        assert_eq!(warnings(lines), [warning], "{lines}");
    }
    assert_eq!(warnings("header {\n\t\tX-A 1\n\t\t-*\n\t\t-X-B\n\t}"), [""; 0]);
}

#[test]
fn no_finding_shows_what_could_be_a_password() {
    for lines in [
        "basic_auth {\n\t\talice hunter2\n\t}",
        "basic_auth {\n\t\talice hunter2 more\n\t}",
        "basic_auth {\n\t\talice hunter2 {\n\t\t}\n\t}",
        "basic_auth argon2id {\n\t\talice $2a$14$hunter2\n\t}",
    ] {
        let text = format!("example.com {{\n\t{lines}\n}}\n");
        let shown = from_caddyfile("Caddyfile", &text, &|_| None)
            .unwrap_err()
            .to_string();
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
