//! What is encoded decodes to the same address.

use std::net::IpAddr;

use doors_token::TokenCipher;
use proptest::prelude::*;

use super::{SECRETS, cipher, ip};

fn any_secret() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(SECRETS.as_slice())
}

proptest! {
    #[test]
    fn every_address_survives_the_round_trip_under_every_key(address: IpAddr, secret in any_secret()) {
        let cipher = cipher(secret);
        prop_assert_eq!(cipher.decode(cipher.encode(address)), Ok(address.to_canonical()));
    }

    #[test]
    fn a_mapped_address_comes_back_as_ipv4(octets: [u8; 4], secret in any_secret()) {
        let (cipher, v4) = (cipher(secret), std::net::Ipv4Addr::from(octets));
        let token = cipher.encode(IpAddr::V6(v4.to_ipv6_mapped()));
        prop_assert_eq!(token.len(), 43);
        prop_assert_eq!(cipher.decode(token), Ok(IpAddr::V4(v4)));
    }

    #[test]
    fn a_token_fits_into_paths_and_cookies_as_it_is(address: IpAddr, secret in any_secret()) {
        let token = cipher(secret).encode(address);
        prop_assert_eq!(token.len(), if address.to_canonical().is_ipv4() { 43 } else { 59 });
        prop_assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')));
    }
}

#[test]
fn two_tokens_of_one_address_differ() {
    let cipher = cipher(SECRETS[2]);
    assert_ne!(cipher.encode(ip("10.0.0.5")), cipher.encode(ip("10.0.0.5")));
}

#[test]
fn a_token_may_be_given_as_text_or_as_bytes() {
    let cipher = cipher(SECRETS[2]);
    let token = cipher.encode(ip("10.0.0.5"));
    assert_eq!(cipher.decode(token.as_bytes()), cipher.decode(token.as_str()));
}

#[test]
fn with_several_secrets_the_first_encodes_and_each_decodes() {
    let rotating = TokenCipher::with_secrets([SECRETS[1], SECRETS[0], SECRETS[2]]).unwrap();

    let token = rotating.encode(ip("10.0.0.5"));
    assert_eq!(cipher(SECRETS[1]).decode(&token), Ok(ip("10.0.0.5")));
    assert!(cipher(SECRETS[0]).decode(&token).is_err());

    for secret in SECRETS {
        assert_eq!(
            rotating.decode(cipher(secret).encode(ip("fd00::7"))),
            Ok(ip("fd00::7"))
        );
    }
}

#[test]
fn a_clone_shares_the_keys() {
    let original = cipher(SECRETS[0]);
    let clone = original.clone();
    assert_eq!(original.decode(clone.encode(ip("10.0.0.5"))), Ok(ip("10.0.0.5")));
    assert_eq!(clone.decode(original.encode(ip("10.0.0.5"))), Ok(ip("10.0.0.5")));
}
