//! Tests of `oauthTokeninfo` and its kin.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::filters::tokens::trials::{Authority, answer, pass as wait, status, trial};
use crate::filters::trial::{Chain, Trial, all, chain, mistake};

/// A server that knows every token, and says this.
async fn knowing(text: &str) -> Authority {
    let server = Authority::new().await;
    server.page("/info", answer(200, text));
    server
}

fn made(url: &str, text: &str) -> Chain {
    let (mut filters, mut settings) = (all(), FilterSettings::default());
    settings.tokeninfo_url = Some(format!("{url}/info"));
    filters.configure(settings);
    chain(&filters, text)
}

const INFO: &str = r#"{"uid":"ann","scope":["read","write"],"realm":"employees","expires_in":100}"#;

#[tokio::test]
async fn a_token_passes_that_says_what_it_must() {
    let mut server = knowing(INFO).await;
    for (filter, expected) in [
        (r#"oauthTokeninfoAnyScope("x", "read")"#, 200),
        (r#"oauthTokeninfoAnyScope("x")"#, 403),
        (r#"oauthTokeninfoAllScope("read", "write")"#, 200),
        (r#"oauthTokeninfoAllScope("read", "x")"#, 403),
        (r#"oauthTokeninfoAnyKV("realm", "x", "realm", "employees")"#, 200),
        (r#"oauthTokeninfoAllKV("realm", "employees", "uid", "eve")"#, 403),
        (r#"oauthTokeninfoValidate("{}")"#, 200),
    ] {
        let chain = made(
            &server.url(),
            &format!(r#"{filter} -> forwardToken("X-Info", "uid")"#),
        );
        let (status, trial) = trial(&chain, "t0ken").await;
        assert_eq!(status, expected, "{filter}");
        let asked = server.witness.next().await;
        assert_eq!(asked.line, "GET /info HTTP/1.1");
        assert_eq!(asked.field("authorization"), ["Bearer t0ken"]);
        if expected == 200 {
            assert_eq!(trial.field("x-info"), [r#"{"uid":"ann"}"#], "{filter}");
        } else {
            let challenge = trial.answer_field("www-authenticate");
            assert_eq!(challenge, [r#"Bearer error="insufficient_scope""#]);
        }
        assert!(!format!("{chain:?}").contains("t0ken"));
    }
}

#[tokio::test]
async fn without_a_token_nobody_is_asked() {
    let mut server = knowing(INFO).await;
    for value in ["Basic eDp5", "Bearer", "Bearer "] {
        let mut trial = Trial::get("/").with("authorization", value);
        let chain = made(&server.url(), r#"oauthTokeninfoAnyScope("read")"#);
        assert!(trial.run(&chain).await);
        assert_eq!(trial.status.as_u16(), 401);
        assert_eq!(trial.answer_field("www-authenticate"), ["Bearer"]);
    }
    assert_eq!(server.asked(), 0);
}

#[tokio::test]
async fn whatever_is_no_answer_is_a_no() {
    let long = format!(r#"{{"scope":"read","x":"{}"}}"#, "x".repeat(70_000));
    for page in [
        answer(400, ""),
        answer(401, INFO),
        answer(500, INFO),
        answer(200, "nonsense"),
        answer(200, "[]"),
        answer(200, &long),
        format!("HTTP/1.1 302 Found\r\nLocation: /info\r\n\r\n{INFO}"),
        "nonsense\r\n\r\n".to_owned(),
    ] {
        let server = Authority::new().await;
        server.page("/info", page.clone());
        let chain = made(&server.url(), r#"oauthTokeninfoAnyScope("read")"#);
        assert_eq!(status(&chain, "t").await, 401, "{page:.100}");
        // It is asked again, and its answer counts then.
        server.page("/info", answer(200, INFO));
        assert_eq!(status(&chain, "t").await, 200, "{page:.100}");
    }
    let chain = made("http://127.0.0.1:1", r#"oauthTokeninfoAnyScope("read")"#);
    assert_eq!(status(&chain, "t").await, 401);
}

#[tokio::test]
async fn a_server_that_is_silent_is_not_waited_for() {
    let mut server = Authority::new().await;
    server.page("/info", String::new());
    let chain = made(&server.url(), r#"oauthTokeninfoAnyScope("read")"#);
    let (status, ()) = tokio::join!(status(&chain, "t"), async {
        server.witness.begun().await;
        tokio::time::pause();
    });
    tokio::time::resume();
    assert_eq!(status, 401);
}

#[tokio::test]
async fn an_answer_counts_for_ten_seconds_for_all_filters_of_its_server() {
    let mut server = knowing(INFO).await;
    let text = r#"oauthTokeninfoAnyScope("read") -> oauthTokeninfoAllKV("realm", "employees")"#;
    let chain = made(&server.url(), text);
    for _ in 0..3 {
        assert_eq!(status(&chain, "t").await, 200);
    }
    assert_eq!(server.asked(), 1);
    assert_eq!(status(&chain, "other").await, 200);
    assert_eq!(server.asked(), 1);
    server.page("/info", answer(400, ""));
    assert_eq!(status(&chain, "t").await, 200);
    wait(Duration::from_secs(10)).await;
    assert_eq!(status(&chain, "t").await, 401);
}

#[tokio::test]
async fn an_answer_counts_no_longer_than_the_token() {
    let server = knowing(&json!({"scope": "read", "expires_in": 2}).to_string()).await;
    let chain = made(&server.url(), r#"oauthTokeninfoAnyScope("read")"#);
    assert_eq!(status(&chain, "t").await, 200);
    server.page("/info", answer(400, ""));
    wait(Duration::from_secs(1)).await;
    assert_eq!(status(&chain, "t").await, 200);
    wait(Duration::from_secs(1)).await;
    assert_eq!(status(&chain, "t").await, 401);
}

#[tokio::test]
async fn validation_leaves_alone_what_its_settings_say() {
    let mut server = knowing(INFO).await;
    server.page("/info", answer(401, ""));
    let validate = "oauthTokeninfoValidate(\"{optOutAnnotations: [public], optOutHosts: ['^open[.]test$'], \
                    unauthorizedResponse: 'log in at https://a.test'}\")";
    let mut trial = Trial::get("/");
    trial.run(&made(&server.url(), validate)).await;
    assert_eq!(trial.status.as_u16(), 401);
    let body = crate::filters::trial::read(trial.answer(crate::filters::trial::pieces(&[]))).await;
    assert_eq!(body.unwrap().concat(), b"log in at https://a.test");
    let annotated = format!(r#"annotate("public", "") -> {validate}"#);
    assert!(!Trial::get("/").run(&made(&server.url(), &annotated)).await);
    let other = format!(r#"annotate("private", "") -> {validate}"#);
    assert!(Trial::get("/").run(&made(&server.url(), &other)).await);
    let mut trial = Trial::get("/");
    trial.exchange.host = "open.test:8080".to_owned();
    assert!(!trial.run(&made(&server.url(), validate)).await);
    assert_eq!(server.asked(), 0);
}

#[tokio::test]
async fn validation_trusts_a_filter_before() {
    let mut server = knowing(INFO).await;
    let text = r#"oauthTokeninfoAnyScope("read") -> oauthTokeninfoValidate("{}")"#;
    assert_eq!(status(&made(&server.url(), text), "t").await, 200);
    assert_eq!(server.asked(), 1);
}

#[test]
fn arguments_that_say_nothing_are_refused() {
    for (name, ..) in KINDS {
        let error = mistake(&format!(r#"{name}("a", "b")"#));
        assert!(error.contains("tokeninfo_url"), "{error}");
    }
    let (mut filters, mut settings) = (all(), FilterSettings::default());
    settings.tokeninfo_url = Some("http://a.test".to_owned());
    filters.configure(settings);
    for text in [
        "oauthTokeninfoAnyScope()",
        "oauthTokeninfoAllScope(1)",
        r#"oauthTokeninfoAnyKV("a")"#,
        r#"oauthTokeninfoValidate("a")"#,
        r#"oauthTokeninfoValidate("{unauthorizedResponse: [a]}")"#,
        r#"oauthTokeninfoValidate("{other: a}")"#,
    ] {
        let calls = eskip::parse_filters(text).unwrap();
        assert!(filters.create(&calls[0]).is_err(), "{text}");
    }
    let mut settings = FilterSettings::default();
    settings.tokeninfo_url = Some("http://user:secret@a.test".to_owned());
    filters.configure(settings);
    let calls = eskip::parse_filters(r#"oauthTokeninfoAnyScope("a")"#).unwrap();
    let error = filters.create(&calls[0]).unwrap_err().to_string();
    assert!(
        error.contains("tokeninfo_url") && !error.contains("secret"),
        "{error}"
    );
}
