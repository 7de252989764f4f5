//! The structure of a file, and what each broken one says.

use std::fmt::Write as _;

use super::{Kind, Line};
use crate::{
    caddyfile::read,
    source::{Report, Sources},
    surroundings::Variables,
};

fn outline(text: &str) -> (String, Report) {
    let mut report = Report::default();
    let mut out = String::new();
    for block in read(&mut Sources::new("t", text), &Variables(&|_| None), &mut report) {
        let keys: Vec<&str> = block.keys.iter().map(|key| key.text.as_str()).collect();
        let kind = if block.kind == Kind::Site {
            String::new()
        } else {
            format!("{:?} ", block.kind)
        };
        write!(out, "{kind}{}", keys.join("|")).unwrap();
        write_lines(&mut out, &block.lines);
        out.push(';');
    }
    (out, report)
}

fn write_lines(out: &mut String, lines: &[Line]) {
    out.push('{');
    for line in lines {
        out.push_str(&line.name.text);
        for arg in &line.args {
            write!(out, " {}", arg.text).unwrap();
        }
        if let Some(block) = &line.block {
            write_lines(out, block);
        }
        out.push(',');
    }
    out.push('}');
}

fn parsed(text: &str) -> String {
    let (outline, report) = outline(text);
    assert!(!report.has_errors(), "{text:?}: {report:?}");
    outline
}

fn refused(text: &str) -> Vec<String> {
    let (_, report) = outline(text);
    let findings = report.finish((), &Sources::new("t", text)).unwrap_err();
    let short = |finding: &crate::Diagnostic| format!("{}: {}", finding.place(), finding.message());
    findings.iter().map(short).collect()
}

#[test]
fn sites_options_and_nested_blocks_become_a_tree() {
    assert_eq!(
        parsed("{\n debug\n}\na {\n b c {\n  d\n }\n e\n}"),
        "Options {debug,};a{b c{d,},e,};"
    );
    assert_eq!(parsed("a b, c,\nd {\n}"), "a|b|c|d{};");
}

#[test]
fn one_site_needs_no_braces() {
    assert_eq!(parsed(":80\nb c\nd {\n e\n}"), ":80{b c,d{e,},};");
    assert_eq!(parsed("a"), "a{};");
}

#[test]
fn the_brace_of_a_site_may_stand_on_the_next_line() {
    assert_eq!(parsed("a\n{\n b\n}"), "a{b,};");
}

#[test]
fn sites_may_follow_each_other_on_a_line() {
    assert_eq!(parsed("a {\n} b {\n}"), "a{};b{};");
}

#[test]
fn snippets_and_named_routes_are_told_from_sites() {
    assert_eq!(
        parsed("(s) {\n a\n}\n&(r) {\n import s\n}\n(b c {\n}"),
        "NamedRoute &(r){a,};(b|c{};"
    );
}

#[test]
fn quoted_braces_are_arguments() {
    assert_eq!(parsed("a {\n b \"{\" \"}\"\n}"), "a{b { },};");
}

#[test]
fn placeholders_are_arguments() {
    assert_eq!(parsed("a {\n b {host} {x\n}"), "a{b {host} {x,};");
}

#[test]
fn each_broken_structure_says_what_is_wrong_and_where() {
    let cases = [
        ("a {\n b {\n}", "t:1:3: this block is never closed"),
        ("a {\n}\n}", "t:3:1: nothing is open that this brace could close"),
        (
            "a {\n b\n {\n }\n}",
            "t:3:2: this brace stands on a line of its own",
        ),
        ("a {\n b { c\n }\n}", "t:2:6: text behind `{` on the same line"),
        ("a {\n b {\n } c\n}", "t:3:4: text behind `}` on the same line"),
        ("a {\n b c }\n", "t:2:6: a closing brace behind other text"),
        ("a {\n b {}\n}", "t:2:4: `{}` is a word, not an empty block"),
        ("a{\n}", "t:1:1: a brace directly behind an address"),
        ("a,b {\n}", "t:1:1: a comma inside an address"),
        ("a, {\n}", "t:1:4: another address is missing behind the comma"),
        ("a,", "t:1:1: another address is missing behind the comma"),
        ("\"\" {\n}", "t:1:1: an empty address"),
        ("a {\n {\n b\n }\n}", "t:2:2: a block without a name"),
        ("(s)\na {\n}", "t:1:1: a snippet without braces"),
        ("(s)", "t:1:1: a snippet without braces"),
        ("&(s)\nb {\n}", "t:1:1: a named route without braces"),
        ("(s) {\n a {\n}", "t:1:5: this block is never closed"),
    ];
    for (text, expected) in cases {
        assert_eq!(refused(text), [expected], "{text:?}");
    }
}

#[test]
fn one_mistake_does_not_hide_the_next() {
    let text = "a{\n b { c\n d {}\n }\n}\n}\ne,f {\n g\n {\n }\n}";
    assert_eq!(
        refused(text),
        [
            "t:1:1: a brace directly behind an address",
            "t:2:6: text behind `{` on the same line",
            "t:3:4: `{}` is a word, not an empty block",
            "t:6:1: nothing is open that this brace could close",
            "t:7:1: a comma inside an address",
            "t:9:2: this brace stands on a line of its own",
        ]
    );
}

#[test]
fn nesting_is_limited() {
    let text = format!("a {{\n{}", "b {\n".repeat(100_000));
    let found = refused(&text);
    assert_eq!(found[0], "t:1:3: this block is never closed", "{found:?}");
    assert!(
        found
            .iter()
            .any(|message| message.ends_with("blocks nested more than 24 deep")),
        "{found:?}"
    );
}
