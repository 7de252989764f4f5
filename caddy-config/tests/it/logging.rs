//! Mistakes in what is logged, and how.

use caddy_config::from_json;

use crate::caddyfile::in_a_site;

/// Each of the lines, alone in a `log`, has the one finding beside it.
fn in_a_log(cases: &[(&str, &str)]) {
    for (lines, expected) in cases {
        in_a_site(&[(&format!("log {{\n\t\t{lines}\n\t}}"), expected)]);
    }
}

#[test]
fn a_log_says_what_is_wrong() {
    in_a_site(&[
        ("log a b", "2:8: unexpected argument `b`"),
        (
            "log a {\n\t\toutput stdout\n\t}\n\tlog a {\n\t\toutput stderr\n\t}",
            "5:2: the log `a` is defined twice, in different ways",
        ),
    ]);
    in_a_log(&[
        (
            "level LOUD",
            "3:9: expected DEBUG, INFO, WARN, ERROR, PANIC or FATAL",
        ),
        (
            "level INFO\n\t\tlevel WARN",
            "4:3: `level` is given twice, first on line 3",
        ),
        ("include a", "3:3: `include` is not possible in the log of a site"),
        ("core mock", "3:3: `core` is not supported in `log`"),
        (
            "sampling {\n\t\t\tfirst many\n\t\t}",
            "4:10: expected a whole number",
        ),
        (
            "sampling {\n\t\t\tlast 1\n\t\t}",
            "4:4: unknown or unsupported option `last`",
        ),
    ]);
}

#[test]
fn an_output_says_what_is_wrong() {
    in_a_log(&[
        ("output", "3:3: `output` needs stdout, stderr, discard or file"),
        ("output net a:1", "3:10: the output `net` is not supported"),
        ("output syslog", "3:10: unknown or unsupported output `syslog`"),
        ("output file", "3:10: `file` needs a path"),
        ("output file {env.X}", "3:15: placeholders are not supported here"),
        ("output stdout x", "3:17: unexpected argument `x`"),
    ]);
    let in_a_file = |line: &str, expected: &str| {
        let lines = format!("output file x {{\n\t\t\t{line}\n\t\t}}");
        in_a_log(&[(&lines, expected)]);
    };
    in_a_file("mode 0o600", "4:9: expected octal permissions, such as 0640");
    in_a_file("mode 4755", "4:9: expected octal permissions, such as 0640");
    in_a_file(
        "dir_mode 9",
        "4:13: expected octal permissions, such as 0750, or inherit or from_file",
    );
    in_a_file("roll_size big", "4:14: expected a size, such as 100MiB");
    in_a_file("roll_keep -1", "4:14: expected a whole number");
    in_a_file("roll_minutes 60", "4:17: expected a minute from 0 to 59");
    in_a_file("roll_minutes 10, 20", "4:17: expected a minute from 0 to 59");
    in_a_file(
        "roll_at 24:00",
        "4:12: expected a time of day from 00:00 to 23:59",
    );
    in_a_file("roll_compression br", "4:21: expected none, gzip or zstd");
    in_a_file("roll_disabled yes", "4:18: unexpected argument `yes`");
    in_a_file("roll_every 1h", "4:4: unknown or unsupported option `roll_every`");
}

#[test]
fn a_format_says_what_is_wrong() {
    in_a_log(&[
        ("format xml", "3:10: unknown or unsupported format `xml`"),
        (
            "format journald {\n\t\t\twrap json\n\t\t}",
            "3:10: the format `journald` is not supported",
        ),
        (
            "format transform",
            "3:10: the format `transform` is not supported",
        ),
        (
            "format json {\n\t\t\tlevel_format loud\n\t\t}",
            "4:17: expected one of lower, upper, color",
        ),
        (
            "format json {\n\t\t\tkey x\n\t\t}",
            "4:4: unknown or unsupported option `key`",
        ),
    ]);
    let in_a_filter = |line: &str, expected: &str| {
        let lines = format!("format filter {{\n\t\t\t{line}\n\t\t}}");
        in_a_log(&[(&lines, expected)]);
    };
    in_a_filter("a", "4:4: `a` needs a filter, such as delete");
    in_a_filter("a drop", "4:6: unknown or unsupported filter `drop`");
    in_a_filter("a delete x", "4:13: unexpected argument `x`");
    in_a_filter("a rename", "4:6: `rename` needs a key");
    in_a_filter("a regexp", "4:6: `regexp` needs a regular expression");
    in_a_filter(
        "a regexp (b c",
        "4:13: this regular expression is wrong: unclosed group",
    );
    in_a_filter(
        "a ip_mask 33",
        "4:14: expected the number of bits that are kept, from 0 to 32",
    );
    in_a_filter(
        "a query {\n\t\t\t\tdrop b\n\t\t\t}",
        "5:5: unknown or unsupported action `drop`",
    );
    in_a_filter(
        "a cookie {\n\t\t\t\treplace b\n\t\t\t}",
        "5:5: `replace` needs a name and a text",
    );
    in_a_filter(
        "a delete\n\t\t\ta hash",
        "5:4: this field has a filter already; only several of `regexp` go together",
    );
}

#[test]
fn a_log_in_json_says_what_is_wrong() {
    let cases = [
        (
            r#""writer":{"output":"net"}"#,
            "writer.output: unknown or unsupported output",
        ),
        (
            r#""writer":{"output":"file"}"#,
            "writer: the field `filename` is missing",
        ),
        (
            r#""writer":{"output":"file","filename":"a","roll_minutes":[60]}"#,
            "writer.roll_minutes[0]: expected a whole number from 0 to 59",
        ),
        (
            r#""encoder":{"format":"filter","fields":{"a":{"filter":"ip_mask","ipv4_cidr":33}}}"#,
            "encoder.fields.a.ipv4_cidr: expected a whole number from 0 to 32",
        ),
        (
            r#""encoder":{"format":"filter","fields":{"a":{"filter":"query","actions":[{"type":"hash"}]}}}"#,
            "encoder.fields.a.actions[0]: the field `parameter` is missing",
        ),
        (
            r#""encoder":{"format":"append","fields":{"a":[]}}"#,
            "encoder.fields.a: expected a text, a number, true or false, found a list",
        ),
        (
            r#""core":{"module":"mock"}"#,
            "core: unknown or unsupported field",
        ),
    ];
    for (fields, expected) in cases {
        let text = format!(r#"{{"logging":{{"logs":{{"x":{{{fields}}}}}}}}}"#);
        let findings = from_json("conf.json", &text).unwrap_err();
        let found: Vec<String> = findings
            .iter()
            .map(|finding| format!("{}: {}", finding.path().unwrap(), finding.message()))
            .collect();
        assert_eq!(found, [format!("logging.logs.x.{expected}")], "{text}");
    }
}
