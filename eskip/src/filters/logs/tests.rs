//! Tests of what the access log says.

use http::StatusCode;

use crate::filters::trial::Trial;

fn tags(trial: &Trial) -> Vec<(&str, &str)> {
    let tags = trial.exchange.tags.iter();
    tags.map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

fn are_mistakes(calls: &[&str]) {
    for wrong in calls {
        assert!(
            Trial::mistake(wrong).starts_with("invalid_filter_params"),
            "{wrong}"
        );
    }
}

#[test]
fn statuses_say_which_answers_have_a_line() {
    let has = |text, status| Trial::settings(text).access_log.unwrap().has(status);
    for (text, yes, no) in [
        ("enableAccessLog()", vec![200, 404, 500], vec![]),
        ("disableAccessLog()", vec![], vec![200, 404, 500]),
        (
            "enableAccessLog(2, 40, 500)",
            vec![200, 299, 404, 500],
            vec![410, 501, 302],
        ),
        (
            "disableAccessLog(2, 40, 500)",
            vec![410, 501, 302],
            vec![200, 299, 404, 500],
        ),
        (r#"accessLogDisabled("false")"#, vec![200], vec![]),
        (r#"accessLogDisabled("true")"#, vec![], vec![200]),
        (r#"disableAccessLog() -> enableAccessLog()"#, vec![200], vec![]),
    ] {
        for status in yes {
            assert!(has(text, status), "{text} {status}");
        }
        for status in no {
            assert!(!has(text, status), "{text} {status}");
        }
    }
    are_mistakes(&[
        "enableAccessLog(0)",
        "enableAccessLog(600)",
        "enableAccessLog(2.5)",
        r#"disableAccessLog("x")"#,
        r#"accessLogDisabled("x")"#,
        "accessLogDisabled()",
    ]);
}

#[test]
fn keys_of_the_query_are_masked_once() {
    let mut trial = Trial::get("/");
    trial.request(r#"maskAccessLogQuery("a", "b") -> maskAccessLogQuery("b", "c")"#);
    assert_eq!(trial.exchange.masked_query, ["a", "b", "c"]);
    are_mistakes(&["maskAccessLogQuery()", "maskAccessLogQuery(1)"]);
}

#[test]
fn comments_do_nothing_and_annotations_stay_with_the_route() {
    let settings = Trial::settings(
        r#"comment("a", 1) -> annotate("k", "1") -> annotate("l", "2") -> annotate("k", "3")"#,
    );
    let note = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(settings.annotations, [note("l", "2"), note("k", "3")]);
    assert_eq!(Trial::settings("comment()"), Trial::settings(""));
    are_mistakes(&[
        r#"annotate("k")"#,
        r#"annotate("k", 1)"#,
        r#"annotate("k", "v", "w")"#,
    ]);
}

#[test]
fn a_tag_whose_value_is_missing_is_not_set() {
    let mut trial = Trial::get("/?x=1").with("x-flow-id", "f");
    trial.request(
        r#"tracingTag("flow", "${request.header.X-Flow-Id}") -> tracingTag("none", "a${none}") -> tracingTag("a", "b") -> tracingTag("a", "c") -> tracingSpanName("login")"#,
    );
    assert_eq!(tags(&trial), [("flow", "f"), ("a", "c"), ("span", "login")]);
    are_mistakes(&[
        r#"tracingTag("a")"#,
        r#"tracingTag("a", "b", "c")"#,
        "tracingSpanName()",
    ]);
}

#[test]
fn answers_are_tagged_too() {
    let mut trial = Trial::get("/").answered_with("x-version", "7");
    trial.status = StatusCode::BAD_GATEWAY;
    trial.run(
        r#"tracingTagFromResponse("version", "${response.header.X-Version}") -> tracingTagFromResponseIfStatus("error", "true", 500, 502) -> tracingTagFromResponseIfStatus("client", "true", 400, 499)"#,
    );
    assert_eq!(tags(&trial), [("error", "true"), ("version", "7")]);
    are_mistakes(&[
        r#"tracingTagFromResponse("a")"#,
        r#"tracingTagFromResponseIfStatus("a", "b")"#,
        r#"tracingTagFromResponseIfStatus("a", "b", 500)"#,
        r#"tracingTagFromResponseIfStatus("a", "b", 500, 499)"#,
        r#"tracingTagFromResponseIfStatus("a", "b", 500, 600)"#,
    ]);
}

#[test]
fn baggage_and_what_filters_left_become_tags() {
    let mut trial = Trial::get("/")
        .with("baggage", "other=1, tenant = a%20b ;p=1")
        .with("baggage", "late=2");
    trial.exchange.bag.set("auth-user", "joan");
    trial.request(
        r#"tracingBaggageToTag("tenant") -> tracingBaggageToTag("late", "l") -> tracingBaggageToTag("none") -> stateBagToTag("auth-user") -> stateBagToTag("auth-user", "user") -> stateBagToTag("none")"#,
    );
    assert_eq!(
        tags(&trial),
        [
            ("tenant", "a b"),
            ("l", "2"),
            ("auth-user", "joan"),
            ("user", "joan")
        ]
    );
    are_mistakes(&[
        "tracingBaggageToTag()",
        r#"tracingBaggageToTag("")"#,
        r#"stateBagToTag("a", "")"#,
        r#"stateBagToTag("a", "b", "c")"#,
    ]);
}

#[test]
fn a_claim_that_nobody_verified_becomes_a_tag() {
    // {"sub":"joan","n":1}
    let token = "Bearer e30.eyJzdWIiOiJqb2FuIiwibiI6MX0.x";
    let mut trial = Trial::get("/").with("authorization", token);
    trial.request(r#"unverifiedAuditLog("n") -> unverifiedAuditLog("none")"#);
    assert_eq!(tags(&trial), []);
    trial.request("unverifiedAuditLog()");
    assert_eq!(tags(&trial), [("unverified_audit", "joan")]);

    for no_token in ["Basic eDp5", "Bearer x", "Bearer a.b.c"] {
        let mut trial = Trial::get("/").with("authorization", no_token);
        trial.request("unverifiedAuditLog()");
        assert_eq!(tags(&trial), [], "{no_token}");
    }
    are_mistakes(&["unverifiedAuditLog(1)", r#"unverifiedAuditLog("a", "b")"#]);
}
