//! Tests of `oauthTokenintrospection` and its kin.

use serde_json::{Value, json};

use super::*;
use crate::filters::tokens::trials::{Authority, answer, status, trial};
use crate::filters::trial::{Chain, all, chain, mistake};

/// An issuer that says this of every token.
async fn saying(text: &Value) -> Authority {
    let issuer = Authority::issuing("").await;
    issuer.page("/introspect", answer(200, &text.to_string()));
    issuer
}

fn active() -> Value {
    json!({"active": true, "sub": "ann", "realm": "a", "email": null})
}

/// With the issuer as the first argument.
fn made(issuer: &Authority, name: &str, args: &str) -> Chain {
    let text = format!(
        r#"{name}({:?}, {args}) -> forwardTokenField("X-Sub", "sub")"#,
        issuer.url()
    );
    chain(&all(), &text)
}

#[tokio::test]
async fn a_token_passes_that_says_what_it_must() {
    let issuer = saying(&active()).await;
    for (name, args, expected) in [
        ("AnyClaims", r#""x", "email""#, 200),
        ("AnyClaims", r#""x", "y""#, 403),
        ("AllClaims", r#""sub", "email""#, 200),
        ("AllClaims", r#""sub", "x""#, 403),
        ("AnyKV", r#""realm", "b", "realm", "a""#, 200),
        ("AnyKV", r#""realm", "b""#, 403),
        ("AllKV", r#""realm", "a", "sub", "ann""#, 200),
        ("AllKV", r#""realm", "a", "sub", "eve""#, 403),
    ] {
        let chain = made(&issuer, &format!("oauthTokenintrospection{name}"), args);
        assert_eq!(status(&chain, "t").await, expected, "{name} {args}");
        let args = format!(r#""id", "s3cret", {args}"#);
        let chain = made(&issuer, &format!("secureOauthTokenintrospection{name}"), &args);
        let (status, trial) = trial(&chain, "t").await;
        assert_eq!(status, expected, "secure {name} {args}");
        if expected == 200 {
            assert_eq!(trial.field("x-sub"), ["ann"]);
        }
        assert!(!format!("{chain:?}").contains("s3cret"));
    }
}

#[tokio::test]
async fn the_issuer_is_asked_with_a_form_and_who_asks() {
    for (name, args, expected) in [
        ("oauthTokenintrospectionAnyClaims", "", &[][..]),
        (
            "secureOauthTokenintrospectionAnyClaims",
            r#""id", "s3cret", "#,
            &["Basic aWQ6czNjcmV0"],
        ),
    ] {
        let mut issuer = saying(&active()).await;
        let chain = made(&issuer, name, &format!(r#"{args}"sub""#));
        for _ in 0..3 {
            assert_eq!(status(&chain, "a/b").await, 200);
        }
        issuer.witness.next().await;
        let asked = issuer.witness.next().await;
        assert_eq!(asked.line, "POST /introspect HTTP/1.1");
        assert_eq!(asked.field("content-type"), ["application/x-www-form-urlencoded"]);
        assert_eq!(asked.field("authorization"), expected);
        assert_eq!(asked.body.as_deref(), Some("token=a%2Fb"));
        assert_eq!(issuer.asked(), 0, "once is enough");
    }
}

#[tokio::test]
async fn who_asks_may_be_in_the_environment() {
    let mut issuer = saying(&active()).await;
    let (mut filters, mut settings) = (all(), FilterSettings::default());
    settings.variables = Some(Arc::new(|name| match name {
        "OAUTH_CLIENT_ID" => Some("id".to_owned()),
        "OAUTH_CLIENT_SECRET" => Some("s3cret".to_owned()),
        _ => None,
    }));
    filters.configure(settings);
    let text = format!(
        r#"secureOauthTokenintrospectionAllClaims({:?}, "", "", "sub")"#,
        issuer.url()
    );
    assert_eq!(status(&chain(&filters, &text), "t").await, 200);
    issuer.witness.next().await;
    let asked = issuer.witness.next().await;
    assert_eq!(asked.field("authorization"), ["Basic aWQ6czNjcmV0"]);
    assert!(!format!("{filters:?}").contains("s3cret"));
}

#[tokio::test]
async fn answers_to_one_client_are_not_those_to_another() {
    let mut issuer = saying(&active()).await;
    let (filters, mut chains) = (all(), Vec::new());
    for (id, expected) in [("a", 2), ("b", 1), ("a", 0)] {
        let text = format!(
            r#"secureOauthTokenintrospectionAnyClaims({:?}, "{id}", "s", "sub")"#,
            issuer.url()
        );
        let chain = chain(&filters, &text);
        assert_eq!(status(&chain, "t").await, 200);
        assert_eq!(issuer.asked(), expected, "{id}");
        // As in a table, whose filters stay.
        chains.push(chain);
    }
}

#[tokio::test]
async fn whatever_is_no_yes_is_a_no() {
    for page in [
        answer(200, r#"{"active":false,"sub":"ann"}"#),
        answer(200, r#"{"active":"true","sub":"ann"}"#),
        answer(200, r#"{"sub":"ann"}"#),
        answer(200, "nonsense"),
        answer(401, &active().to_string()),
        answer(500, ""),
        "HTTP/1.1 307 X\r\nLocation: /keys\r\nContent-Length: 0\r\n\r\n".to_owned(),
    ] {
        let issuer = saying(&active()).await;
        issuer.page("/introspect", page.clone());
        let chain = made(&issuer, "oauthTokenintrospectionAnyClaims", r#""sub""#);
        assert_eq!(status(&chain, "t").await, 401, "{page}");
        issuer.page("/introspect", answer(200, &active().to_string()));
        assert_eq!(status(&chain, "t").await, 200, "{page}");
    }
}

#[tokio::test]
async fn an_issuer_that_names_no_endpoint_lets_nobody_pass() {
    let issuer = saying(&active()).await;
    let url = issuer.url();
    for configuration in [
        json!({"issuer": url}),
        json!({"issuer": url, "introspection_endpoint": "ftp://a.test"}),
        json!({"issuer": "https://other.test", "introspection_endpoint": format!("{url}/introspect")}),
    ] {
        let page = answer(200, &configuration.to_string());
        issuer.page("/.well-known/openid-configuration", page);
        let chain = made(&issuer, "oauthTokenintrospectionAnyClaims", r#""sub""#);
        assert_eq!(status(&chain, "t").await, 401, "{configuration}");
    }
}

#[test]
fn arguments_that_say_nothing_are_refused() {
    for text in [
        "oauthTokenintrospectionAnyClaims()",
        r#"oauthTokenintrospectionAnyClaims("https://a.test")"#,
        r#"oauthTokenintrospectionAllKV("https://a.test", "k")"#,
        r#"oauthTokenintrospectionAnyKV("a.test", "k", "v")"#,
        r#"secureOauthTokenintrospectionAnyClaims("https://a.test", "id", "s3cret")"#,
        r#"secureOauthTokenintrospectionAnyClaims("https://a.test", "id", "", "sub")"#,
        r#"secureOauthTokenintrospectionAnyKV("https://a.test", "id", "secretRef:/nowhere/at/all", "k", "v")"#,
    ] {
        let error = mistake(text);
        assert!(error.starts_with("invalid_filter_params"), "{text}");
        assert!(!error.contains("s3cret"), "{error}");
    }
}
