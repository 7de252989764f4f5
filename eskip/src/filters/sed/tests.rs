//! Bodies cut in all ways, edited.

use super::*;
use crate::filters::pieces::{cuts, passed};
use crate::filters::trial::Trial;

/// The pieces that come out of an answer's body.
fn pieces(filter: &str, body: &[&'static str]) -> Result<Vec<Bytes>, BoxError> {
    let mut trial = Trial::get("/");
    trial.body = BodySlot::new(None);
    trial.run(filter);
    passed(&mut trial.body, body.iter().copied())
}

fn edited_by(filter: &str, body: &[&'static str]) -> String {
    let pieces = pieces(filter, body).unwrap();
    String::from_utf8(pieces.concat()).unwrap()
}

#[test]
fn what_matches_is_replaced_wherever_a_body_is_cut() {
    const BODY: &str = "foo fofoo abcabc foofo";
    for (pattern, expected) in [
        ("foo", "- fo- abcabc -fo"),
        ("fo+", "- -- abcabc --"),
        ("abcd|ab", "foo fofoo -c-c foofo"),
        ("a*", "foo fofoo -bc-bc foofo"),
        ("abcabc |b?", "foo fofoo -foofo"),
        ("none", BODY),
    ] {
        let filter = format!(r#"sed("{pattern}", "-")"#);
        for cut in cuts(BODY) {
            assert_eq!(edited_by(&filter, &cut), expected, "{filter} {cut:?}");
        }
    }
    // An expression that looks around sees the begin of what is held as that of the text.
    assert_eq!(
        edited_by(r#"sed(/\bfoo\b/, "-")"#, &[BODY]),
        "- fofoo abcabc foofo"
    );
}

#[test]
fn compressed_bodies_pass_as_they_are() {
    let mut trial = Trial::get("/").answered_with("content-encoding", "gzip");
    trial.body = BodySlot::new(Some(3));
    trial.run(r#"sed("a", "b")"#);
    assert!(trial.body.take_change().is_none());
    let mut trial = Trial::get("/").answered_with("content-encoding", "Identity");
    trial.body = BodySlot::new(Some(3));
    trial.run(r#"sed("a", "b")"#);
    assert!(trial.body.take_change().is_some());
}

#[test]
fn the_replacement_stands_for_itself() {
    assert_eq!(edited_by(r#"sed(/(a)b/, "$1")"#, &["ab"]), "$1");
}

#[test]
fn what_cannot_match_any_more_goes_on_at_once() {
    let pieces = pieces(r#"sed("foo", "bar")"#, &["an event\n", "another fo", "o"]).unwrap();
    assert_eq!(pieces, ["an even", "t\nanother ", "bar"]);
}

#[test]
fn parts_are_edited_each_for_itself() {
    assert_eq!(
        edited_by(
            r#"sedDelim(/^a.*b/, "-", "\n")"#,
            &["aab\nca", "b\na", "b\n", "ab"]
        ),
        "-\ncab\n-\n-"
    );
    assert_eq!(
        edited_by(r#"sedDelim(/x/, "-", "\r\n")"#, &["x\r", "\nx\r\nx"]),
        "-\r\n-\r\n-"
    );
    let pieces = pieces(r#"sedDelim(/a+/, "-", "\n")"#, &["aa\naa", "a\n"]).unwrap();
    assert_eq!(pieces, ["-\n", "-\n"]);
    assert_eq!(edited_by(r#"sedDelim(/a+/, "-", "")"#, &["aa", "a"]), "-");
}

#[test]
fn more_than_may_be_held_is_edited_as_it_is() {
    assert_eq!(edited_by(r#"sed(/a+/, "-", 4)"#, &["aaa", "aa", "aab"]), "--b");
    assert_eq!(
        edited_by(r#"sed(/a+z/, "-", 4, "best-effort")"#, &["bba", "aa", "z"]),
        "bbaaaz"
    );
    assert_eq!(
        edited_by(r#"sedDelim(/^a/, "-", "\n", 4)"#, &["aa", "aa", "a", "\n"]),
        "-aaaa\n"
    );
}

#[test]
fn a_body_is_aborted_if_that_is_wanted() {
    let error = pieces(r#"sed(/a+/, "-", 4, "abort")"#, &["aaa", "aa", "b"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a filter had to hold back more than 4 bytes of a body"
    );
    assert_eq!(
        edited_by(r#"sed(/a+/, "-", 4, "abort")"#, &["aaa", "b", "aaa"]),
        "-b-"
    );
    let mut trial = Trial::get("/");
    trial.request_body = BodySlot::new(Some(8));
    trial.request(r#"sedRequestDelim(/a/, "-", "\n", 4, "abort")"#);
    let error = passed(&mut trial.request_body, ["aaaaaaaa"]).unwrap_err();
    assert_eq!(error.downcast::<BodyRefused>().unwrap().status(), 413);
}

#[test]
fn bodies_of_requests_are_edited() {
    let mut trial = Trial::get("/");
    trial.request_body = BodySlot::new(Some(3));
    trial.request(r#"sedRequest("foo", "bar") -> sedRequest("bar", "quux")"#);
    assert_eq!(trial.request_body.length(), None);
    assert_eq!(
        passed(&mut trial.request_body, ["foo"]).unwrap().concat(),
        b"quux"
    );
    let mut trial = Trial::get("/");
    trial.request(r#"sedRequest("foo", "bar")"#);
    assert!(trial.request_body.take_change().is_none(), "there is no body");
}

#[test]
fn what_does_not_match_is_not_looked_through_for_each_piece() {
    let rule = Sed::create(
        &[Arg::Text("a+z".to_owned()), Arg::Text(String::new())],
        Side::Response,
        false,
    );
    let mut editor = Editor {
        rule: rule.unwrap().rule,
        side: Side::Response,
        held: vec![0; 100_000],
        looked: 60_000,
    };
    assert!(!editor.is_worth_a_look());
    editor.held.resize(120_000, 0);
    assert!(editor.is_worth_a_look());
    editor.held.truncate(100_000);
    let rule = Arc::get_mut(&mut editor.rule).unwrap();
    rule.longest = Some(LEAST_LOOK);
    assert!(editor.is_worth_a_look());
}

#[test]
fn bytes_that_are_no_text_pass() {
    let mut trial = Trial::get("/");
    trial.body = BodySlot::new(None);
    trial.run(r#"sed("b", "c")"#);
    let given = [Bytes::from_static(b"\xff\xfe b \xff")];
    assert_eq!(
        passed(&mut trial.body, given).unwrap().concat(),
        b"\xff\xfe c \xff"
    );
}

#[test]
fn arguments_that_say_nothing_are_mistakes() {
    for wrong in [
        r#"sed("(", "")"#,
        r#"sed("a")"#,
        r#"sed("a", "b", "c")"#,
        r#"sed("a", "b", 1, "stop")"#,
        r#"sedDelim("a", "b")"#,
        r#"sedDelim("a", "b", "c", 1, "abort", 1)"#,
    ] {
        assert!(
            Trial::mistake(wrong).starts_with("invalid_filter_params"),
            "{wrong}"
        );
    }
}
