//! Each rule of the lexer.

use super::{super::env, tokens};
use crate::{
    caddyfile::token::Token,
    source::{Report, Sources, Span},
};

fn lex(text: &str) -> Vec<Token> {
    let mut report = Report::default();
    let tokens = tokens(
        &env::expand(text, Span::default(), &|_| None, &mut report),
        100_000,
        &mut report,
    );
    assert!(!report.has_errors(), "{text:?}: {report:?}");
    tokens
}

fn refused(text: &str) -> String {
    let mut report = Report::default();
    tokens(
        &env::expand(text, Span::default(), &|_| None, &mut report),
        100_000,
        &mut report,
    );
    report
        .finish((), &Sources::new("t", text))
        .unwrap_err()
        .to_string()
}

fn words(text: &str) -> Vec<String> {
    lex(text).into_iter().map(|token| token.text).collect()
}

/// The lines of the tokens, as the parser sees them.
fn lines(text: &str) -> Vec<(String, usize)> {
    lex(text)
        .into_iter()
        .map(|token| (token.text, token.line))
        .collect()
}

#[test]
fn white_space_separates_words() {
    assert_eq!(words("a  b\tc\u{a0}d\r\ne"), ["a", "b", "c", "d", "e"]);
    assert_eq!(words("\u{feff}a"), ["a"]);
    assert_eq!(words(""), Vec::<String>::new());
}

#[test]
fn a_comment_begins_only_where_a_word_would() {
    assert_eq!(words("a#b # c \"d\n e"), ["a#b", "e"]);
    assert_eq!(words("#"), Vec::<String>::new());
}

#[test]
fn a_backslash_in_a_comment_does_not_join_lines() {
    assert_eq!(
        lines("a # C:\\x \\\nb"),
        [("a".to_owned(), 1), ("b".to_owned(), 2)]
    );
}

#[test]
fn quotes_keep_white_space_and_know_one_escape() {
    assert_eq!(
        words(r#""a b" "" "\"x\"" "C:\n" "C:\\" "{""#),
        ["a b", "", "\"x\"", r"C:\n", r"C:\\", "{"]
    );
    assert_eq!(words("a\"b c\"d"), ["a\"b", "c\"d"]);
    assert_eq!(words("\"a\"b"), ["a", "b"]);
    assert!(lex("\"{\"")[0].quoted && !lex("\"{\"")[0].opens() && lex("{")[0].opens());
}

#[test]
fn quotes_may_span_lines() {
    let tokens = lex("a \"x\ny\" b\nc");
    assert_eq!(tokens[1].text, "x\ny");
    assert!(!tokens[2].is_on_new_line_after(&tokens[1]));
    assert!(tokens[3].is_on_new_line_after(&tokens[2]));
}

#[test]
fn backquotes_keep_everything() {
    assert_eq!(words("`a \\` `\"x\" \\n`"), ["a \\", "\"x\" \\n"]);
}

#[test]
fn a_backslash_at_the_end_joins_lines() {
    assert_eq!(
        lines("a \\\n b\\\r\n c\nd"),
        [
            ("a".to_owned(), 1),
            ("b".to_owned(), 1),
            ("c".to_owned(), 1),
            ("d".to_owned(), 4)
        ]
    );
}

#[test]
fn other_backslashes_stay() {
    assert_eq!(
        words(r"C:\x \\ \d+ a\<b \<<EOF"),
        [r"C:\x", r"\\", r"\d+", "a<b", "<<EOF"]
    );
}

#[test]
fn a_heredoc_loses_the_indentation_of_its_end() {
    assert_eq!(
        words("r <<EOF\n    a\n      b\n\n    EOF 200"),
        ["r", "a\n  b\n", "200"]
    );
    assert_eq!(words("<<E\nx\r\nE"), ["x"]);
    assert_eq!(words("<<E\nE"), [""]);
}

#[test]
fn lines_behind_a_heredoc_are_counted() {
    let tokens = lex("r <<E\n a\n b\n E x\ny");
    assert!(!tokens[2].is_on_new_line_after(&tokens[1]));
    assert!(tokens[3].is_on_new_line_after(&tokens[2]));
    let tokens = lex("<<E\nE\ny");
    assert!(tokens[1].is_on_new_line_after(&tokens[0]));
}

#[test]
fn a_heredoc_ends_only_where_its_marker_begins_a_line() {
    assert_eq!(words("<<EOF\nEOFx\na EOF\nEOF"), ["EOFx\na EOF"]);
}

#[test]
fn what_only_looks_like_a_heredoc_is_a_word() {
    assert_eq!(words("<<a b\n"), ["<<a", "b"]);
    assert_eq!(words("<<a"), ["<<a"]);
    assert_eq!(words("a<<b\n"), ["a<<b"]);
}

#[test]
fn spans_cover_the_written_form() {
    let text = "ab \"c d\" `e`";
    let spans: Vec<&str> = lex(text)
        .iter()
        .map(|token| text.get(token.span.start..token.span.end).unwrap())
        .collect();
    assert_eq!(spans, ["ab", "\"c d\"", "`e`"]);
}

#[test]
fn what_is_never_closed_says_where_it_opened() {
    let cases = [
        ("a\n  \"b\nc", "t:2:3: this quote is never closed"),
        ("`", "t:1:1: this backquote is never closed"),
        (
            "a <<EOF\nb\n",
            "t:1:3: this heredoc is never closed: no line begins with `EOF`",
        ),
        ("a <<EOF\nEOFx", "t:1:3: this heredoc is never closed"),
        ("a <<\nb", "t:1:3: this is not the marker of a heredoc"),
        ("a <<<E\nE", "t:1:3: this is not the marker of a heredoc"),
        ("a <<E!\nE", "t:1:3: this is not the marker of a heredoc"),
        (
            "<<E\n  a\n b\n  E",
            "t:3:1: this line is indented less than the end of its heredoc",
        ),
        ("a\u{0}b", "t:1:1: a NUL character"),
    ];
    for (text, expected) in cases {
        let message = refused(text);
        assert!(message.starts_with(expected), "{text:?} gave {message}");
    }
}

#[test]
fn arguments_of_a_secret_are_masked() {
    let text = "doors_handler {\n secret abc \"d e\" \\\n f\n other <<E! x\n}\nSecrets g <<!\n";
    let message = refused(text);
    assert!(
        message.contains("Secrets *") && !message.contains("Secrets g"),
        "{message}"
    );
}

#[test]
fn tokens_are_limited() {
    let mut report = Report::default();
    let text = "a b\nc d";
    let found = tokens(&env::unexpanded(text, Span::default()), 3, &mut report);
    assert_eq!(found.len(), 3);
    let findings = report
        .finish((), &Sources::new("t", text))
        .unwrap_err()
        .to_string();
    assert!(
        findings.starts_with("t:2:3: the configuration has more than 2000000 words"),
        "{findings}"
    );
    let mut report = Report::default();
    assert_eq!(
        tokens(&env::unexpanded(text, Span::default()), 4, &mut report).len(),
        4
    );
    assert!(!report.has_errors());
}
