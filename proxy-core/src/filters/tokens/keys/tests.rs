//! Tests of signatures and of what tokens say.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::json;

use super::*;
use crate::filters::tokens::trials::{Signer, set};

fn read(signers: &[&Signer]) -> KeySet {
    KeySet::read(set(signers).as_bytes()).unwrap()
}

fn claims() -> Value {
    json!({"sub": "ann"})
}

#[test]
fn a_token_of_each_algorithm_is_opened_with_its_key_and_no_other() {
    let rsa = |algorithm| Signer::new(algorithm, "r");
    let signers = [
        rsa(Algorithm::RS256),
        Signer::new(Algorithm::ES256, "e"),
        Signer::new(Algorithm::ES384, "f"),
        Signer::new(Algorithm::EdDSA, "d"),
    ];
    let others: Vec<Signer> = signers
        .iter()
        .map(|signer| Signer::new(signer.algorithm, signer.id))
        .collect();
    let keys = read(&signers.each_ref());
    for (signer, other) in signers.iter().zip(&others) {
        let opened = keys.open(&signer.token(&claims()));
        assert_eq!(opened.map(Value::Object), Ok(claims()), "{:?}", signer.algorithm);
        assert_eq!(keys.open(&other.token(&claims())), Err(Worthless::Signature));
    }
    let [mut rsa, ..] = signers;
    for algorithm in [
        Algorithm::RS384,
        Algorithm::RS512,
        Algorithm::PS256,
        Algorithm::PS384,
        Algorithm::PS512,
    ] {
        rsa = rsa.by(algorithm);
        assert!(keys.open(&rsa.token(&claims())).is_ok(), "{algorithm:?}");
    }
}

#[test]
fn a_key_is_only_for_the_algorithm_that_it_names() {
    let mut signer = Signer::new(Algorithm::RS256, "r");
    signer.jwk["alg"] = "PS256".into();
    let keys = read(&[&signer]);
    assert_eq!(keys.open(&signer.token(&claims())), Err(Worthless::UnknownKey));
    let signer = signer.by(Algorithm::PS256);
    assert!(keys.open(&signer.token(&claims())).is_ok());
}

