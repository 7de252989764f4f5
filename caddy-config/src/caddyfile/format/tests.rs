//! How Caddyfiles are laid out.

use proptest::prelude::*;

use super::{format, laid_out, means_the_same, unformatted};

#[test]
fn each_rule_lays_out_as_caddy_does() {
    let cases = [
        ("", "\n"),
        (" a \n", "a\n"),
        ("a{\nb\n}", "a {\n\tb\n}\n"),
        ("a\n{\nb\n}", "a {\n\tb\n}\n"),
        ("a\n\n\n{\nb\n}", "a {\n\tb\n}\n"),
        ("a { b\n}", "a {\n\tb\n}\n"),
        ("a {\n\n\nb\n\n\n\nc\n}", "a {\n\tb\n\n\tc\n}\n"),
        ("a {\n} b {\n}", "a {\n}\n\nb {\n}\n"),
        ("a {\n}\nb {\n}", "a {\n}\nb {\n}\n"),
        ("a {\n b {\n c\n } }", "a {\n\tb {\n\t\tc\n\t}\n}\n"),
        ("{\ndebug\n}", "{\n\tdebug\n}\n"),
        ("import x\n{\ndebug\n}", "import x\n{\n\tdebug\n}\n"),
        ("import x\n\na{\n}", "import x\n\na {\n}\n"),
        ("a  {host}  {x}y z{q}", "a {host} {x}y z{q}\n"),
        ("a # b   c\n\n\n\n  # d", "a # b   c\n\n\n# d\n"),
        ("a {\n# b\n}", "a {\n\t# b\n}\n"),
        ("a   \"b   c\"   `d   e`", "a \"b   c\" `d   e`\n"),
        ("a \\\n  b", "a \\\n b\n"),
        (
            "a {\nb <<E\n  c   d\n  E   f\n}",
            "a {\n\tb <<E\n  c   d\n  E f\n}\n",
        ),
        ("a <<E x\n b", "a <<E x\nb\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("a \\<<E   b", "a \\<<E b\n"),
        ("a,\nb {\n}", "a,\nb {\n}\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(format(text), expected, "{text:?}");
    }
}

#[test]
fn indentation_ends_at_ten_levels() {
    let text = format!("{}x\n{}", "a {\n".repeat(12), "}\n".repeat(12));
    let formatted = format(&text);
    assert!(
        formatted.contains(&format!("\n{}x\n", "\t".repeat(10))),
        "{formatted}"
    );
}

#[test]
fn what_would_mean_something_else_stays() {
    // What Caddy makes of each is another text: words joined, braces moved, lines put together.
    for text in [
        "a {\n`b` c\n}",
        "a {\n\\x\n}",
        "a {\n\tb\n`c`\n}",
        "a {{x}}\n",
        "a < <E\nb",
        "a <<E\r\n  b   c\r\n  E\r\n",
    ] {
        assert!(!means_the_same(text, &laid_out(text)), "{text:?}");
        assert_eq!(format(text), text);
    }
}

#[test]
fn the_first_line_that_would_change_is_warned_of() {
    assert_eq!(unformatted("t", "a {\n\tb\n}\n"), None);
    assert_eq!(unformatted("t", "a {\r\n\tb\r\n}\r\n"), None);
    let cases = [
        ("a {\n  b\n}\n", "t:2:1"),
        ("a {\n\tb\n}", "t:3:2"),
        ("a{\n}\n", "t:1:2"),
        ("a {\n}\n\n", "t:3:1"),
    ];
    for (text, place) in cases {
        assert_eq!(
            unformatted("t", text).unwrap().place().to_string(),
            place,
            "{text:?}"
        );
    }
}

#[test]
fn the_warning_shows_no_secret() {
    let warning = unformatted("t", "a {\n\tdoors_handler {\n\t\tsecret  c2VjcmV0 \"d\n\t}\n}\n").unwrap();
    assert!(warning.to_string().contains("secret  ****"), "{warning}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn any_text_keeps_its_words_and_is_laid_out_once(pieces in prop::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        let formatted = format(&text);
        prop_assert!(means_the_same(&text, &formatted), "{text:?} {formatted:?}");
        prop_assert_eq!(format(&formatted), formatted);
        crate::fuzzing::format(text.as_bytes());
    }

    #[test]
    fn what_people_write_is_laid_out(lines in prop::collection::vec(line(), 0..30)) {
        let text = lines.concat();
        let formatted = format(&text);
        prop_assert_eq!(&formatted, &laid_out(&text));
        prop_assert!(formatted.ends_with('\n') && !formatted.contains("\n\n\n\n"), "{formatted:?}");
    }
}

fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        " ",
        "\n",
        "\t",
        "{",
        "}",
        "\"",
        "`",
        "\\",
        "<",
        "<<E\n",
        "E\n",
        "E",
        "#",
        "a",
        "b c",
        "import x\n",
        "{h}",
        "\n\n\n",
        " {\n",
        "\n}\n",
        "\"q\"",
        "`r`",
        "\\\"",
        "\r\n",
        "é",
        "{$X:y z}",
        "a{",
        "# c\n",
        "<<",
        "\u{a0}",
    ])
}

/// Lines whose meaning no layout changes.
fn line() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "respond",
        "{host}",
        "\"a   b\"",
        "x,",
        "@m",
        "/a*",
        "1\\d",
        "`e  f`",
        "a\"b",
        "{$X}",
        "h{y}",
    ]);
    let first = prop::sample::select(vec!["handle", "example.com", "import", "@m", "header"]);
    let words = (first, prop::collection::vec(word, 0..4), "[ \t]{1,3}");
    let line = words.prop_map(|(first, words, space)| {
        std::iter::once(first)
            .chain(words)
            .collect::<Vec<_>>()
            .join(&space)
    });
    (line, 0..5_usize, "[ \t]{0,4}", "\n{1,4}").prop_map(|(line, kind, space, end)| match kind {
        0 => format!("{space}{line} {{{space}\n{space}x\n{space}}}{end}"),
        1 => format!("{space}{line} # {line}{end}"),
        2 => format!("{space}{line} <<END\n{space}  a  b\n{space}  END x{end}"),
        _ => format!("{space}{line}{end}"),
    })
}
