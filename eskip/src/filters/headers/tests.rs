//! Fields that filters set, drop and copy.

use crate::filters::Wants;
use crate::filters::trial::Trial;

#[test]
fn a_field_with_a_value_that_is_missing_is_not_set() {
    let mut trial = Trial::get("/a?x=1");
    trial.request(r#"setRequestHeader("X-A", "${request.query.x}") -> setRequestHeader("X-B", "a${none}")"#);
    assert_eq!(trial.field("x-a"), ["1"]);
    assert!(trial.field("x-b").is_empty());
}

#[test]
fn answers_get_fields_last_filter_first() {
    let mut trial = Trial::get("/");
    trial.run(r#"appendResponseHeader("X", "1") -> appendResponseHeader("X", "2") -> setResponseHeader("Y", "${request.path}")"#);
    assert_eq!(trial.answer_field("x"), ["2", "1"]);
    assert_eq!(trial.answer_field("y"), ["/"]);
}

#[test]
fn the_old_names_append_and_know_no_placeholders() {
    let mut trial = Trial::get("/").with("x", "1").answered_with("x", "1");
    trial.run(r#"requestHeader("X", "${request.path}") -> responseHeader("X", "${request.path}")"#);
    assert_eq!(trial.field("x"), ["1", "${request.path}"]);
    assert_eq!(trial.answer_field("x"), ["1", "${request.path}"]);
}

#[test]
fn there_is_one_host_and_it_is_one() {
    let mut trial = Trial::get("/?x=a%20b");
    trial.request(r#"appendRequestHeader("Host", "a.test") -> requestHeader("host", "b.test")"#);
    assert_eq!(trial.field("host"), ["b.test"]);
    trial.request(r#"setRequestHeader("Host", "${request.query.x}")"#);
    assert_eq!(trial.field("host"), ["b.test"]);
    trial.request(r#"setRequestHeader("Host", "a@c.test")"#);
    assert_eq!(trial.field("host"), ["b.test"]);
}

#[test]
fn what_the_client_wrote_does_not_stay_where_a_value_is_none() {
    let mut trial = Trial::get("/?x=a%0d%0aX-Evil:%201&y=a%00").with("x-user", "forged");
    trial = trial.answered_with("x-user", "from the backend");
    trial.run(
        r#"setRequestHeader("X-User", "${request.query.x}") -> setResponseHeader("X-User", "${request.query.y}")"#,
    );
    assert!(trial.field("x-user").is_empty());
    assert!(trial.field("x-evil").is_empty());
    assert!(trial.answer_field("x-user").is_empty());
    let mut trial = Trial::get("/?x=a%0a").with("x-user", "ann");
    trial.request(r#"appendRequestHeader("X-User", "${request.query.x}")"#);
    assert_eq!(trial.field("x-user"), ["ann"]);
}

#[test]
fn fields_take_what_filters_have_put_by() {
    let mut trial = Trial::get("/");
    trial.exchange.bag.set("user", "ann");
    trial.exchange.bag.set("lines", "a\nb");
    trial.run(
        r#"setContextRequestHeader("X", "user") -> appendContextRequestHeader("X", "user") ->
        setContextResponseHeader("X", "user") -> appendContextResponseHeader("Y", "user") ->
        setContextRequestHeader("Z", "none") -> setContextRequestHeader("Z", "lines")"#,
    );
    assert_eq!(trial.field("x"), ["ann", "ann"]);
    assert_eq!(trial.answer_field("x"), ["ann"]);
    assert_eq!(trial.answer_field("y"), ["ann"]);
    assert!(trial.field("z").is_empty());
}

#[test]
fn a_field_is_dropped_as_a_whole_or_by_a_value() {
    let mut trial = Trial::get("/").with("x", "1").with("x", "2").with("y", "1");
    trial = trial.answered_with("x", "1").answered_with("x", "2");
    trial.run(r#"dropRequestHeader("X", "1") -> dropRequestHeader("Y") -> dropResponseHeader("X")"#);
    assert_eq!(trial.field("x"), ["2"]);
    assert!(trial.field("y").is_empty());
    assert!(trial.answer_field("x").is_empty());
}

#[test]
fn a_field_is_copied_over_another_one_if_it_has_a_value() {
    let mut trial = Trial::get("/").with("x", "1").with("x", "2").with("y", "3");
    trial.run(
        r#"copyRequestHeader("X", "Y") -> copyRequestHeader("None", "Y") ->
        copyRequestHeader("Host", "X-Host") -> copyRequestHeader("X", "Host")"#,
    );
    assert_eq!(trial.field("y"), ["1"]);
    assert_eq!(trial.field("x-host"), ["www.example.org"]);
    assert_eq!(trial.field("host"), ["1"]);
    let mut trial = Trial::get("/").answered_with("x", "1");
    trial.run(r#"copyResponseHeader("X", "Y") -> responseCopyHeader("X", "Z")"#);
    assert_eq!(trial.answer_field("y"), ["1"]);
    assert_eq!(trial.answer_field("z"), ["1"]);
    let mut trial = Trial::get("/").with("x", "1");
    trial.run(r#"requestCopyHeader("X", "Y")"#);
    assert_eq!(trial.field("y"), ["1"]);
}

#[test]
fn only_what_is_needed_is_wanted() {
    let wants = |text: &str| Trial::get("/").make(text)[0].wants();
    assert_eq!(wants(r#"setRequestHeader("X", "${a}")"#), Wants::REQUEST);
    assert_eq!(wants(r#"setResponseHeader("X", "a")"#), Wants::RESPONSE);
    assert_eq!(
        wants(r#"setResponseHeader("X", "${a}")"#),
        Wants::RESPONSE.and_head()
    );
    assert_eq!(wants(r#"dropResponseHeader("X")"#), Wants::RESPONSE);
}

#[test]
fn names_and_values_that_no_field_has_are_mistakes() {
    for wrong in [
        r#"setRequestHeader("a b", "c")"#,
        r#"setRequestHeader("a")"#,
        r#"setRequestHeader("a", "b\nc")"#,
        r#"setRequestHeader("a", "b", "c")"#,
        r#"dropRequestHeader()"#,
        r#"copyRequestHeader("a")"#,
    ] {
        assert!(
            Trial::mistake(wrong).starts_with("invalid_filter_params: "),
            "{wrong}"
        );
    }
}