#[test]
fn tokens_without_a_signature_or_with_a_secret_for_a_key_are_worth_nothing() {
    let signer = Signer::new(Algorithm::RS256, "r");
    let keys = read(&[&signer]);
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let unsigned = |alg: &str, rest: &str| {
        format!(
            "{}.{}.{rest}",
            part(json!({"alg": alg, "kid": "r"})),
            part(claims())
        )
    };
    // The public key as a secret, in the ways that it could be taken for one.
    let modulus = signer.jwk["n"].as_str().unwrap();
    let secrets = [
        modulus.as_bytes().to_vec(),
        URL_SAFE_NO_PAD.decode(modulus).unwrap(),
        signer.jwk.to_string().into_bytes(),
    ];
    let mut tokens = vec![
        unsigned("none", ""),
        unsigned("None", "x"),
        unsigned("RS256", ""),
        unsigned("ES512", "x"),
        String::new(),
        "a.b.c".to_owned(),
        signer.token(&claims()) + ".x",
    ];
    for secret in secrets {
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("r".to_owned());
        let key = EncodingKey::from_secret(&secret).unwrap();
        tokens.push(encode(&header, &claims(), &key).unwrap());
    }
    for token in tokens {
        assert!(keys.open(&token).is_err(), "{token}");
    }
    // A secret of a set is no key either.
    let secret = json!({"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "r"}]});
    assert!(KeySet::read(secret.to_string().as_bytes()).is_none());
}

#[test]
fn a_token_that_was_changed_is_worth_nothing() {
    let signer = Signer::new(Algorithm::ES256, "e");
    let keys = read(&[&signer]);
    let token = signer.token(&claims());
    let [header, _, signature] = token.split('.').collect::<Vec<_>>()[..] else {
        panic!("{token}")
    };
    let other = URL_SAFE_NO_PAD.encode(json!({"sub": "root"}).to_string());
    let changed = format!("{header}.{other}.{signature}");
    assert_eq!(keys.open(&changed), Err(Worthless::Signature));
}

#[test]
fn keys_are_found_by_their_names_or_tried() {
    let [one, other] = ["1", "2"].map(|id| Signer::new(Algorithm::ES256, id));
    let nameless = Signer::new(Algorithm::ES256, "");
    let keys = read(&[&one, &other]);
    assert!(keys.open(&other.token(&claims())).is_ok());
    assert_eq!(keys.open(&nameless.token(&claims())), Err(Worthless::UnknownKey));
    assert!(read(&[&one, &nameless]).open(&nameless.token(&claims())).is_ok());
    let third = Signer::new(Algorithm::ES256, "3");
    assert_eq!(keys.open(&third.token(&claims())), Err(Worthless::UnknownKey));
}

#[test]
fn what_is_no_key_is_left_out_of_a_set() {
    let signer = Signer::new(Algorithm::ES256, "e");
    let mut encrypts = Signer::new(Algorithm::ES256, "x");
    encrypts.jwk["use"] = "enc".into();
    let all = json!({"keys": [
        7, {}, {"kty": "RSA"}, {"kty": "OKP", "crv": "X25519", "x": "AA"}, {"kty": "new", "kid": "n"},
        {"kty": "RSA", "n": "!", "e": "AQAB"}, {"kty": "RSA", "n": "AQAB", "e": "AQAB", "alg": "RSA-OAEP"},
        encrypts.jwk, signer.jwk,
    ]});
    let keys = KeySet::read(all.to_string().as_bytes()).unwrap();
    assert_eq!(keys.0.len(), 1, "{keys:?}");
    assert!(keys.open(&signer.token(&claims())).is_ok());
    for text in ["", "[]", "{}", r#"{"keys":[]}"#, r#"{"keys":{}}"#] {
        assert!(KeySet::read(text.as_bytes()).is_none(), "{text}");
    }
    let many = json!({"keys": vec![signer.jwk; MOST + 7]});
    assert_eq!(KeySet::read(many.to_string().as_bytes()).unwrap().0.len(), MOST);
}

#[test]
fn a_token_is_judged_by_what_it_says() {
    let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
    let of = |issuer: Option<&str>, subject| Terms {
        issuer: issuer.map(str::to_owned),
        subject,
    };
    let issuer = of(Some("https://a.test"), true);
    for (terms, claims, expected) in [
        (of(None, false), json!({"exp": 1_000_001}), Ok(())),
        (of(None, false), json!({"exp": 999_941}), Ok(())),
        (of(None, false), json!({"exp": 999_940}), Err(Worthless::Expired)),
        (
            of(None, false),
            json!({"exp": "1000001"}),
            Err(Worthless::Expired),
        ),
        (of(None, false), json!({}), Err(Worthless::Expired)),
        (of(None, false), json!({"exp": 2e6, "nbf": 1_000_060.0}), Ok(())),
        (
            of(None, false),
            json!({"exp": 2e6, "nbf": 1_000_061}),
            Err(Worthless::TooEarly),
        ),
        (
            of(None, false),
            json!({"exp": 2e6, "nbf": "x"}),
            Err(Worthless::TooEarly),
        ),
        (
            issuer.clone(),
            json!({"exp": 2e6, "iss": "https://a.test/", "sub": "a"}),
            Ok(()),
        ),
        (
            issuer.clone(),
            json!({"exp": 2e6, "iss": "https://a.test.b", "sub": "a"}),
            Err(Worthless::Issuer),
        ),
        (
            issuer.clone(),
            json!({"exp": 2e6, "sub": "a"}),
            Err(Worthless::Issuer),
        ),
        (
            issuer,
            json!({"exp": 2e6, "iss": "https://a.test"}),
            Err(Worthless::Subject),
        ),
    ] {
        let judged = terms.judge(claims.as_object().unwrap(), now);
        assert_eq!(judged, expected, "{claims}");
    }
}
