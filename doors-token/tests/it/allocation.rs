//! Decoding allocates nothing, whatever comes in. The counter replaces the allocator of this test binary.

use allocation_counter::measure;
use doors_token::{DecodeError, MAX_TOKEN_LEN, TokenCipher};

use super::{SECRETS, ip};

#[test]
fn decoding_allocates_nothing() {
    let cipher = TokenCipher::with_secrets(SECRETS).unwrap();
    let other = TokenCipher::new(&doors_token::generate_secret().unwrap()).unwrap();
    let inputs = [
        (cipher.encode(ip("10.0.0.5")), Ok(ip("10.0.0.5"))),
        (cipher.encode(ip("2001:db8::1")), Ok(ip("2001:db8::1"))),
        (other.encode(ip("10.0.0.5")), Err(DecodeError::Cipher)),
        (String::new(), Err(DecodeError::Cipher)),
        ("A".repeat(MAX_TOKEN_LEN), Err(DecodeError::Cipher)),
        ("A".repeat(MAX_TOKEN_LEN + 1), Err(DecodeError::Base64)),
        ("no token".to_owned(), Err(DecodeError::Base64)),
    ];
    for (token, expected) in inputs {
        let mut decoded = None;
        let allocations = measure(|| decoded = Some(cipher.decode(&token)));
        assert_eq!((decoded, allocations.count_total), (Some(expected), 0), "{token}");
    }
}

#[test]
fn the_counter_counts() {
    let cipher = TokenCipher::new(SECRETS[0]).unwrap();
    assert!(measure(|| drop(cipher.encode(ip("10.0.0.5")))).count_total > 0);
}
