//! Tests of `jwtValidation` and `jwtValidationKeys`.

use std::time::Duration;

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use crate::filters::tokens::trials::{Authority, Signer, answer, pass as wait, seconds, set, status, trial};
use crate::filters::trial::{Chain, Trial, all, chain, mistake};

const MINUTE: Duration = Duration::from_secs(60);

fn validating(issuer: &str) -> Chain {
    let text = format!(r#"jwtValidation({issuer:?}) -> forwardTokenField("X-Sub", "sub")"#);
    chain(&all(), &text)
}

fn with_keys(issuer: &str) -> Chain {
    chain(&all(), &format!(r#"jwtValidationKeys("{issuer}/keys")"#))
}

fn said(issuer: &str) -> Value {
    json!({"iss": issuer, "sub": "ann", "exp": seconds(60)})
}

#[tokio::test]
async fn a_token_of_the_issuer_passes_and_is_known_behind() {
    let signer = Signer::new(Algorithm::ES256, "e");
    let mut issuer = Authority::issuing(&set(&[&signer])).await;
    let chain = validating(&issuer.url());
    for _ in 0..3 {
        let (status, trial) = trial(&chain, &signer.token(&said(&issuer.url()))).await;
        assert_eq!((status, trial.field("x-sub")), (200, vec!["ann"]));
        assert_eq!(trial.exchange.bag.get("auth-user"), Some("ann"));
    }
    assert_eq!(issuer.asked(), 2, "its configuration and its keys");
    assert!(!format!("{chain:?}").contains("ann"));
}

#[tokio::test]
async fn other_tokens_do_not_pass() {
    let [signer, other] = ["e", "e"].map(|id| Signer::new(Algorithm::ES256, id));
    let issuer = Authority::issuing(&set(&[&signer])).await;
    let chain = validating(&issuer.url());
    let with = |name: &str, value: Value| {
        let mut claims = said(&issuer.url());
        claims[name] = value;
        signer.token(&claims)
    };
    for token in [
        other.token(&said(&issuer.url())),
        with("exp", seconds(-61).into()),
        with("exp", Value::Null),
        with("nbf", seconds(90).into()),
        with("iss", "https://other.test".into()),
        with("sub", Value::Null),
        "nonsense".to_owned(),
    ] {
        let (status, trial) = trial(&chain, &token).await;
        assert_eq!(status, 401, "{token}");
        let challenge = trial.answer_field("www-authenticate");
        assert_eq!(challenge, [r#"Bearer error="invalid_token""#], "{token}");
    }
    let mut trial = Trial::get("/");
    assert!(trial.run(&chain).await);
    assert_eq!(
        (trial.status.as_u16(), trial.answer_field("www-authenticate")),
        (401, vec!["Bearer"])
    );
}

#[tokio::test]
async fn a_key_set_alone_says_nothing_of_the_issuer_and_of_whom_a_token_is() {
    let signer = Signer::new(Algorithm::ES256, "e");
    let issuer = Authority::issuing(&set(&[&signer])).await;
    let chain = with_keys(&issuer.url());
    assert_eq!(
        status(&chain, &signer.token(&json!({"exp": seconds(60)}))).await,
        200
    );
    assert_eq!(
        status(&chain, &signer.token(&json!({"exp": seconds(-61)}))).await,
        401
    );
}

#[tokio::test]
async fn requests_that_come_at_once_and_filters_of_one_issuer_share_the_keys() {
    let signer = Signer::new(Algorithm::ES256, "e");
    let mut issuer = Authority::issuing(&set(&[&signer])).await;
    let (filters, text) = (all(), format!("jwtValidation({:?})", issuer.url()));
    let chains = [chain(&filters, &text), chain(&filters, &text)];
    let token = signer.token(&said(&issuer.url()));
    let requests = (0..20).map(|number| status(&chains[number % 2], &token));
    assert_eq!(futures_util::future::join_all(requests).await, [200; 20]);
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test]
async fn keys_that_are_replaced_are_found_when_a_token_names_them() {
    let [before, after] = ["1", "2"].map(|id| Signer::new(Algorithm::ES256, id));
    let mut issuer = Authority::issuing(&set(&[&before])).await;
    let (chain, url) = (validating(&issuer.url()), issuer.url());
    let (old, new) = (before.token(&said(&url)), after.token(&said(&url)));
    assert_eq!(status(&chain, &old).await, 200);
    issuer.page("/keys", answer(200, &set(&[&after])));
    assert_eq!(status(&chain, &new).await, 401, "it was asked just now");
    assert_eq!(issuer.asked(), 2);
    wait(Duration::from_secs(10)).await;
    assert_eq!(
        (status(&chain, &new).await, status(&chain, &old).await),
        (200, 401)
    );
    assert_eq!(issuer.asked(), 2);
}

#[tokio::test]
async fn an_issuer_that_is_gone_and_comes_back_is_asked_again() {
    let signer = Signer::new(Algorithm::ES256, "e");
    let issuer = Authority::issuing(&set(&[&signer])).await;
    let (chain, token) = (validating(&issuer.url()), signer.token(&said(&issuer.url())));
    issuer.page("/keys", answer(503, ""));
    assert_eq!(
        (status(&chain, &token).await, status(&chain, &token).await),
        (401, 401)
    );
    issuer.page("/keys", answer(200, &set(&[&signer])));
    wait(Duration::from_secs(1)).await;
    assert_eq!(status(&chain, &token).await, 200);
    // What is there stays when it is gone again.
    drop(issuer);
    wait(MINUTE * 10).await;
    let token = signer.token(&json!({"exp": seconds(60), "sub": "ann", "iss": "x"}));
    assert_eq!(status(&chain, &token).await, 401, "of another issuer");
}

#[tokio::test]
async fn keys_are_used_on_while_the_issuer_is_gone() {
    let signer = Signer::new(Algorithm::ES256, "e");
    let issuer = Authority::issuing(&set(&[&signer])).await;
    let (chain, token) = (validating(&issuer.url()), signer.token(&said(&issuer.url())));
    assert_eq!(status(&chain, &token).await, 200);
    drop(issuer);
    for _ in 0..3 {
        wait(MINUTE * 10).await;
        assert_eq!(status(&chain, &token).await, 200);
    }
}

#[tokio::test]
async fn documents_that_are_of_no_use_let_nobody_pass() {
    const CONFIGURATION: &str = "/.well-known/openid-configuration";
    let signer = Signer::new(Algorithm::ES256, "e");
    let elsewhere = Authority::issuing(&set(&[&signer])).await;
    let url = elsewhere.url();
    let long = format!("{}{}", " ".repeat(600 * 1024), set(&[&signer]));
    let away = format!("HTTP/1.1 302 Found\r\nLocation: {url}/keys\r\nContent-Length: 0\r\n\r\n");
    for (path, page) in [
        (CONFIGURATION, answer(404, "")),
        (CONFIGURATION, answer(200, "nonsense")),
        (CONFIGURATION, answer(200, "{}")),
        // It speaks for somebody else.
        (
            CONFIGURATION,
            answer(
                200,
                &json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string(),
            ),
        ),
        ("/keys", answer(200, "nonsense")),
        ("/keys", answer(200, r#"{"keys":[]}"#)),
        ("/keys", answer(200, &long)),
        ("/keys", away),
        ("/keys", "nonsense\r\n\r\n".to_owned()),
    ] {
        let issuer = Authority::issuing(&set(&[&signer])).await;
        issuer.page(path, page.clone());
        let token = signer.token(&said(&issuer.url()));
        assert_eq!(
            status(&validating(&issuer.url()), &token).await,
            401,
            "{page:.100}"
        );
    }
}

#[tokio::test]
async fn an_issuer_that_is_silent_or_not_there_lets_nobody_pass() {
    let signer = Signer::new(Algorithm::ES256, "e");
    let mut issuer = Authority::issuing(&set(&[&signer])).await;
    issuer.page("/keys", String::new());
    let (chain, token) = (with_keys(&issuer.url()), signer.token(&said("")));
    let (status, ()) = tokio::join!(status(&chain, &token), async {
        issuer.witness.begun().await;
        tokio::time::pause();
    });
    tokio::time::resume();
    assert_eq!(status, 401);
    assert_eq!(trial(&with_keys("http://127.0.0.1:1"), &token).await.0, 401);
}

#[test]
fn arguments_that_say_nothing_are_refused() {
    for text in [
        "jwtValidation()",
        r#"jwtValidation("issuer")"#,
        r#"jwtValidation("https://user:secret@a.test")"#,
        r#"jwtValidation("https://a.test", "https://b.test")"#,
        "jwtValidationKeys(1)",
        r#"jwtValidationKeys("ftp://a.test")"#,
    ] {
        let error = mistake(text);
        assert!(error.starts_with("invalid_filter_params"), "{text}");
        assert!(!error.contains("secret"), "{error}");
    }
}
