//! Whatever was not encoded with the key is refused, in one spelling or any other, and nothing panics.

use std::net::IpAddr;

use doors_token::{DecodeError, MAX_TOKEN_LEN, TokenCipher};
use proptest::prelude::*;

use super::{SECRETS, cipher, ip};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn token_text() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(
        proptest::sample::select(ALPHABET.as_slice()),
        0..=MAX_TOKEN_LEN + 8,
    )
}

proptest! {
    #[test]
    fn no_bytes_of_a_stranger_decode(bytes: Vec<u8>) {
        prop_assert!(cipher(SECRETS[2]).decode(bytes).is_err());
    }

    #[test]
    fn no_text_in_the_alphabet_decodes(text in token_text()) {
        prop_assert!(cipher(SECRETS[0]).decode(text).is_err());
    }

    #[test]
    fn a_token_with_one_byte_changed_is_refused(address: IpAddr, at: proptest::sample::Index, byte: u8) {
        let cipher = cipher(SECRETS[1]);
        let mut token = cipher.encode(address).into_bytes();
        let at = at.index(token.len());
        prop_assume!(token[at] != byte);
        token[at] = byte;
        prop_assert!(cipher.decode(token).is_err());
    }

    #[test]
    fn a_token_that_is_cut_or_continued_is_refused(address: IpAddr, keep in 0_usize..43, more in token_text()) {
        let cipher = cipher(SECRETS[2]);
        let token = cipher.encode(address).into_bytes();
        prop_assert!(cipher.decode(&token[..keep]).is_err());
        prop_assume!(!more.is_empty());
        prop_assert!(cipher.decode([token, more].concat()).is_err());
    }

    #[test]
    fn a_token_of_another_key_is_a_cipher_error(address: IpAddr) {
        let token = cipher(SECRETS[0]).encode(address);
        prop_assert_eq!(cipher(SECRETS[2]).decode(&token), Err(DecodeError::Cipher));
        let rotating = TokenCipher::with_secrets([SECRETS[1], SECRETS[2]]).unwrap();
        prop_assert_eq!(rotating.decode(&token), Err(DecodeError::Cipher));
    }
}

#[test]
fn each_token_has_exactly_one_spelling() {
    let cipher = cipher(SECRETS[2]);
    for address in ["10.0.0.5", "2001:db8::1"] {
        let token = cipher.encode(ip(address)).into_bytes();
        let (last, head) = token.split_last().unwrap();
        let spellings = ALPHABET
            .iter()
            .filter(|end| cipher.decode([head, &[**end]].concat()).is_ok());
        assert_eq!(spellings.collect::<Vec<_>>(), [last]);
    }
}

#[test]
fn a_bad_alphabet_is_found_before_the_cipher_is_asked() {
    let token = cipher(SECRETS[0]).encode(ip("10.0.0.5"));
    for bad in [
        format!("{token}="),
        format!(" {token}"),
        format!("{token}\n"),
        format!("{token}\0"),
        token.replace('_', "/").replace('-', "+") + "/",
        "!".to_owned(),
        "é".to_owned(),
    ] {
        assert_eq!(
            cipher(SECRETS[2]).decode(&bad),
            Err(DecodeError::Base64),
            "{bad:?}"
        );
    }
}

#[test]
fn a_text_too_short_for_a_nonce_and_a_tag_is_a_cipher_error() {
    for len in [0, 2, 16, 36] {
        assert_eq!(
            cipher(SECRETS[0]).decode("A".repeat(len)),
            Err(DecodeError::Cipher),
            "{len}"
        );
    }
}

#[test]
fn an_overlong_text_is_refused_whatever_it_holds() {
    let cipher = cipher(SECRETS[0]);
    assert_eq!(cipher.decode("A".repeat(MAX_TOKEN_LEN)), Err(DecodeError::Cipher));
    assert_eq!(
        cipher.decode("A".repeat(MAX_TOKEN_LEN + 4)),
        Err(DecodeError::Base64)
    );
    assert_eq!(cipher.decode("A".repeat(1 << 20)), Err(DecodeError::Base64));
}
