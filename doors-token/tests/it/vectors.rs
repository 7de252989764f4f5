//! Known answers: the vectors of two independent implementations. `../vectors.json` was made with Python's
//! `cryptography`, the table below with Go's standard library; the Go program opened all of them again with the
//! random-nonce AEAD that Doors' own cipher uses.

use std::net::IpAddr;

use doors_token::{DecodeError, TokenCipher};
use serde_json::Value;

use super::{SECRETS, cipher, ip};

const NONCE: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

/// Secret, address, token under [`NONCE`].
const GO: [(&str, &str, &str); 7] = [
    (
        SECRETS[0],
        "10.0.0.5",
        "AAECAwQFBgcICQoL9z_EGKg8JBx8GYQRC2Ox2rVzL_k",
    ),
    (
        SECRETS[0],
        "127.0.0.2",
        "AAECAwQFBgcICQoLgj_EH7F8wp_jfseTtnI2K7s5HFc",
    ),
    (
        SECRETS[0],
        "2001:db8::1",
        "AAECAwQFBgcICQoL3T7JpR50OzboJgcawJuwLMpzHNTIA3UcMsmtZ3huHVI",
    ),
    (
        SECRETS[1],
        "10.0.0.5",
        "AAECAwQFBgcICQoLpRuiNlH-CIu-GPKqVAU0NPf8J0Y",
    ),
    (
        SECRETS[1],
        "2001:db8::1",
        "AAECAwQFBgcICQoLjxqvi5nyQP8ciBMBuYacCY9NfOoI_k4qi115yeGKwqU",
    ),
    (
        SECRETS[2],
        "10.0.0.5",
        "AAECAwQFBgcICQoLJ-W7eWPufSDRJf0WfeYuB_oPWwA",
    ),
    (
        SECRETS[2],
        "2001:db8::1",
        "AAECAwQFBgcICQoLDeS2xNkY0qyo3HG-cc_RBQ2JTV7qdV5tiqR8cXlVv-Q",
    ),
];

/// `::ffff:10.0.0.5` sealed as 16 bytes, which only another implementation does.
const GO_MAPPED: &str = "AAECAwQFBgcICQoL_T_EHR50OzboJvjlypuwKDipDJlFcnwoCstVM2ewlN0";

/// What is wrong, token under the 16-byte key, expected error.
const GO_INVALID: [(&str, &str, DecodeError); 3] = [
    (
        "no additional data",
        "AAECAwQFBgcICQoL9z_EGNUckd6xYADwbdJLrZ9IUqk",
        DecodeError::Cipher,
    ),
    (
        "empty plaintext",
        "AAECAwQFBgcICQoLAcrhpNkl16MqgUxFO-WVlA",
        DecodeError::Address,
    ),
    (
        "five bytes",
        "AAECAwQFBgcICQoL_D3HGRtpzGavB224dSGOOBt1Vowx",
        DecodeError::Address,
    ),
];

fn vectors(part: &str) -> Vec<Value> {
    let mut all: Value = serde_json::from_str(include_str!("../vectors.json")).unwrap();
    let Value::Array(part) = all[part].take() else {
        panic!("{part} is no list")
    };
    assert!(!part.is_empty());
    part
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector[field]
        .as_str()
        .unwrap_or_else(|| panic!("{field} of {vector}"))
}

fn nonce(vector: &Value) -> [u8; 12] {
    let digits = text(vector, "nonce_hex");
    std::array::from_fn(|n| u8::from_str_radix(digits.get(2 * n..2 * n + 2).unwrap(), 16).unwrap())
}

#[test]
fn every_valid_vector_decodes_to_its_address() {
    for vector in vectors("valid") {
        let decoded = cipher(text(&vector, "secret")).decode(text(&vector, "token"));
        assert_eq!(decoded, Ok(ip(text(&vector, "ip")).to_canonical()), "{vector}");
    }
}

#[test]
fn every_valid_vector_is_what_its_address_and_nonce_encode_to() {
    for vector in vectors("valid") {
        let (cipher, address) = (cipher(text(&vector, "secret")), ip(text(&vector, "ip")));
        let token = cipher.encode_with_nonce(address, nonce(&vector));
        if address == address.to_canonical() {
            assert_eq!(token, text(&vector, "token"), "{vector}");
        } else {
            let unmapped = cipher.encode_with_nonce(address.to_canonical(), nonce(&vector));
            assert_eq!(token, unmapped, "a mapped address is encoded as IPv4: {vector}");
        }
    }
}

#[test]
fn every_invalid_vector_is_refused_with_its_kind() {
    for vector in vectors("invalid") {
        let allowed: &[DecodeError] = match text(&vector, "error") {
            "base64" => &[DecodeError::Base64],
            "cipher" => &[DecodeError::Cipher],
            "address" => &[DecodeError::Address],
            "base64-or-cipher" => &[DecodeError::Base64, DecodeError::Cipher],
            other => panic!("unknown kind {other}"),
        };
        let error = cipher(text(&vector, "secret"))
            .decode(text(&vector, "token"))
            .unwrap_err();
        assert!(allowed.contains(&error), "{error:?} for {vector}");
    }
}

#[test]
fn every_bad_secret_is_refused() {
    for vector in vectors("bad_secrets") {
        assert!(TokenCipher::new(text(&vector, "secret")).is_err(), "{vector}");
    }
}

#[test]
fn the_known_answers_of_go_hold_in_both_directions() {
    for (secret, address, token) in GO {
        assert_eq!(cipher(secret).encode_with_nonce(ip(address), NONCE), token);
        assert_eq!(cipher(secret).decode(token), Ok(ip(address)));
    }
}

#[test]
fn a_token_with_a_mapped_address_in_it_decodes_to_ipv4() {
    assert_eq!(
        cipher(SECRETS[0]).decode(GO_MAPPED),
        Ok(IpAddr::from([10, 0, 0, 5]))
    );
}

#[test]
fn the_invalid_known_answers_of_go_are_refused_with_their_kind() {
    for (name, token, error) in GO_INVALID {
        assert_eq!(cipher(SECRETS[0]).decode(token), Err(error), "{name}");
    }
}
