//! Secrets: which are taken, and that none is shown.

use doors_token::{DecodeError, KeyError, TokenCipher, generate_secret};

use super::{SECRETS, cipher, ip};

#[test]
fn secrets_of_16_24_and_32_bytes_are_taken() {
    for secret in SECRETS {
        assert!(TokenCipher::new(secret).is_ok(), "{secret}");
    }
}

#[test]
fn a_secret_of_another_length_is_refused_with_that_length() {
    for (secret, bytes) in [
        ("", 0),
        ("AAAA", 3),
        ("aGVsbG8=", 5),
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 24),
    ] {
        let result = TokenCipher::new(secret);
        if bytes == 24 {
            assert!(result.is_ok());
        } else {
            assert_eq!(result.unwrap_err(), KeyError::Length { bytes });
        }
    }
}

#[test]
fn a_secret_that_is_not_strict_standard_base64_is_refused() {
    for secret in [
        "not base64!",
        "MDEyMzQ1Njc4OWFiY2RlZg",           // no padding
        "MDEyMzQ1Njc4OWFiY2RlZh==",         // bits behind the last byte
        "MDEyMzQ1Njc4 OWFiY2RlZg==",        // white space inside
        "MDEyMzQ1Njc4\nOWFiY2RlZg==",       // a wrapped line
        "__________________________8_____", // the URL alphabet
    ] {
        assert_eq!(
            TokenCipher::new(secret).unwrap_err(),
            KeyError::Base64,
            "{secret:?}"
        );
    }
}

#[test]
fn white_space_at_both_ends_of_a_secret_is_ignored() {
    let token = cipher(SECRETS[0]).encode(ip("10.0.0.5"));
    for secret in [
        format!("{}\n", SECRETS[0]),
        format!("  {}\r\n", SECRETS[0]),
        format!("\t{} ", SECRETS[0]),
    ] {
        assert_eq!(cipher(&secret).decode(&token), Ok(ip("10.0.0.5")), "{secret:?}");
    }
}

#[test]
fn a_cipher_needs_a_secret_and_each_of_several_must_be_good() {
    assert_eq!(TokenCipher::with_secrets([]).unwrap_err(), KeyError::Missing);
    assert_eq!(
        TokenCipher::with_secrets([SECRETS[0], "!"]).unwrap_err(),
        KeyError::Base64
    );
    assert_eq!(
        TokenCipher::with_secrets(["AAAA", "!"]).unwrap_err(),
        KeyError::Length { bytes: 3 }
    );
}

#[test]
fn a_generated_secret_is_new_each_time_and_makes_a_cipher() {
    let (one, other) = (generate_secret().unwrap(), generate_secret().unwrap());
    assert_ne!(one, other);
    assert_eq!(one.len(), 44);
    assert_eq!(format!("{:?}", cipher(&one)), "TokenCipher { keys: [Aes256] }");
    assert_eq!(
        cipher(&other).decode(cipher(&one).encode(ip("::1"))),
        Err(DecodeError::Cipher)
    );
}

#[test]
fn debug_shows_the_kinds_of_the_keys_and_nothing_else() {
    let rotating = TokenCipher::with_secrets(SECRETS).unwrap();
    assert_eq!(
        format!("{rotating:?}"),
        "TokenCipher { keys: [Aes128, Aes192, Aes256] }"
    );
}

#[test]
fn no_error_text_shows_the_secret() {
    for secret in ["c2VjcmV0c2VjcmV0", "c2VjcmV0!"] {
        let error = TokenCipher::new(secret).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("c2Vj"), "{error:?}");
    }
}

#[test]
fn one_cipher_serves_many_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<TokenCipher>();
}
